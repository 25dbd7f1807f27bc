# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the report of a running campaign current after each block, as long as that costs little
time.

What the last one cost is kept in live.json, beside the blocks that it was left out of; its time of
writing is when.
"""

from __future__ import annotations

import functools
import glob
import json
import os
import shutil
import time
from typing import NotRequired, TypedDict

from .._report.report import make_report
from .._store.files import write_changed
from .._trials.records import stream_records
from .standing import section


class Refreshed(TypedDict):
    """Whether a report was made, and what to say of it."""

    made: bool
    line: str
    cost: NotRequired[float]  # seconds


STATE = "live.json"
# seconds that it may take for each block, and of the time since the last one
A_BLOCK = 1.0
SHARE = 0.03
TASK = 0.25  # seconds of the task itself beside the report
# seconds that the first is expected to take, for a record of so many bytes
FIRST = 0.3
A_BYTE = 4e-8


def _state(folder: str, record: str) -> dict[str, float]:
    """Return ``cost`` (expected), ``blocks`` without a report, and ``since``: when the last one was
    made.
    """
    size = os.path.getsize(record)
    path = os.path.join(folder, STATE)
    try:
        with open(path, encoding="utf-8") as stream:
            known = json.load(stream)
        return {
            "cost": known["cost"] * max(1.0, size / known["size"]),
            "blocks": known["blocks"],
            "since": known["since"],
        }
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        first = next(stream_records(record, []), None)
        started = (first and first.get("started")) or time.time()
        return {"cost": FIRST + A_BYTE * size, "blocks": 0, "since": started}


def allowed(blocks: float, seconds: float) -> float:
    """Return how many seconds a report may take after so many blocks and seconds without one."""
    return min(A_BLOCK * blocks, SHARE * seconds) - TASK


def _keep(folder: str, record: str, cost: float, blocks: float, since: float) -> None:
    write_changed(
        folder,
        {
            STATE: json.dumps(
                {"cost": cost, "size": os.path.getsize(record), "blocks": blocks, "since": since}
            )
            + "\n"
        },
    )


def refresh(folder: str) -> Refreshed:
    """Make the report of a running campaign, where it costs little; return ``made`` and ``line``,
    what to say of it.
    """
    record = os.path.join(folder, "trials.jsonl")
    if not os.path.exists(record):
        return {"made": False, "line": "no live report: nothing is measured yet"}
    state = _state(folder, record)
    now = time.time()
    blocks = state["blocks"] + 1
    may = allowed(state["blocks"] + 1, now - state["since"])
    if state["cost"] > may:
        _keep(folder, record, state["cost"], blocks, state["since"])
        why = f"more than 1 s a block or 3 % of the {now - state['since']:.0f} s since the last one"
        return {
            "made": False,
            "line": f"the live report is not renewed: it would take {state['cost'] + TASK:.1f} s, {why}",
        }
    for left in glob.glob(os.path.join(glob.escape(folder), ".live-*")):  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    made = make_report(folder, standing=functools.partial(section, now=now))
    cost = time.time() - now
    _keep(folder, record, cost, 0, time.time())
    return {"made": True, "cost": cost, "line": f"live report: {made['standing']} ({cost:.1f} s)"}


def end(folder: str) -> Refreshed:
    """Make the ordinary report where a live one was made, and return what :func:`refresh` does."""
    path = os.path.join(folder, STATE)
    if not os.path.exists(path):
        return {"made": False, "line": "no live report was made"}
    made = make_report(folder)
    os.remove(path)
    return {"made": True, "line": f"report: {made['headline']}"}
