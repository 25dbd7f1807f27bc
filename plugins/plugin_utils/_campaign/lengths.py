# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``duration: auto``: the lengths of a cell that a campaign chooses from, and the first one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._base.errors import InputError
from ...module_utils._engines import workload
from ...module_utils._engines.engines import BY_NAME
from ...module_utils._engines.workload import Workload
from .nouns import (
    TimePlan,
)

AUTO = "auto"
MOST_BLOCKS = 100  # in a time budget: more blocks add little
FIRST_BLOCKS = 3  # before the first decision on a time budget
LENGTHS = (0.25, 0.5, 1, 2, 3, 5, 10, 20)  # s
# Length of the first cells in seconds. Short cells show a clear effect soonest. If cells scatter more
# than visits, longer cells follow, and blocks get weights.
BEGINS = 0.25
# The same in a short time budget. Fewer visits before the decision leave more time for the others, and
# three blocks of 0.5 s measure the scatter of cells better than three of 0.25 s.
SHORT_OF_TIME = 0.5


def take(full: Any, where: str) -> None:
    """Replace ``duration: auto`` by a number, and note the workloads whose length is chosen."""
    full.update(lengths=[], chosen={}, scatter=None, first=FIRST_BLOCKS)
    if full["duration"] != AUTO:
        return
    fixed = full["blocks"] or full["until"] or full["design"] == "search"
    if full["time_budget"] is None or fixed:
        raise InputError(
            "the length of cells can be chosen only within a time budget",
            f"{where}: duration auto",
            "Give 'time_budget', and leave out 'blocks' and 'until'. A search needs a number as 'duration'.",
        )
    full["duration"] = 1
    full["first"] = None
    full["chosen"] = {_name(load): 0.0 for load in full["workloads"] if not _has_duration(load)}


def begin(full: Any) -> None:
    """Set the first length of the workloads whose length is chosen."""
    if not full["chosen"]:
        return
    loads: list[Workload] = full["workloads"]
    for load in loads:
        if load["name"] in full["chosen"]:
            full["chosen"][load["name"]] = _shortest(load)
    least = min(full["chosen"].values())
    full["lengths"] = [seconds for seconds in LENGTHS if seconds >= least]
    full["workloads"] = [with_length(load, BEGINS, full["chosen"]) for load in loads]


def with_length(load: Workload, seconds: float, shortest: Mapping[str, float]) -> Workload:
    """Return a workload with cells of ``seconds``, or of the shortest length that it can have.

    A workload that ``shortest`` does not name keeps its length.
    """
    if load["name"] not in shortest:
        return load
    return {**load, "duration": max(seconds, shortest[load["name"]])}


def _name(entry: Any) -> str:
    return str(entry if isinstance(entry, str) else entry["name"])


def _has_duration(entry: Any) -> bool:
    """Return whether an entry of a campaign's ``workloads`` has a duration."""
    return isinstance(entry, dict) and "duration" in entry


def _shortest(load: Workload) -> float:
    """Return the shortest time of a workload's cell, in seconds."""
    checked = workload.checked(load)
    return BY_NAME[checked["engine"]].shortest(checked)


def first_blocks(time_plan: TimePlan) -> int:
    """Return the number of blocks before the first decision on a time budget."""
    return time_plan.get("first") or FIRST_BLOCKS
