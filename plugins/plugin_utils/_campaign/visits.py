# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The visits of a plan, with their cells in random order, and how long they take; the rounds of a
visit, in which pairs of nodes measure simultaneously; how often a run hands over its trials. Pure.

The order is random at each level. Each level has a random generator of its own, seeded by its
position. So more blocks or other workloads do not change the order of the rest.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Any, TypedDict, TypeVar

from ...module_utils._base.errors import InputError
from ...module_utils._engines.engines import engine_of
from ...module_utils._engines.workload import Workload
from ...module_utils._host.store import LEASE
from .._paths.path import Pair
from .nouns import (
    AS_FOUND,
    Cell,
    Outline,
    Plan,
    Settings,
    Visit,
)
from .workloads import seconds_of, with_length


def everybody(nodes: Sequence[str]) -> list[Pair]:
    """Return each pair of nodes once, in the order of a round robin tournament (circle method).

    One node keeps its seat and the others move on by one seat per round. With an odd number of nodes,
    one node rests in each round. The client changes from round to round.
    """
    seats: list[str | None] = list(nodes) + [None] * (len(nodes) % 2)
    fixed = seats[:1]
    moving = seats[1:]
    pairs: list[Pair] = []
    for turn in range(len(moving)):
        order = fixed + moving[turn:] + moving[:turn]
        for first, second in zip(order[: len(order) // 2], reversed(order)):
            client, server = (first, second) if turn % 2 == 0 else (second, first)
            if client is not None and server is not None:
                pairs.append({"client": client, "server": server})
    return pairs


def _nodes(pairs: Iterable[Pair]) -> set[object]:
    return set(chain.from_iterable(pair.values() for pair in pairs))


def rounds_of(pairs: Iterable[Pair], concurrent: bool = False) -> list[list[Pair]]:
    """Return the rounds: lists of pairs that measure simultaneously.

    Each pair gets the first round in which both its nodes are free. ``concurrent`` puts all pairs
    into one round; there a node may be the server of several clients, for a study of contention.
    """
    rounds: list[list[Pair]] = []
    for pair in pairs:
        ends = set(pair.values())
        free = (members for members in rounds if concurrent or ends.isdisjoint(_nodes(members)))
        members = next(free, None)
        if members is None:
            rounds.append([pair])
        else:
            members.append(pair)
    return rounds


def _check_clients(members: list[Pair], where: str) -> None:
    clients = [pair["client"] for pair in members]
    twice = sorted({name for name in clients if clients.count(name) > 1})
    if twice:
        raise InputError(
            f"{twice[0]} is the client of two pairs that measure simultaneously",
            where,
            "Swap the ends of one of them, or leave out 'concurrent'.",
        )


def check_engines(rounds: list[list[Pair]], workloads: list[Workload], where: str) -> None:
    """Raise InputError where pairs share a server whose engine serves one client at a time."""
    sharing = [members for members in rounds if len(_servers(members)) < len(members)]
    for load in workloads:
        engine = engine_of(load["test"], load.get("engine"))
        if sharing and not engine.serves_many:
            raise InputError(
                f"a server of {engine.name} serves one client at a time, and pairs that measure "
                f"together share {sharing[0][0]['server']}",
                where,
                "Use netperf, or 'concurrent: false'.",
            )


def _servers(members: list[Pair]) -> set[str]:
    return {pair["server"] for pair in members}


def check(
    pairs: list[Pair], rounds: list[list[Pair]], profiles: Mapping[str, Settings], where: str
) -> None:
    """Raise InputError for pairs that no node can measure with these profiles."""
    for pair in pairs:
        if pair["client"] == pair["server"]:
            raise InputError(f"{pair['client']} is both ends of a pair", where, "Give two nodes.")
    for members in rounds:
        _check_clients(members, where)
    both = {pair["client"] for pair in pairs} & {pair["server"] for pair in pairs}
    differing = [
        name for name, settings in profiles.items() if settings["client"] != settings["server"]
    ]
    if both and differing:
        raise InputError(
            f"{sorted(both)[0]} is the client of one pair and the server of another, and profile "
            f"{differing[0]} sets the two ends differently",
            where,
            "Use 'sides: both', or pairs in which a node is always the same end.",
        )


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
