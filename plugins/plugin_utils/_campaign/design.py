# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a campaign to its plan: profiles by design, and a split plot in random order. Pure.

MTU is the outer loop; in it blocks, in each block every profile once, in each visit all cells.
Where several profiles are compared with the control, it is visited twice a block. Order is random
at each level. Each level draws from a generator of its own, named by its place, so more blocks or
other workloads do not change the order of the rest.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, TypeVar

from ...module_utils._base.errors import InputError
from ...module_utils._engines.workload import Workload, streaming_engines
from .._statistics.looks import Look
from .._statistics.rules import FEWEST_BLOCKS, INTERVAL_BLOCKS
from .factors import settings_of
from .lengths import FIRST_BLOCKS, SHORT_OF_TIME, with_length
from .looks import ANSWERED, BLOCKS, NAMED, NAMED_BLOCKS, looks_of, stages
from .nouns import (
    Campaign,
    Cell,
    Levels,
    Outline,
    Plan,
    Remeasure,
    SearchLimits,
    Settings,
    TimePlan,
    Visit,
)
from .profiles import AS_FOUND, MOST_PROFILES, profiles_of
from .rounds import check, check_engines, rounds_of
from .screen import ordered
from .workloads import seconds_of

SCHEMA = 1
MOST_NOMINEES = 2  # of a confirmation: the chosen one and the runner-up, or, of a search, all on
MOST_BLOCKS_UNTIL = {ANSWERED: BLOCKS, NAMED: NAMED_BLOCKS}  # of a campaign that may end before
MOST_CELLS = 500_000  # trials of a plan, without its confirmation
MOST_BLOCKS = 100  # that a time budget picks: more adds little to any answer
# The part of a time budget that its first six blocks may take, by the estimate: more would cost a short
# budget too much of its answer.
FIRST_PART = 1 / 4
# What a plan has by default: a block may lose a trial and the effect still be shown. One effect has
# short blocks.
BLOCKS_OF_ONE = 9
SPARED_BLOCKS = 8
# Times as many as at its first visits, at most, where a search finds that they scatter.
MORE_TRIALS = 4
# Trials that the machine spoilt are measured again at the end of their visit: in how many passes,
# and how many of all planned cells at most.
REMEASURE: Remeasure = {"passes": 1, "share": 0.25}
# What a run costs beside netperf's own seconds; rough, for estimates only.
CELL_SECONDS = 0.15
VISIT_SECONDS = 2.0
MTU_SECONDS = 3.0

Item = TypeVar("Item")


def comparisons(design: str, profiles: int, factors: int) -> int:
    """Return how many effects a table's metric has."""
    return factors if design in ("full_factorial", "screen") else max(1, profiles - 1)


def blocks_needed(effects: int) -> int:
    """Return the blocks of a plan that names none."""
    return BLOCKS_OF_ONE if effects == 1 else SPARED_BLOCKS


def control_visits(campaign: Outline, profiles: int = 0) -> int:
    """Return how often a block visits the control: once or twice.

    ``campaign`` is a campaign of so many profiles, or its plan. A second visit makes each
    comparison with the control surer, and their difference is the noise floor. For a single
    comparison more blocks are worth more than that.
    """
    few = campaign["design"] == "search" or profiles == 2
    return campaign.get("control_visits") or (1 if few else 2)


def all_workloads(campaign: Outline) -> list[Workload]:
    """Return the workloads of a campaign or its plan, with the check of its confirmation."""
    check = campaign.get("verify")
    return [*campaign["workloads"], check] if check else campaign["workloads"]


def visit_seconds(campaign: Outline) -> float:
    """Return how long a visit of a campaign, or of its plan, takes in seconds: all its rounds."""
    cells = _places(campaign) * (campaign.get("trials") or 1)
    return VISIT_SECONDS + cells * sum(
        seconds_of(workload) + CELL_SECONDS for workload in campaign["workloads"]
    )


def _places(campaign: Outline) -> int:
    """Return how often a visit measures a workload: on each path, in each round."""
    rounds = (
        campaign["rounds"]
        if "rounds" in campaign
        else rounds_of(campaign["pairs"], campaign["concurrent"])
    )
    return len(campaign["paths"]) * max(1, len(rounds))


def check_seconds(campaign: Outline) -> float:
    """Return how long the checks of the payload at a visit of a confirmation take."""
    check = campaign.get("verify")
    return _places(campaign) * (seconds_of(check) + CELL_SECONDS) if check else 0.0


def longest_visit_seconds(plan: Plan) -> float:
    """Return how long a visit of a plan takes at most, in seconds: a search may repeat its trials
    more often.
    """
    trials = (plan.get("trials") or 1) * (MORE_TRIALS if plan["design"] == "search" else 1)
    longest: Plan = {**plan, "trials": trials}
    return visit_seconds(longest) + check_seconds(plan)


def block_seconds(campaign: Outline, profiles: int) -> float:
    """Return how long one block of a campaign, or of its plan, takes at one MTU, in seconds."""
    return visit_seconds(campaign) * (profiles + control_visits(campaign, profiles) - 1)


def confirmation_cost(campaign: Outline, profiles: int) -> tuple[int, int, float]:
    """Return ``(blocks, visits, seconds)`` of the confirmation of a design with so many profiles,
    at most.

    ``campaign`` is a campaign or its plan. Where the only candidate was visited beside the control
    in every block, those blocks are the confirmation.
    """
    blocks = campaign.get("confirm", 0) if profiles > 2 else 0
    visited = min(MOST_NOMINEES, profiles - 1) + 1
    mtus = len(campaign["mtus"]) if blocks else 0
    visits = mtus * blocks * (visited + control_visits(campaign, visited) - 1)
    seconds = mtus * (MTU_SECONDS + blocks * block_seconds(campaign, visited))
    return blocks, visits, seconds + visits * check_seconds(campaign)


def pick_blocks(campaign: Campaign, profiles: int) -> int:
    """Return the number of blocks: the campaign's, what its time budget allows, or what its design
    needs.
    """
    if campaign["design"] == "search":
        return 1
    screens = campaign["design"] == "screen"
    effects = comparisons(campaign["design"], profiles, len(campaign["factors"]))
    # A screen nominates by intervals, and its confirmation claims.
    needed = INTERVAL_BLOCKS if screens else blocks_needed(effects)
    if campaign["time_budget"] is None:
        return campaign["blocks"] or MOST_BLOCKS_UNTIL.get(campaign["until"] or "", needed)
    mtus = len(campaign["mtus"])
    one = block_seconds(campaign, profiles) * mtus
    confirmation = confirmation_cost(campaign, profiles)[2]
    fitting = int((campaign["time_budget"] - MTU_SECONDS * mtus - confirmation) / one)
    if fitting < 1:
        more = f" and a confirmation of {confirmation:.0f} s" if confirmation else ""
        raise InputError(
            f"a time budget of {campaign['time_budget']:.0f} s is less than a block of {one:.0f} s{more}",
            f"campaign {campaign['name']}",
            "Give more time, shorter workloads, or fewer factors.",
        )
    return min(fitting, campaign["blocks"] or MOST_BLOCKS)


def usual_rounds(profiles: int) -> int:
    """Return the rounds of a search without a time budget, which visits so many profiles first."""
    return -(-profiles * 5 // 4)


def search_of(campaign: Campaign, profiles: Iterable[str]) -> SearchLimits:
    """Return what a search may do after its first visits."""
    budget = campaign["time_budget"]
    profiles = list(profiles)
    rounds = usual_rounds(len(profiles))
    limit = "visits"
    if budget is not None:
        first = (
            MTU_SECONDS
            + block_seconds(campaign, len(profiles))
            + confirmation_cost(campaign, len(profiles))[2]
        )
        rounds = int((budget - first) / block_seconds(campaign, 1))
        limit = "time_budget"
        if rounds < 1:
            raise InputError(
                f"a time budget of {budget:.0f} s is less than the first visits, a round and the "
                f"confirmation, {first + block_seconds(campaign, 1):.0f} s",
                f"campaign {campaign['name']}",
                "Give more time, shorter workloads, or fewer factors.",
            )
    return {"rounds": min(rounds, MOST_BLOCKS), "limit": limit, "goal": campaign["goal"]}


def _shuffled(items: Iterable[Item], *place: object) -> list[Item]:
    items = list(items)
    random.Random("/".join(str(part) for part in place)).shuffle(
        items
    )  # a str seed is hashed by SHA-512
    return items


def _in_order(
    stays: list[tuple[str, bool]], seed: int, mtu: int, block: int
) -> list[tuple[str, bool]]:
    """Return the visits of a block in random order; the first block begins with the state as found.

    Of two visits, every second block has the opposite order of the one before (A B, B A): neither a
    drift nor what a visit leaves behind for the next one favours either.
    """
    if len(stays) == 2 and block % 2 == 0:
        return _shuffled(stays, seed, mtu, block - 1)[::-1]
    order = _shuffled(stays, seed, mtu, block)
    return sorted(order, key=lambda stay: block > 1 or stay[0] != AS_FOUND)


def _pair_keys(campaign: Outline) -> list[dict[str, str]]:
    return [{"pair": f"{pair['client']}-{pair['server']}"} for pair in campaign["pairs"]] or [{}]


def _prefix(mtu: int, block: int, visit: int) -> str:
    return f"m{mtu}-b{block:02d}-v{visit:02d}"


def with_check(plan: Plan, visit: Visit) -> Visit:
    """Return a visit with a check of the payload on each path, after its other cells."""
    check = plan.get("verify")
    if not check:
        return visit
    prefix = _prefix(visit["mtu"], visit["block"], visit["visit"])
    cells: list[Any] = list(visit["cells"])
    for path, pair in product(plan["paths"], _pair_keys(plan)):
        number = len(cells) + 1
        place = {"id": f"{prefix}-c{number:03d}", "cell": number}
        cells.append({**place, **pair, "path": path, "workload": check["name"]})
    return {**visit, "cells": cells}


def _cells(campaign: Outline, prefix: str, *place: object) -> list[Cell]:
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
        for number, cell in enumerate(_shuffled(cells, *place, "cells"), 1)
    ]
    return list(numbered)


def visits_of(
    campaign: Outline,
    profiles: Iterable[str],
    control: str,
    blocks: Iterable[int],
    shuffled: bool = True,
) -> list[Visit]:
    """Return all visits in the order in which they are made.

    ``campaign`` is a campaign or its plan, ``profiles`` are names, ``blocks`` the numbers of the
    blocks. Not ``shuffled`` each block has the order of ``profiles``.
    """
    seed = campaign["seed"]
    visits = list[Visit]()
    seconds = chosen_length(campaign)
    stays = [(profile, False) for profile in profiles]
    if control_visits(campaign) == 2:
        stays.append((control, True))
    for mtu in _shuffled(campaign["mtus"], seed, "mtus"):
        for block in blocks:
            # Which of the control's visits is the repeat is random: always the later one would
            # measure drift.
            order = _in_order(stays, seed, mtu, block) if shuffled else stays
            for visit, (profile, repeat) in enumerate(order, 1):
                prefix = _prefix(mtu, block, visit)
                one: Visit = {
                    "block": block,
                    "visit": visit,
                    "mtu": mtu,
                    "profile": profile,
                    "repeat": repeat,
                    "cells": _cells(campaign, prefix, seed, mtu, block, visit),
                }
                if seconds:
                    one["seconds"] = seconds
                visits.append(one)
    return visits


def chosen_length(plan: Outline) -> float | None:
    """Return how long cells of the next blocks measure, where that was decided since."""
    decided = [one["seconds"] for one in plan.get("spent") or () if one["seconds"]]
    return decided[-1] if decided else None


def workloads_at(plan: Plan, visit: Visit) -> dict[str, Workload]:
    """Return the workloads by name, as they are measured at a visit."""
    loads = {load["name"]: load for load in all_workloads(plan)}
    if "seconds" not in visit:
        return loads
    shortest = plan["time"]["workloads"]
    seconds = visit["seconds"]
    return {name: with_length(load, seconds, shortest) for name, load in loads.items()}


def _in_drift(campaign: Campaign, profiles: Mapping[str, Levels]) -> list[str]:
    """Return the names of a search's first profiles in an order that tells most while the machine
    drifts.
    """
    names = {tuple(levels.items()): name for name, levels in profiles.items()}
    rows = ordered(campaign["factors"], list(profiles.values()), campaign["seed"])
    return [names[tuple(levels.items())] for levels in rows]


def _check(campaign: Campaign, confirm: int) -> Workload | None:
    """Return the check of the payload of a confirmation of so many blocks, or None."""
    check = campaign.get("verify")
    return check if confirm and check else None


def _checked_profiles(campaign: Campaign, where: str) -> tuple[dict[str, Levels], str]:
    """Return ``(profiles, control)`` of a campaign that can be planned."""
    profiles, control = profiles_of(campaign)
    if len(profiles) > MOST_PROFILES:
        raise InputError(
            f"the design has more than {MOST_PROFILES} profiles",
            where,
            "Leave out factors or levels.",
        )
    if control not in profiles:
        raise InputError(
            f"control {control!r} is not one of the profiles",
            where,
            f"Use one of {', '.join(profiles)}.",
        )
    return profiles, control


def _seconds(campaign: Campaign, profiles: int, blocks: int, search: SearchLimits | None) -> float:
    """Return about how long all visits take, those of a search at its longest."""
    planned = MTU_SECONDS + blocks * block_seconds(campaign, profiles)
    rounds = search["rounds"] if search else 0
    return len(campaign["mtus"]) * planned + rounds * block_seconds(campaign, 1)


def _sampling(campaign: Campaign) -> str | None:
    """Return the engine whose streams are sampled where no workload makes one; None for the usual."""
    return None if streaming_engines(campaign["workloads"]) else campaign.get("engine")


def _time_plan(campaign: Campaign) -> TimePlan | None:
    """Return how a campaign spends its time budget; None where that is settled before it begins."""
    settled = campaign["design"] == "search" or campaign["until"] or campaign["blocks"]
    if settled or campaign["time_budget"] is None:
        return None
    return {
        "budget": campaign["time_budget"],
        "lengths": campaign["lengths"],
        "workloads": campaign["chosen"],
        "scatter": campaign["scatter"],
        "first": campaign["first"] or FIRST_BLOCKS,
    }


def first_blocks(time_plan: TimePlan) -> int:
    """Return after how many blocks it is first decided how a time budget is spent."""
    return time_plan.get("first") or FIRST_BLOCKS


def _begun(campaign: Campaign, profiles: int) -> Campaign:
    """Return a campaign with the lengths with which it begins, and how many blocks have them: what
    is clear is shown soonest with six short ones. In a time budget too short for these there are
    three, whose cells are twice as long.
    """
    six_blocks = FEWEST_BLOCKS * len(campaign["mtus"]) * block_seconds(campaign, profiles)
    if six_blocks <= FIRST_PART * (campaign["time_budget"] or 0.0):
        return {**campaign, "first": FEWEST_BLOCKS}
    chosen = campaign["chosen"]
    workloads = [with_length(load, SHORT_OF_TIME, chosen) for load in campaign["workloads"]]
    return {**campaign, "first": FIRST_BLOCKS, "workloads": workloads}


def _ends(time_plan: TimePlan | None, looks: list[Look]) -> list[int]:
    """Return the blocks after which something is decided that needs all MTUs."""
    return [first_blocks(time_plan)] if time_plan else [look["block"] for look in looks]


def _settings(campaign: Campaign, profiles: Mapping[str, Levels]) -> dict[str, Settings]:
    """Return by profile what is set at each end.

    With all else off, a feature that depends on another would show nothing: what it needs is
    switched on with it. As found nothing is set.
    """
    needs = campaign["design"] == "one_at_a_time"
    return {
        name: settings_of([] if name == AS_FOUND else campaign["factors"], levels, needs)
        for name, levels in profiles.items()
    }


def _refuse_too_many(campaign: Campaign, profiles: int, blocks: int, where: str) -> None:
    """Raise for a plan that no campaign measures, and that fills the controller's memory."""
    stays = profiles + (control_visits(campaign) == 2)
    each = (
        max(1, len(campaign["pairs"]))
        * len(campaign["paths"])
        * len(campaign["workloads"])
        * (campaign.get("trials") or 1)
    )
    cells = len(campaign["mtus"]) * blocks * stays * each
    if cells > MOST_CELLS:
        raise InputError(
            f"the plan has {cells} trials, more than {MOST_CELLS}",
            where,
            "Give fewer blocks, profiles, paths, MTUs, pairs or workloads.",
        )


def make_plan(campaign: Campaign, created: str) -> Plan:
    """Return the plan (the content of plan.json) of a complete campaign; ``created`` is a time."""
    where = f"campaign {campaign['name']}"
    profiles, control = _checked_profiles(campaign, where)
    campaign = {**campaign, "control_visits": control_visits(campaign, len(profiles))}
    if campaign["first"] is None:
        campaign = _begun(campaign, len(profiles))
    blocks = pick_blocks(campaign, len(profiles))
    looks = looks_of(campaign, blocks, where)
    confirm, _visits, confirm_seconds = confirmation_cost(campaign, len(profiles))
    search = search_of(campaign, profiles) if campaign["design"] == "search" else None
    seconds = _seconds(campaign, len(profiles), blocks, search)
    settings = _settings(campaign, profiles)
    order = _in_drift(campaign, profiles) if search else list(profiles)
    time_plan = _time_plan(campaign)
    rounds = rounds_of(campaign["pairs"], campaign["concurrent"])
    check(campaign["pairs"], rounds, settings, where)
    check_engines(rounds, campaign["workloads"], where)
    optional: Any = {
        "until": campaign["until"],
        "looks": looks or None,
        "study": campaign.get("study"),
        "steal_limit": campaign.get("steal_limit"),
        "trials": campaign.get("trials"),
        "search": search,
        "verify": _check(campaign, confirm),
        "sampling": _sampling(campaign),
        "time": time_plan,
    }
    _refuse_too_many(campaign, len(profiles), blocks, where)
    visits: list[Visit] = []
    for stage in stages(_ends(time_plan, looks), blocks):
        visits += visits_of(campaign, order, control, stage, shuffled=not search)
    return {
        "schema": SCHEMA,
        "name": campaign["name"],
        "seed": campaign["seed"],
        "created": created,
        "design": campaign["design"],
        "blocks": blocks,
        "control": control,
        "factors": campaign["factors"],
        "profiles": {
            name: {"levels": levels, "settings": settings[name]}
            for name, levels in profiles.items()
        },
        "paths": campaign["paths"],
        "mtus": campaign["mtus"],
        "workloads": campaign["workloads"],
        "pairs": campaign["pairs"],
        "rounds": rounds,
        "untestable": campaign["untestable"],
        "estimated_s": round(seconds + confirm_seconds, 1),
        "matters": campaign["matters"],
        "confirm": confirm,
        "remeasure": REMEASURE.copy(),
        "control_visits": campaign["control_visits"],
        "visits": visits,
        **{key: value for key, value in optional.items() if value is not None},
    }


def too_few_blocks(blocks: int, fewest: int) -> str:
    """Return what is said of a campaign whose blocks give no test."""
    return f"{blocks} block{'s give' if blocks != 1 else ' gives'} no test: {fewest} are needed"
