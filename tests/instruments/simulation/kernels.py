# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated nights: one campaign under two to four kernels. Some kernels have a regression in one
effect of the first table.

A night is right where the report says of that effect on which side each kernel is. It is false where
the report names any difference between two kernels that truly do not differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._across.campaigns import (
    MeasuredCampaign,
    table_indexes,
)
from ansible_collections.offload.lab.plugins.plugin_utils._across.kernels import judged_quantities
from ansible_collections.offload.lab.plugins.plugin_utils._across.rows import KernelQuantity
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.states import margin_of
from ansible_collections.offload.lab.tests.instruments.simulation import comparisons, synthetic

KERNELS = ("6.1.0-50-amd64", "6.1.0-56-amd64", "6.12.107-amd64", "6.18.5-amd64")
MATTERS = margin_of(3)
BLOCKS = 24  # as campaign playbooks/campaigns/kernels.yml has them
# Which kernels have the regression.
NIGHTS = {
    "two kernels, since the second": (False, True),
    "three kernels, since the third": (False, False, True),
    "four kernels, since the third": (False, False, True, True),
    "four kernels, in the second alone": (False, True, False, False),
}


class Night(NamedTuple):
    """The campaigns of a night, and the truth."""

    campaigns: list[MeasuredCampaign]
    slow: dict[str, bool]  # kernels by name, of the effect that may be worse
    table: str
    profile: str


def night_of(
    name: str, noise: str, generator: np.random.Generator, ratio: float, blocks: int = BLOCKS
) -> Night:
    """Return a night; under its slow kernels an effect is ``ratio`` times as large."""
    plan = synthetic.make_plan(1, blocks=blocks)
    profile = next(other for other in plan["profiles"] if other != plan["control"])
    slow = dict(zip(KERNELS, NIGHTS[name]))
    campaigns = [
        comparisons.campaign(kernel, plan, noise, generator, {profile: ratio if bad else 1.0})
        for kernel, bad in slow.items()
    ]
    return Night(campaigns, slow, next(iter(table_indexes(campaigns[0]))), profile)


def true_sides(slow: dict[str, bool]) -> list[list[str]]:
    """Return the kernels in their order, a list for each side of a change."""
    sides: list[list[str]] = []
    before: bool | None = None
    for kernel, bad in slow.items():
        if bad != before:
            sides.append([])
        sides[-1].append(kernel)
        before = bad
    return sides


def is_false(quantity: KernelQuantity, night: Night, ratio: float) -> bool:
    """Return whether an effect is said to differ between two kernels under which it is the same."""
    if ratio == 1 or (quantity["table"], quantity["profile"]) != (night.table, night.profile):
        return bool(quantity["changes"])
    return any(
        night.slow[change["before"]] == night.slow[change["after"]]
        for change in quantity["changes"]
    )


def judged(
    name: str, noise: str, ratio: float, nights: int, *, blocks: int = BLOCKS, seed: int = 40
) -> np.ndarray:
    """Return for each night whether its report is right, and whether it is false: (nights, 2)."""
    generator = np.random.default_rng(seed)
    outcomes = []
    for _night in range(nights):
        night = night_of(name, noise, generator, ratio, blocks)
        effects = [
            quantity
            for quantity in judged_quantities(night.campaigns, MATTERS).quantities
            if quantity["kind"] == "effect"
        ]
        named_effects = [
            quantity
            for quantity in effects
            if (quantity["table"], quantity["profile"]) == (night.table, night.profile)
        ]
        right = bool(named_effects) and named_effects[0]["sides"] == true_sides(night.slow)
        outcomes.append((right, any(is_false(quantity, night, ratio) for quantity in effects)))
    return np.array(outcomes)
