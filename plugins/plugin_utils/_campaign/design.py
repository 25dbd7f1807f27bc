# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the plan of a campaign: profiles by design, and a split plot in random order. Pure.

MTU is the outer loop. Each MTU has blocks, each block visits every profile once, and each visit has
all cells. With more than one comparison a block visits the control twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from ...module_utils._base.errors import InputError
from ...module_utils._engines.engine import Workload
from ...module_utils._engines.engines import engine_of
from ...module_utils._engines.workload import streaming_engines
from .._paths.path import Pair
from .._statistics.looks import InterimTest
from .._statistics.rules import FEWEST_BLOCKS, INTERVAL_BLOCKS
from .factors import settings_of
from .interim import ANSWERED, BLOCKS, NAMED, NAMED_BLOCKS, planned_tests, stages
from .lengths import FIRST_BLOCKS, MOST_BLOCKS, SHORT_OF_TIME, first_blocks, with_length
from .nouns import (
    AS_FOUND,
    Campaign,
    Levels,
    Plan,
    Remeasure,
    SearchLimits,
    Settings,
    TimePlan,
)
from .profiles import MOST_PROFILES, profiles_of
from .rounds import check, rounds_of
from .screen import ordered
from .spending import comparisons
from .visits import (
    MTU_SECONDS,
    SCHEMA,
    block_seconds,
    confirmation_cost,
    control_visits,
    visits_of,
    visits_per_block,
)

MOST_BLOCKS_UNTIL = {ANSWERED: BLOCKS, NAMED: NAMED_BLOCKS}  # of a campaign that may end earlier
MOST_CELLS = 500_000  # trials of a plan, without its confirmation
# The largest part of a time budget that the first six blocks may take, by the estimate. More would
# leave a short budget too little.
FIRST_PART = 1 / 4
# Default numbers of blocks, with one effect and with more: the test still shows an effect if a block
# loses a trial. The blocks of a single effect are short.
BLOCKS_OF_ONE = 9
SPARED_BLOCKS = 8
# The end of a visit repeats the trials that the machine spoilt: the number of passes, and the largest
# share of all planned cells.
REMEASURE: Remeasure = {"passes": 1, "share": 0.25}


def blocks_needed(effects: int) -> int:
    """Return the default number of blocks."""
    return BLOCKS_OF_ONE if effects == 1 else SPARED_BLOCKS


def pick_blocks(campaign: Campaign, profiles: int) -> int:
    """Return the number of blocks, from the campaign, its time budget, or its design."""
    if campaign["design"] == "search":
        return 1
    screens = campaign["design"] == "screen"
    effects = comparisons(campaign["design"], profiles, len(campaign["factors"]))
    # A screen only nominates, by intervals: its confirmation has the tests.
    needed = INTERVAL_BLOCKS if screens else blocks_needed(effects)
    if campaign["time_budget"] is None:
        return campaign["blocks"] or MOST_BLOCKS_UNTIL.get(campaign["until"] or "", needed)
    mtus = len(campaign["mtus"])
    block_s = block_seconds(campaign, profiles) * mtus
    confirmation = confirmation_cost(campaign, profiles)[2]
    fitting = int((campaign["time_budget"] - MTU_SECONDS * mtus - confirmation) / block_s)
    if fitting < 1:
        more = f" and a confirmation of {confirmation:.0f} s" if confirmation else ""
        raise InputError(
            f"a time budget of {campaign['time_budget']:.0f} s is less than a block of {block_s:.0f} s{more}",
            f"campaign {campaign['name']}",
            "Give more time, shorter workloads, or fewer factors.",
        )
    return min(fitting, campaign["blocks"] or MOST_BLOCKS)


def usual_rounds(profiles: int) -> int:
    """Return the rounds of a search without a time budget, from the number of its first profiles."""
    return -(-profiles * 5 // 4)


def search_of(campaign: Campaign, profiles: Iterable[str]) -> SearchLimits:
    """Return the limits of a search after its first visits."""
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


def _in_drift(campaign: Campaign, profiles: Mapping[str, Levels]) -> list[str]:
    """Return the names of a search's first profiles in the most informative order under drift."""
    names = {tuple(levels.items()): name for name, levels in profiles.items()}
    rows = ordered(campaign["factors"], list(profiles.values()), campaign["seed"])
    return [names[tuple(levels.items())] for levels in rows]


def _check(campaign: Campaign, confirm: int) -> Workload | None:
    """Return the check of the payload of a confirmation, None where it has no block or no check."""
    check = campaign.get("verify")
    return check if confirm and check else None


def _checked_profiles(campaign: Campaign, where: str) -> tuple[dict[str, Levels], str]:
    """Return the profiles and the control of a campaign; raise InputError where they cannot be used."""
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
    """Return the estimated seconds of all visits, with all rounds that a search may have."""
    planned = MTU_SECONDS + blocks * block_seconds(campaign, profiles)
    rounds = search["rounds"] if search else 0
    return len(campaign["mtus"]) * planned + rounds * block_seconds(campaign, 1)


def _sampling(campaign: Campaign) -> str | None:
    """Return the engine that makes a stream to sample where no workload does; None for the default."""
    return None if streaming_engines(campaign["workloads"]) else campaign.get("engine")


def _time_plan(campaign: Campaign) -> TimePlan | None:
    """Return how a campaign spends its time budget; None where its blocks are fixed."""
    fixed = campaign["design"] == "search" or campaign["until"] or campaign["blocks"]
    if fixed or campaign["time_budget"] is None:
        return None
    return {
        "budget": campaign["time_budget"],
        "lengths": campaign["lengths"],
        "workloads": campaign["chosen"],
        "scatter": campaign["scatter"],
        "first": campaign["first"] or FIRST_BLOCKS,
    }


def _with_first_blocks(campaign: Campaign, profiles: int) -> Campaign:
    """Return a campaign with the number of its first blocks, and the length of their cells.

    Six blocks of short cells show a clear effect soonest. A time budget too short for these begins
    with three blocks, whose cells are twice as long.
    """
    six_blocks = FEWEST_BLOCKS * len(campaign["mtus"]) * block_seconds(campaign, profiles)
    if six_blocks <= FIRST_PART * (campaign["time_budget"] or 0.0):
        return {**campaign, "first": FEWEST_BLOCKS}
    chosen = campaign["chosen"]
    workloads = [with_length(load, SHORT_OF_TIME, chosen) for load in campaign["workloads"]]
    return {**campaign, "first": FIRST_BLOCKS, "workloads": workloads}


def _ends(time_plan: TimePlan | None, tests: list[InterimTest]) -> list[int]:
    """Return the blocks after which the campaign makes a decision from the trials of all MTUs."""
    return [first_blocks(time_plan)] if time_plan else [test["block"] for test in tests]


def _settings(campaign: Campaign, profiles: Mapping[str, Levels]) -> dict[str, Settings]:
    """Return the settings of each profile.

    In design one_at_a_time, a feature is on together with the features that it needs: alone it would
    have no effect. Profile ``as_found`` sets nothing.
    """
    needs = campaign["design"] == "one_at_a_time"
    return {
        name: settings_of([] if name == AS_FOUND else campaign["factors"], levels, needs)
        for name, levels in profiles.items()
    }


def _refuse_too_many(campaign: Campaign, profiles: int, blocks: int, where: str) -> None:
    """Raise InputError for a plan that would fill the controller's memory."""
    visits = visits_per_block(campaign, profiles)
    each = (
        max(1, len(campaign["pairs"]))
        * len(campaign["paths"])
        * len(campaign["workloads"])
        * (campaign.get("trials") or 1)
    )
    cells = len(campaign["mtus"]) * blocks * visits * each
    if cells > MOST_CELLS:
        raise InputError(
            f"the plan has {cells} trials, more than {MOST_CELLS}",
            where,
            "Give fewer blocks, profiles, paths, MTUs, pairs or workloads.",
        )


def _checked_rounds(
    campaign: Campaign, settings: Mapping[str, Settings], where: str
) -> list[list[Pair]]:
    """Return the rounds of a campaign; raise InputError where its pairs cannot be measured."""
    rounds = rounds_of(campaign["pairs"], campaign["concurrent"])
    check(campaign["pairs"], rounds, settings, where)
    _check_engines(rounds, campaign["workloads"], where)
    return rounds


def _check_engines(rounds: list[list[Pair]], workloads: list[Workload], where: str) -> None:
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


def _optional_keys(
    campaign: Campaign, tests: list[InterimTest], search: SearchLimits | None, confirm: int
) -> dict[str, object]:
    """Return the keys that only some plans have."""
    keys = {
        "until": campaign["until"],
        "looks": tests or None,
        "study": campaign.get("study"),
        "steal_limit": campaign.get("steal_limit"),
        "trials": campaign.get("trials"),
        "search": search,
        "verify": _check(campaign, confirm),
        "sampling": _sampling(campaign),
        "time": _time_plan(campaign),
    }
    return {key: value for key, value in keys.items() if value is not None}


def make_plan(campaign: Campaign, created: str) -> Plan:
    """Return the plan of a complete campaign: the content of plan.json."""
    where = f"campaign {campaign['name']}"
    profiles, control = _checked_profiles(campaign, where)
    campaign = {**campaign, "control_visits": control_visits(campaign, len(profiles))}
    if campaign["first"] is None:
        campaign = _with_first_blocks(campaign, len(profiles))
    blocks = pick_blocks(campaign, len(profiles))
    tests = planned_tests(campaign, blocks, where)
    confirm, _visits, confirm_seconds = confirmation_cost(campaign, len(profiles))
    search = search_of(campaign, profiles) if campaign["design"] == "search" else None
    seconds = _seconds(campaign, len(profiles), blocks, search)
    settings = _settings(campaign, profiles)
    order = _in_drift(campaign, profiles) if search else list(profiles)
    rounds = _checked_rounds(campaign, settings, where)
    _refuse_too_many(campaign, len(profiles), blocks, where)
    optional: Any = _optional_keys(campaign, tests, search, confirm)
    visits = [
        visits_of(campaign, order, control, stage, shuffled=not search)
        for stage in stages(_ends(optional.get("time"), tests), blocks)
    ]
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
        "visits": list(chain.from_iterable(visits)),
        **optional,
    }
