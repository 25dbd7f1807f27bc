# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The campaign that asks at which hop a setting breaks: it is varied at each class of devices and at
each end by itself. Pure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._campaign.factors import ENDS
from .._campaign.looks import NAMED
from .._campaign.nouns import Factor, Plan

TROUBLED = 8.0  # trials of each profile that shall be in trouble where it does not cure
FEWEST_BLOCKS = 4  # where nearly each trial is in trouble
FEWEST_OF_ONE_CLASS = (
    6  # the same, where an end has one class of devices, and so one profile with it on
)
NEARLY_EACH = 0.9
SHORT = 2.0  # s of a check that such a fault needs
SHORTEST = 1.0  # s of a check that a path needs on which nothing passes
MOST_BLOCKS = 24
MOST_FACTORS = 12  # each adds a visit to a block


def _hop(factor: Factor, side: str, devices: str) -> dict[str, Any]:
    """Return a factor that varies a setting at one class of devices of one end."""
    return {
        "name": f"{factor['name']}_at_{side}_{devices}",
        "kind": factor["kind"],
        "settings": list(factor["settings"]),
        "levels": list(factor["levels"]),
        "devices": [devices],
        "sides": next(name for name, ends in ENDS.items() if ends == [side]),
    }


def _chains(plan: Plan, off: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the hops of each setting at each end, by a name for both."""
    chains: dict[str, list[dict[str, Any]]] = {}
    for factor in plan["factors"]:
        if factor["name"] not in off or factor["kind"] != "feature":
            continue
        for side in factor["sides"]:
            name = f"{factor['name']}_at_{side}"
            chains[name] = [_hop(factor, side, devices) for devices in factor["devices"]]
    return chains


def _profiles(chains: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, dict[str, str]]:
    """Return all off, and of each end all its hops on, and all but each.

    One end at a time: what both ends break would hide what one of them does.
    """
    every = itertools.chain.from_iterable(chains.values())
    all_off = dict.fromkeys([hop["name"] for hop in every], "off")
    profiles = {"all_off": all_off}
    for chain, hops in chains.items():
        on = {**all_off, **dict.fromkeys([hop["name"] for hop in hops], "on")}
        profiles[chain] = on
        for hop in hops if len(hops) > 1 else ():
            profiles[f"not_{hop['name']}"] = {**on, hop["name"]: "off"}
    return profiles


def blocks_for(rate: float) -> int:
    """Return how many blocks show a fault that strikes this share of the trials."""
    if rate >= NEARLY_EACH:
        return FEWEST_BLOCKS
    return min(MOST_BLOCKS, math.ceil(TROUBLED / max(rate, TROUBLED / MOST_BLOCKS)))


def seconds_for(plan: Plan, rate: float, nothing_passes: bool = False) -> float:
    """Return how long a check takes to see such a fault, in seconds."""
    seconds = max((float(load["duration"]) for load in plan["workloads"]), default=4.0)
    if rate < NEARLY_EACH:
        return seconds
    return min(SHORTEST if nothing_passes else SHORT, seconds)


def _fewest(chains: Mapping[str, Sequence[Mapping[str, Any]]]) -> int:
    """Return how many blocks name the hop of a fault that strikes each trial."""
    single = any(len(hops) == 1 for hops in chains.values())
    return FEWEST_OF_ONE_CLASS if single else FEWEST_BLOCKS


def hop_campaign(
    plan: Plan,
    off: Sequence[str],
    paths: Iterable[str],
    rate: float = 1.0,
    nothing_passes: bool = False,
) -> dict[str, Any] | None:
    """Return the campaign for what a cure switches off, on the paths on which that is to blame;
    None where that tells nothing more.
    ``rate`` is the share of the trials that were in trouble before: the rarer, the more blocks.
    Where ``nothing_passes`` in these, a check is short.

    What is not varied stays as it is on the hosts, so the settings that these need are on.
    """
    chains = _chains(plan, off)
    factors = list(itertools.chain.from_iterable(chains.values()))
    asked = [factor for factor in plan["factors"] if factor["name"] in off]
    if not len(asked) < len(factors) <= MOST_FACTORS:
        return None
    return {
        "name": f"{plan['name']}-hop"[:64],
        "design": "profiles",
        "until": NAMED,
        "control": "all_off",
        "profiles": _profiles(chains),
        "blocks": max(blocks_for(rate), _fewest(chains)),
        "control_visits": 1,
        "paths": list(paths),
        "mtus": list(plan["mtus"]),
        "factors": factors,
        "workloads": ["payload"],
        "duration": seconds_for(plan, rate, nothing_passes),
        "confirm": 0,
    }
