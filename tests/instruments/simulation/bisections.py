# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated searches over kernels with a known truth: python -m
ansible_collections.offload.lab.tests.instruments.simulation.bisections prints the shares of wrong ranges.

A range is wrong if the first slow kernel is not in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._across.kernel_sides import (
    Measured,
    next_of,
)
from ansible_collections.offload.lab.tests.instruments.simulation import comparisons, synthetic

KERNELS = [f"6.1.0-{number}" for number in range(40, 56)]
BLOCKS = 24  # as campaign playbooks/campaigns/kernels.yml has them
PERCENT = 3.0
SEARCHES = 300


class Found(NamedTuple):
    """What a search found: whether its range is wrong, how wide it is, and the measurements."""

    wrong: bool
    width: int
    measured: int


def search(noise: str, ratio: float, generator: np.random.Generator) -> Found | None:
    """Return what a search found; None where the ends were not shown to differ."""
    plan = synthetic.make_plan(1, blocks=BLOCKS)
    profile = next(name for name in plan["profiles"] if name != plan["control"])
    first_bad = int(generator.integers(1, len(KERNELS)))
    measured: dict[str, list[Measured]] = {kernel: [] for kernel in KERNELS}
    while True:
        try:
            following = next_of(KERNELS, measured, PERCENT)
        except InputError:
            return None
        kernel = following.kernel
        if kernel is None:
            break
        ratios = {profile: ratio if KERNELS.index(kernel) >= first_bad else 1.0}
        campaign = comparisons.campaign(kernel, plan, noise, generator, ratios)
        measured[kernel].append(Measured(campaign, []))
    assert following.range
    good, bad = KERNELS.index(following.range.good), KERNELS.index(following.range.bad)
    return Found(not good < first_bad <= bad, bad - good, sum(map(len, measured.values())))


def searches(noise: str, ratio: float, number: int = SEARCHES, seed: int = 65) -> list[Found]:
    """Return what searches found whose ends were shown to differ."""
    generator = np.random.default_rng(seed)
    found = [search(noise, ratio, generator) for _search in range(number)]
    return [one for one in found if one]


def main() -> None:
    for noise in comparisons.NOISES:
        for ratio in (0.95, 0.9):
            outcomes = searches(noise, ratio)
            wrong = sum(one.wrong for one in outcomes)
            exact = sum(one.width == 1 for one in outcomes)
            measured = np.mean([one.measured for one in outcomes])
            print(
                f"{noise}, {ratio}: of {len(outcomes)} searches {wrong} wrong, {exact} to one kernel, "
                f"{measured:.1f} measurements"
            )


if __name__ == "__main__":
    main()
