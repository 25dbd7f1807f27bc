# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the report of a running campaign current, as often as 0.3 s a visit allow.

What the last one cost is kept in live.json, beside the blocks that it was left out of; its time of
writing is when.
"""

from __future__ import annotations

import contextlib
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
# Seconds that it may take for each visit, and the share of the time since the last one. It is renewed
# after fewer visits where it costs little, after more where it costs much, and at some time always.
A_VISIT = 0.3
SHARE = 0.05
TASK = 0.25  # seconds of the task itself beside the report, after each block
# seconds that the first is expected to take, for a record of so many bytes
FIRST = 0.3
A_BYTE = 4e-8


def _state(folder: str, record: str) -> dict[str, float]:
    """Return ``cost`` (expected), ``blocks`` and ``visits`` without a report, and ``since``: when
    the last one was made.
    """
    size = os.path.getsize(record)
    path = os.path.join(folder, STATE)
    try:
        with open(path, encoding="utf-8") as stream:
            known = json.load(stream)
        return {
            "cost": known["cost"] * max(1.0, size / known["size"]),
            "blocks": known["blocks"],
            "visits": known["visits"] + _visits(record, known["size"]),
            "since": known["since"],
        }
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        first = next(stream_records(record, []), None)
        started = (first and first.get("started")) or time.time()
        visits = _visits(record, 0)
        return {"cost": FIRST + A_BYTE * size, "blocks": 0, "visits": visits, "since": started}


def _visits(record: str, offset: int) -> int:
    """Return how many visits have a trial in a record after so many bytes."""
    found = set()
    with open(record, "rb") as stream:
        stream.seek(offset)
        for line in stream:
            with contextlib.suppress(ValueError, AttributeError):
                trial = json.loads(line)
                found.add(tuple(trial.get(key) for key in ("mtu", "block", "visit")))
    return len(found)


def allowed(visits: float, blocks: float, seconds: float) -> float:
    """Return how many seconds a report may take after so many visits, blocks and seconds without
    one: what each visit gives, less what the task itself took after each block.
    """
    return min(A_VISIT * visits - TASK * blocks, SHARE * seconds)


def _keep(folder: str, record: str, state: dict[str, float]) -> None:
    """Keep the state for the next block."""
    kept = {**state, "size": os.path.getsize(record)}
    write_changed(folder, {STATE: json.dumps(kept) + "\n"})


def refresh(folder: str) -> Refreshed:
    """Make the report of a running campaign, where it costs little; return ``made`` and ``line``,
    what to say of it.
    """
    record = os.path.join(folder, "trials.jsonl")
    if not os.path.exists(record):
        return {"made": False, "line": "no live report: nothing is measured yet"}
    state = _state(folder, record)
    now = time.time()
    state["blocks"] += 1
    if state["cost"] > allowed(state["visits"], state["blocks"], now - state["since"]):
        _keep(folder, record, state)
        why = (
            f"it takes {state['cost']:.1f} s, and {A_VISIT:g} s a visit or {SHARE:.0%} of the time"
        )
        return {"made": False, "line": f"the live report waits for more visits: {why} is allowed"}
    for left in glob.glob(os.path.join(glob.escape(folder), ".live-*")):  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    made = make_report(folder, standing=functools.partial(section, now=now))
    cost = time.time() - now
    _keep(folder, record, {"cost": cost, "blocks": 0, "visits": 0, "since": time.time()})
    return {"made": True, "cost": cost, "line": f"live report: {made['standing']} ({cost:.1f} s)"}


def end(folder: str) -> Refreshed:
    """Make the ordinary report where a live one was made, and return what :func:`refresh` does."""
    path = os.path.join(folder, STATE)
    if not os.path.exists(path):
        return {"made": False, "line": "no live report was made"}
    made = make_report(folder)
    os.remove(path)
    return {"made": True, "line": f"report: {made['headline']}"}
