# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The visits of a plan, with their cells in random order, and how long they take. Pure.

The order is random at each level. Each level has a random generator of its own, seeded by its
position. So more blocks or other workloads do not change the order of the rest.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import product
from typing import Any, TypeVar

from ...module_utils._engines.engine import Workload
from .lengths import with_length
from .nouns import (
    AS_FOUND,
    Cell,
    Outline,
    Plan,
    Visit,
)
from .rounds import rounds_of

SCHEMA = 1
MOST_NOMINEES = 2  # of a confirmation: the choice, and the runner-up or all_on
# A search multiplies its trials per cell by this at most, where they scatter.
MORE_TRIALS = 4
# Rough times in addition to the seconds that an engine measures, for estimates.
CELL_SECONDS = 0.15
VISIT_SECONDS = 2.0
MTU_SECONDS = 3.0
Item = TypeVar("Item")


def control_visits(campaign: Outline, profiles: int = 0) -> int:
    """Return how often a block visits the control: once or twice.

    A plan has this number, a campaign needs its number of ``profiles``. A second visit makes each
    comparison more precise, and the difference of the two visits is the noise floor. For a single
    comparison, more blocks are worth more.
    """
    few = campaign["design"] == "search" or profiles == 2
    return campaign.get("control_visits") or (1 if few else 2)


def visits_per_block(campaign: Outline, profiles: int) -> int:
    """Return the number of visits of a block at one MTU."""
    return profiles + control_visits(campaign, profiles) - 1


def all_workloads(campaign: Outline) -> list[Workload]:
    """Return the workloads of a campaign or its plan, with the check of its confirmation."""
    check = campaign.get("verify")
    return [*campaign["workloads"], check] if check else campaign["workloads"]


def seconds_of(load: Workload) -> float:
    """Return the longest time of a cell in seconds, with its warm-up."""
    confidence = load["confidence"]
    return load["warm_up"] + load["duration"] * (confidence["iterations_max"] if confidence else 1)


def visit_seconds(campaign: Outline) -> float:
    """Return the seconds of a visit with all its rounds."""
    cells = _repeats(campaign) * (campaign.get("trials") or 1)
    return VISIT_SECONDS + cells * sum(
        seconds_of(workload) + CELL_SECONDS for workload in campaign["workloads"]
    )


def _repeats(campaign: Outline) -> int:
    """Return how often a visit measures a workload: once per path and round."""
    rounds = (
        campaign["rounds"]
        if "rounds" in campaign
        else rounds_of(campaign["pairs"], campaign["concurrent"])
    )
    return len(campaign["paths"]) * max(1, len(rounds))


def check_seconds(campaign: Outline) -> float:
    """Return the seconds of the payload checks at a visit of the confirmation."""
    check = campaign.get("verify")
    return _repeats(campaign) * (seconds_of(check) + CELL_SECONDS) if check else 0.0


def longest_visit_seconds(plan: Plan) -> float:
    """Return the most seconds that a visit of a plan takes.

    A search may repeat its trials up to :data:`MORE_TRIALS` times as often.
    """
    trials = (plan.get("trials") or 1) * (MORE_TRIALS if plan["design"] == "search" else 1)
    longest: Plan = {**plan, "trials": trials}
    return visit_seconds(longest) + check_seconds(plan)


def block_seconds(campaign: Outline, profiles: int) -> float:
    """Return the seconds of one block at one MTU."""
    return visit_seconds(campaign) * visits_per_block(campaign, profiles)


def confirmation_cost(campaign: Outline, profiles: int) -> tuple[int, int, float]:
    """Return the most ``(blocks, visits, seconds)`` of a confirmation, by the number of profiles.

    A design with two profiles has no confirmation: its blocks compare the only candidate already.
    """
    blocks = campaign.get("confirm", 0) if profiles > 2 else 0
    visited = min(MOST_NOMINEES, profiles - 1) + 1
    mtus = len(campaign["mtus"]) if blocks else 0
    visits = mtus * blocks * visits_per_block(campaign, visited)
    seconds = mtus * (MTU_SECONDS + blocks * block_seconds(campaign, visited))
    return blocks, visits, seconds + visits * check_seconds(campaign)


def _shuffled(items: Iterable[Item], *position: object) -> list[Item]:
    """Return the items in a random order, which depends on the position in the plan alone."""
    seed = "/".join(str(part) for part in position)  # Python hashes a text by SHA-512
    items = list(items)
    random.Random(seed).shuffle(items)
    return items


def _in_order(
    profiles: list[tuple[str, bool]], seed: int, mtu: int, block: int
) -> list[tuple[str, bool]]:
    """Return the profiles of a block in random order; the first block begins with the hosts as found.

    With two profiles, each even block has the reverse order of the block before (A B, B A). So
    neither a drift nor an effect of one visit on the next favours one of them.
    """
    if len(profiles) == 2 and block % 2 == 0:
        return _shuffled(profiles, seed, mtu, block - 1)[::-1]
    order = _shuffled(profiles, seed, mtu, block)
    return sorted(order, key=lambda item: block > 1 or item[0] != AS_FOUND)


def _pair_keys(campaign: Outline) -> list[dict[str, str]]:
    return [{"pair": f"{pair['client']}-{pair['server']}"} for pair in campaign["pairs"]] or [{}]


def _prefix(mtu: int, block: int, visit: int) -> str:
    return f"m{mtu}-b{block:02d}-v{visit:02d}"


def with_check(plan: Plan, visit: Visit) -> Visit:
    """Return a visit with a check of the payload on each path, after the other cells."""
    check = plan.get("verify")
    if not check:
        return visit
    prefix = _prefix(visit["mtu"], visit["block"], visit["visit"])
    cells: list[Any] = list(visit["cells"])
    for path, pair in product(plan["paths"], _pair_keys(plan)):
        number = len(cells) + 1
        numbered = {"id": f"{prefix}-c{number:03d}", "cell": number}
        cells.append({**numbered, **pair, "path": path, "workload": check["name"]})
    return {**visit, "cells": cells}


def _cells(campaign: Outline, prefix: str, *position: object) -> list[Cell]:
    pairs = _pair_keys(campaign)
    numbers = range(1, (campaign.get("trials") or 0) + 1)
    trials: list[Any] = [{"trial": number} for number in numbers] or [{}]
    cells = [
        dict(pair, path=path, workload=workload["name"], **trial)
        for pair, path, workload, trial in product(
            pairs, campaign["paths"], campaign["workloads"], trials
        )
    ]
    numbered: Any = [
        {"id": f"{prefix}-c{number:03d}", "cell": number, **cell}
        for number, cell in enumerate(_shuffled(cells, *position, "cells"), 1)
    ]
    return list(numbered)


def visits_of(
    campaign: Outline,
    profiles: Iterable[str],
    control: str,
    blocks: Iterable[int],
    shuffled: bool = True,
) -> list[Visit]:
    """Return all visits of blocks in their order.

    Without ``shuffled`` each block has the order of ``profiles``.
    """
    seed = campaign["seed"]
    visits = list[Visit]()
    seconds = chosen_length(campaign)
    visited = [(profile, False) for profile in profiles]
    if control_visits(campaign) == 2:
        visited.append((control, True))
    for mtu in _shuffled(campaign["mtus"], seed, "mtus"):
        for block in blocks:
            # The repeat of the control may come before its other visit: if it was always the later
            # one, it would measure drift.
            order = _in_order(visited, seed, mtu, block) if shuffled else visited
            for number, (profile, repeat) in enumerate(order, 1):
                prefix = _prefix(mtu, block, number)
                visit: Visit = {
                    "block": block,
                    "visit": number,
                    "mtu": mtu,
                    "profile": profile,
                    "repeat": repeat,
                    "cells": _cells(campaign, prefix, seed, mtu, block, number),
                }
                if seconds:
                    visit["seconds"] = seconds
                visits.append(visit)
    return visits


def chosen_length(plan: Outline) -> float | None:
    """Return the seconds of cells in later blocks, None where the campaign has not chosen them."""
    lengths = [decision["seconds"] for decision in plan.get("spent") or () if decision["seconds"]]
    return lengths[-1] if lengths else None


def workloads_at(plan: Plan, visit: Visit) -> dict[str, Workload]:
    """Return the workloads by name, with the durations that a visit measures."""
    loads = {load["name"]: load for load in all_workloads(plan)}
    if "seconds" not in visit:
        return loads
    shortest = plan["time"]["workloads"]
    seconds = visit["seconds"]
    return {name: with_length(load, seconds, shortest) for name, load in loads.items()}
