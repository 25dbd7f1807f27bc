# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same time spent on nine blocks of 1 s cells, and as ``duration: auto`` spends it: how often a
table shows +5 %, how often its interval holds that, and how often a report of nothing claims
something.

Run it as: PYTHONPATH=.build/live OPENBLAS_NUM_THREADS=1 .venv/bin/python
tests/instruments/simulation/spending.py CAMPAIGNS [SEED]. It prints rows of docs/decisions/statistics.md.
SPENDING_BLOCKS (9) are the blocks of 1 s cells whose time is spent.

A visit costs what it does today in addition to its cells; the scatter of a cell grows as one over
the root
of its length, what visits add does not.
"""

from __future__ import annotations

import functools
import os
import sys
from itertools import chain
from typing import NamedTuple

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._campaign import lengths, spending
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._statistics import effects
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.effects import (
    Scatter,
    components,
)
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.joint import joint_p
from ansible_collections.offload.lab.tests.instruments.simulation import claims, decisions, worlds

TABLES = 4
VISITS = 2
BESIDE = 0.9  # s of a visit in addition to its cells, docs/decisions/overhead.md
BLOCKS = int(os.environ.get("SPENDING_BLOCKS", "9"))  # of 1 s cells
BUDGET = BLOCKS * VISITS * (BESIDE + TABLES * 1.0)  # s
EFFECTS = 2 * TABLES
MOST = 60  # blocks
BLOCK_SD = 0.2


def none(generator, visits):
    """Visits add nothing."""
    return np.zeros(visits)


def autoregressive(generator, visits):
    """AR(1) over visits, coefficient 0.8."""
    series = np.zeros(visits)
    for index, step in enumerate(0.03 * generator.standard_normal(visits)):
        series[index] = 0.8 * series[index - 1] * bool(index) + step
    return series


def slow_drift(generator, visits):
    """A random walk over visits."""
    return np.cumsum(0.025 * generator.standard_normal(visits))


def skewed(generator, visits):
    """Visits are slowed now and then, exponentially, never sped up."""
    return -0.05 * generator.exponential(size=visits)


def heavy_tails(generator, visits):
    """Student's t with 3 degrees of freedom."""
    return 0.05 * generator.standard_t(3, visits) / np.sqrt(3)


def white(generator, visits):
    """Each visit has a noise of its own."""
    return 0.05 * generator.standard_normal(visits)


def two_modes(generator, visits):
    """Each visit is in one of two modes, 10 % apart."""
    return -0.1 * (generator.random(visits) < 0.5)


def interference(generator, visits):
    """Something else takes the machine for a run of visits, by 20 to 40 %."""
    series = np.zeros(visits)
    start = generator.integers(VISITS * 9)
    series[start : start + 1 + generator.geometric(0.25)] = -generator.uniform(0.2, 0.4)
    return series


def bursts(generator, visits):
    """Something else takes 15 % now and then, for two or three visits."""
    series = np.zeros(visits)
    busy = False
    for index in range(visits):
        busy = generator.random() < (0.6 if busy else 0.1)
        series[index] = -0.15 * busy
    return series


def stalls(generator, visits):
    """Three visits of a hundred carry half."""
    return -0.7 * (generator.random(visits) < 0.03)


NOISES = {  # name: (what visits add, the scatter of a cell of 1 s)
    "plain, cells of 5 %": (none, 0.05),
    "plain, cells of 3 %": (none, 0.03),
    "AR(1) visits": (autoregressive, 0.025),
    "random walk": (slow_drift, 0.025),
    "skewed visits": (skewed, 0.025),
    "skewed visits, quiet cells": (skewed, 0.01),
    "heavy tails": (heavy_tails, 0.025),
    "white visits": (white, 0.025),
    "two modes": (two_modes, 0.025),
    "interference": (interference, 0.05),
    "interference, quiet cells": (interference, 0.025),
    "bursts": (bursts, 0.03),
    "stalls": (stalls, 0.05),
    # So quiet that nine blocks show about as much as they did before there was `duration: auto`: plain noise
    # 73 %, heavy tails 28 %, skewed visits 32 %.
    "plain, cells of 3.15 %": (none, 0.0315),
    "AR(1) visits, cells of 2.2 %": (autoregressive, 0.022),
    "skewed visits, cells of 1.5 %": (skewed, 0.015),
    "heavy tails, cells of 1.5 %": (heavy_tails, 0.015),
    "interference, cells of 3.15 %": (interference, 0.0315),
}


class World:
    """What a campaign meets: visits of two metrics in the order in which they are made."""

    def __init__(self, name, generator, ratio):
        add, self.cell = NOISES[name]
        self.generator = generator
        self.effect = np.log(ratio)
        self.series = [add(generator, VISITS * MOST) for _metric in claims.METRICS]
        self.order = worlds.order_of(generator, VISITS, MOST)

    def block(self, number, seconds):
        """Return the logarithms of a block, (metrics, tables, rows)."""
        rows_of_block = []
        for series, direction in zip(self.series, claims.METRICS):
            cells = self.cell / np.sqrt(seconds) * self.generator.standard_normal((TABLES, VISITS))
            visits = series[VISITS * number : VISITS * (number + 1)]
            level = BLOCK_SD * self.generator.standard_normal()
            rows = direction * (cells + visits + level)[:, self.order[:, number]]
            rows[:, 1] += direction * self.effect
            rows_of_block.append(rows)
        return np.array(rows_of_block)


class Measured(NamedTuple):
    """The values of all blocks, (metrics, tables, rows) each, and what each block counts."""

    values: list[np.ndarray]
    weights: np.ndarray


def as_before(world):
    """Return blocks of 1 s cells."""
    return Measured([world.block(number, 1.0) for number in range(BLOCKS)], np.ones(BLOCKS))


def as_chosen(world):
    """Return the blocks that a time budget is spent on, with the length that is chosen after the
    first of them.
    """
    begun = begin(BUDGET)
    blocks_measured = [world.block(number, begun.seconds) for number in range(begun.blocks)]
    chosen = choose([values[0] for values in blocks_measured], begun, BUDGET)
    later = range(begun.blocks, min(MOST, chosen.blocks))
    blocks_measured += [world.block(number, chosen.seconds) for number in later]
    return Measured(blocks_measured, chosen.weights(len(blocks_measured)))


class Begun(NamedTuple):
    """How a time budget begins."""

    blocks: int
    seconds: float  # of their cells

    def cost(self):
        """Return how long these blocks take, s."""
        return self.blocks * VISITS * (BESIDE + TABLES * self.seconds)


@functools.lru_cache(maxsize=None)
def begin(budget):
    """Return how a time budget begins, from a plan of four tables."""
    campaign_keys = {
        "name": "simulated",
        "factors": ["tso"],
        "workloads": ["tcp_stream", "tcp_rr"],
        "duration": "auto",
        "time_budget": budget,
        "confirm": 0,
    }
    plan = make_plan(read_campaign(campaign_keys), "")
    return Begun(plan["time"]["first"], plan["workloads"][0]["duration"])


class Chosen(NamedTuple):
    """What is decided after the first blocks."""

    seconds: float  # of the cells of later blocks
    blocks: int  # in all
    scatter: Scatter
    begun: Begun

    def weights(self, blocks):
        """Return the weight of each block, 1 on average."""
        first = [self.begun.seconds] * self.begun.blocks
        each = [*first, *[self.seconds] * (blocks - self.begun.blocks)]
        weights_by_length = np.array([spending.weight(self.scatter, seconds) for seconds in each])
        return weights_by_length / weights_by_length.mean()


def choose(first, begun, budget):
    """Return what is decided of a budget after the ``first`` blocks, (tables, rows) each."""
    spent = begun.cost()
    scatter = components(np.stack(first, axis=2), begun.seconds)
    costs = spending.Costs(spent, 0.0, BESIDE, VISITS, [0.0] * TABLES)
    choice = spending.Choice(lengths.LENGTHS, EFFECTS, *begun)
    return Chosen(*spending.best_length(scatter, choice, costs, budget - spent), scatter, begun)


class ThroughputSaid(NamedTuple):
    """What a report says of throughput, each table alone, and whether it claims anything."""

    shown: np.ndarray  # of tables: better or worse
    holds: np.ndarray  # of tables: the interval has the true effect
    wrong: np.ndarray  # of tables: shown, and the other way
    claims: bool


def judged(measured, effect):
    """Return what a report says; ``effect`` is the true one of throughput, a logarithm."""
    data = np.stack(measured.values, axis=3)
    plan = decisions.plan_of("on_off", 2, data.shape[3])
    drawn = [worlds.as_rows(plan, values * measured.weights) for values in data]
    differences, scale, kinds = claims.members_of(drawn, claims.families(plan))
    shown = joint_p(differences, scale, claims.groups_of(kinds)) <= effects.ALPHA
    tables = np.array([kind == ("rows", 0) for kind in kinds])
    scaled = differences[tables] / measured.weights
    _n, mean, low, high = effects.intervals(scaled, measured.weights)
    return ThroughputSaid(
        shown[tables],
        (low <= effect) & (effect <= high),
        shown[tables] & (mean * effect <= 0),
        shown.any(),
    )


class Shares(NamedTuple):
    """Shares of tables, of reports that claim anything, and how many blocks there were on average."""

    shown: float
    holds: float
    wrong: float
    claims: float
    blocks: float


def shares(name, campaigns, ratio, spend, seed):
    """Return the :class:`Shares` of simulated campaigns."""
    generator = np.random.default_rng(seed)
    results = []
    for _campaign in range(campaigns):
        world = World(name, generator, ratio)
        measured = spend(world)
        judgement = judged(measured, world.effect)
        blocks = len(measured.values)
        row = (
            judgement.shown.mean(),
            judgement.holds.mean(),
            judgement.wrong.mean(),
            judgement.claims,
            blocks,
        )
        results.append(row)
    return Shares(*np.mean(results, axis=0))


def spent_both_ways(name, campaigns, ratio, seed):
    """Return the shares of nine blocks, and the shares of a time budget."""
    return [shares(name, campaigns, ratio, spend, seed) for spend in (as_before, as_chosen)]


def main(campaigns, seed="1"):
    """Print the rows: nine blocks and auto of each, shown, claimed where nothing differs, covered,
    shown the wrong way; and the blocks of auto.
    """
    for name in NOISES:
        gain = spent_both_ways(name, int(campaigns), 1.05, int(seed))
        nothing = spent_both_ways(name, int(campaigns), 1.0, int(seed))
        columns = (
            [result.shown for result in gain],
            [result.claims for result in nothing],
            [result.holds for result in gain],
            [result.wrong for result in gain],
        )
        cells = [f"{100 * share:.1f} %" for share in chain(*columns)]
        print(f"| {name} | {' | '.join(cells)} | {gain[1].blocks:.0f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
