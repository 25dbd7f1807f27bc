# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of simulated campaigns with a known truth, judged by the gate of module compare.

A campaign is one series in time: block by block, visit by visit in random order, cell by cell. Over
the truth lie the noise of each trial and, by kind, a level that wanders through the whole campaign
or differs from day to day.
"""

from __future__ import annotations

import math
from typing import Any, Iterator

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._across.campaigns import MeasuredCampaign
from ansible_collections.offload.lab.plugins.plugin_utils._across.compare import compare, rows_of
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cube import Cube
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic, worlds

PAIRS = 300
TRIAL_SD = 0.03
THRESHOLD = 0.05
NOISES = ("plain", "AR(1)", "random walk", "a day effect of 5 %")
DESIGNS = {
    "on_off, 9 blocks, 4 tables": {"factors": 1, "blocks": 9, "design": "on_off"},
    "one_at_a_time, 6 factors, 9 blocks, 4 tables": {
        "factors": 6,
        "blocks": 9,
        "design": "one_at_a_time",
    },
}


def plan_of(design: str) -> dict[str, Any]:
    """Return the plan of a named design."""
    return synthetic.make_plan(**DESIGNS[design])


def level(kind: str, generator: np.random.Generator, length: int) -> np.ndarray:
    """Return the level of a machine during one campaign, a logarithm for each trial in the order of
    time.
    """
    steps = generator.standard_normal(length)
    if (
        kind == "AR(1)"
    ):  # a standard deviation of 5 %; 9 tenths of a deviation remain at the next trial
        levels = np.empty(length)
        levels[0] = 0.05 * steps[0]
        for index in range(1, length):
            levels[index] = 0.9 * levels[index - 1] + 0.05 * math.sqrt(1 - 0.9**2) * steps[index]
        return levels
    if kind == "random walk":
        return 0.01 * np.cumsum(steps)
    return np.full(length, 0.05 * steps[0] if kind.startswith("a day effect") else 0.0)


def campaign(
    name: str,
    plan: dict[str, Any],
    kind: str,
    generator: np.random.Generator,
    ratios: dict[str, float] | None = None,
) -> MeasuredCampaign:
    """Return one campaign; ``ratios`` {profile: its effect} is the truth of the first table."""
    cube = Cube(plan)
    rows = worlds.visits_of(plan)
    tables = len(cube.tables)
    order = worlds.order_of(
        generator, rows, plan["blocks"]
    ).T  # which row is visited at which place
    in_time = level(kind, generator, plan["blocks"] * rows * tables).reshape(
        plan["blocks"], rows, tables
    )
    logs = np.empty((tables, rows, plan["blocks"]))
    for block, visited in enumerate(order):
        logs[:, visited, block] = in_time[block].T
    logs += TRIAL_SD * generator.standard_normal(logs.shape)
    for profile, ratio in (ratios or {}).items():
        logs[0, cube.profiles.index(profile)] += math.log(ratio)
    cube.values["throughput"] = 4000.0 * np.exp(worlds.as_rows(plan, logs))
    return MeasuredCampaign(name, plan, None, cube)


def comparisons(
    design: str,
    kind: str,
    ratios: dict[str, float] | None = None,
    *,
    pairs: int = PAIRS,
    seed: int = 1,
) -> Iterator[Any]:
    """Yield comparisons of two campaigns; ``ratios`` hold in the second one only."""
    plan = plan_of(design)
    generator = np.random.default_rng(seed)
    for _pair in range(pairs):
        yield compare(
            [
                campaign("old", plan, kind, generator),
                campaign("new", plan, kind, generator, ratios),
            ],
            THRESHOLD,
        )


def judged(
    design: str,
    kind: str,
    ratios: dict[str, float] | None = None,
    *,
    pairs: int = PAIRS,
    seed: int = 1,
) -> np.ndarray:
    """Return for each pair whether any effect is called different, and whether the gate fails:
    (pairs, 2).
    """
    return np.array(
        [
            (
                any(row["significant"] for *_where, row in rows_of(comparison["compared"])),
                not comparison["passed"],
            )
            for comparison in comparisons(design, kind, ratios, pairs=pairs, seed=seed)
        ]
    )


def regressions_seen(design: str, kind: str, ratio: float, pairs: int = PAIRS) -> float:
    """Return the share of pairs in which the gate fails; one effect in one table is truly worse by
    ``ratio``.
    """
    plan = plan_of(design)
    profile = next(name for name in plan["profiles"] if name != plan["control"])
    return float(judged(design, kind, {profile: ratio}, pairs=pairs, seed=2)[:, 1].mean())
