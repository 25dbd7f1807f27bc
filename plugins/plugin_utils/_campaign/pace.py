# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What role measure gets of a plan: a summary, and how often a run hands over its trials. Pure."""

from __future__ import annotations

import math
import os
from typing import TypedDict

from ...module_utils._engines.workload import sampling_engine, servers_each
from ...module_utils._host.store import LEASE
from .nouns import Plan
from .visits import all_workloads, longest_visit_seconds

# Longest measuring of one module call with a results store, in seconds.
MOST_SECONDS_WITH_STORE = 30
MOST_DECISIONS = 3  # on a time budget
MOST_VISITS = 800  # in the summary: an event of Ansible must stay small


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


def summary(plan: Plan, folder: str) -> dict[str, object]:
    """Return the part of a plan that role measure needs; module visit reads the cells from the file."""
    sampling = sampling_engine(plan["workloads"], plan.get("sampling"))
    return {
        "results": folder,
        "plan_file": os.path.join(folder, "plan.json"),
        "record": os.path.join(folder, "trials.jsonl"),
        "campaign": plan["name"],
        "seed": plan["seed"],
        "design": plan["design"],
        "blocks": plan["blocks"],
        "control": plan["control"],
        "mtus": plan["mtus"],
        "paths": plan["paths"],
        "pairs": plan["pairs"],
        "rounds": plan["rounds"],
        "estimated_s": plan["estimated_s"],
        "visit_s": round(longest_visit_seconds(plan), 1),
        "confirm": plan.get("confirm", 0),
        "rounds_of_search": plan["search"]["rounds"] if "search" in plan else 0,
        "looks": len(plan.get("looks") or ()),
        "decisions_on_time": MOST_DECISIONS if plan.get("time") else 0,
        "tests": sorted({workload["test"] for workload in all_workloads(plan)}),
        "sampling": sampling,
        # One server is enough to test the paths and to sample their packets.
        "servers": {sampling: 1, **servers_each(all_workloads(plan))},
        "profiles": {name: profile["settings"] for name, profile in plan["profiles"].items()},
        "totals": {
            "visits": len(plan["visits"]),
            "cells": sum(len(visit["cells"]) for visit in plan["visits"]),
        },
        "visits": [
            {
                "block": visit["block"],
                "visit": visit["visit"],
                "mtu": visit["mtu"],
                "profile": visit["profile"],
                "repeat": visit["repeat"],
                "cells": len(visit["cells"]),
            }
            for visit in plan["visits"][:MOST_VISITS]
        ],
    }
