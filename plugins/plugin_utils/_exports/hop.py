# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The campaign that asks at which hop a setting breaks: it is varied at each class of devices and at
each end by itself. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .._campaign.factors import ENDS
from .._campaign.nouns import Factor, Plan

TROUBLED = 5.0  # trials of each profile that shall be in trouble where it does not cure
MOST_BLOCKS = 16
MOST_FACTORS = 12  # each adds a visit to a block


def _at_each_hop(factor: Factor) -> list[dict[str, Any]]:
    """Return a factor for each end and class of devices that a setting was varied at."""
    hops: list[dict[str, Any]] = []
    for side in factor["sides"]:
        for devices in factor["devices"]:
            hops.append(
                {
                    "name": f"{factor['name']}_at_{side}_{devices}",
                    "kind": factor["kind"],
                    "settings": factor["settings"],
                    "levels": factor["levels"],
                    "devices": [devices],
                    "sides": next(name for name, ends in ENDS.items() if ends == [side]),
                }
            )
    return hops


def _profiles(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return all off, all on, and all but each: a hop is told by what is clean without it."""
    all_on = dict.fromkeys(names, "on")
    profiles = {"all_off": dict.fromkeys(names, "off"), "all_on": all_on}
    for name in names:
        profiles[f"not_{name}"] = {**all_on, name: "off"}
    return profiles


def hop_campaign(plan: Plan, off: Iterable[str], rate: float = 1.0) -> dict[str, Any] | None:
    """Return the campaign for what is switched off by a cure; None where that tells nothing more.
    ``rate`` is the share of the trials that were in trouble before: the rarer, the more blocks.

    What is not varied stays as it is on the hosts, so the settings that these need are on.
    """
    factors: list[dict[str, Any]] = []
    for factor in plan["factors"]:
        if factor["name"] in off and factor["kind"] == "feature":
            factors += _at_each_hop(factor)
    if not 2 <= len(factors) <= MOST_FACTORS:
        return None
    return {
        "name": f"{plan['name']}-hop"[:64],
        "design": "profiles",
        "control": "all_off",
        "profiles": _profiles([factor["name"] for factor in factors]),
        "blocks": min(MOST_BLOCKS, math.ceil(TROUBLED / max(rate, TROUBLED / MOST_BLOCKS))),
        "control_visits": 1,
        "paths": plan["paths"],
        "mtus": plan["mtus"],
        "factors": factors,
        "workloads": ["payload"],
        "duration": max((load["duration"] for load in plan["workloads"]), default=4),
        "confirm": 0,
    }
