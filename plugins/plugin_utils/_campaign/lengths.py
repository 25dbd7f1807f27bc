# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``duration: auto``: which lengths of a cell a campaign may choose from, and with which it begins.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils._base.errors import InputError
from ...module_utils._engines import workload
from ...module_utils._engines.engines import BY_NAME
from ...module_utils._engines.workload import Workload

AUTO = "auto"
FIRST_BLOCKS = 3  # of a time budget, after which it is decided how the rest is spent
LENGTHS = (0.25, 0.5, 1, 2, 3, 5, 10, 20)  # s
# S: with which a campaign begins. A clear effect is shown soonest so. Where only cells scatter, longer
# ones follow, and blocks count by what they know.
BEGINS = 0.25
# S: the same in a short time budget. With fewer visits before the decision more is left for those after
# it, and three blocks of half a second know more of the scatter of cells than three of a quarter.
SHORT_OF_TIME = 0.5


def take(full: Any, where: str) -> None:
    """Note which workloads of a campaign have cells of a length that is chosen; ``full`` gets a
    number as its duration.
    """
    full.update(lengths=[], chosen={}, scatter=None, first=FIRST_BLOCKS)
    if full["duration"] != AUTO:
        return
    settled = full["blocks"] or full["until"] or full["design"] == "search"
    if full["time_budget"] is None or settled:
        raise InputError(
            "the length of cells is chosen for a time budget",
            f"{where}: duration auto",
            "Give 'time_budget', and neither 'blocks' nor 'until'; no search.",
        )
    full["duration"] = 1
    full["first"] = None
    full["chosen"] = {_name(asked): 0.0 for asked in full["workloads"] if not _own(asked)}


def begin(full: Any) -> None:
    """Give the workloads whose length is chosen the one with which a campaign begins."""
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
    """Return a workload with cells of the chosen length, or of the shortest that it can have;
    ``shortest`` has those whose length is chosen.
    """
    if load["name"] not in shortest:
        return load
    return {**load, "duration": max(seconds, shortest[load["name"]])}


def _name(asked: Any) -> str:
    return str(asked if isinstance(asked, str) else asked["name"])


def _own(asked: Any) -> bool:
    """Return whether a workload of a campaign file says itself how long its cells measure."""
    return isinstance(asked, dict) and "duration" in asked


def _shortest(load: Workload) -> float:
    """Return the shortest time that a cell of a workload can measure."""
    checked = workload.checked(load)
    return BY_NAME[checked["engine"]].shortest(checked)
