# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``duration: auto``: the lengths of a cell that a campaign chooses from, and the first one. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ...module_utils._engines.engine import Workload
from .nouns import (
    TimePlan,
)

MOST_BLOCKS = 100  # in a time budget: more blocks add little
FIRST_BLOCKS = 3  # before the first decision on a time budget
LENGTHS = (0.25, 0.5, 1, 2, 3, 5, 10, 20)  # s
# Length of the first cells in seconds. Short cells show a clear effect soonest. If cells scatter more
# than visits, longer cells follow, and blocks get weights.
BEGINS = 0.25
# The same in a short time budget. Fewer visits before the decision leave more time for the others, and
# three blocks of 0.5 s measure the scatter of cells better than three of 0.25 s.
SHORT_OF_TIME = 0.5


def with_length(load: Workload, seconds: float, shortest: Mapping[str, float]) -> Workload:
    """Return a workload with cells of ``seconds``, or of the shortest length that it can have.

    A workload that ``shortest`` does not name keeps its length.
    """
    if load["name"] not in shortest:
        return load
    return {**load, "duration": max(seconds, shortest[load["name"]])}


def first_blocks(time_plan: TimePlan) -> int:
    """Return the number of blocks before the first decision on a time budget."""
    return time_plan.get("first") or FIRST_BLOCKS
