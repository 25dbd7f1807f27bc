# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often a run hands its trials to the controller and to a results store. Pure."""

from __future__ import annotations

import math
from typing import TypedDict

from ...module_utils._host.store import LEASE
from .nouns import Plan

# Longest measuring of one module call with a results store, in seconds.
MOST_SECONDS_WITH_STORE = 30


class Pace(TypedDict):
    """The intervals at which a run hands over its trials."""

    chunk_s: int  # seconds of measuring in one module call
    pieces: int  # parts of a step; each one goes into the store before the next begins
    lease_s: float  # seconds for which the lock of a store is valid


def pace_of(plan: Plan, chunk_seconds: int, *, stored: bool) -> Pace:
    """Return the intervals of a plan; ``stored`` means that its trials go into a results store."""
    cells = sum(len(visit["cells"]) for visit in plan["visits"])
    cell_s = plan["estimated_s"] / max(cells, 1)
    # Between two tasks of the store there are a piece and its overhead.
    lease_s = max(LEASE, 30 + 2 * cell_s)
    if not stored:
        return {"chunk_s": chunk_seconds, "pieces": 1, "lease_s": lease_s}
    chunk_s = min(chunk_seconds, MOST_SECONDS_WITH_STORE)
    steps = max(len(plan["visits"]), 1) * max(len(plan["rounds"] or ()), 1)
    step_s = plan["estimated_s"] / steps
    return {"chunk_s": chunk_s, "pieces": math.ceil(step_s / chunk_s), "lease_s": lease_s}
