# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of the scatter is associated with something that the machine did: a known share, and
what the
report says of it.

Run it as: PYTHONPATH=.build/live OPENBLAS_NUM_THREADS=1 .venv/bin/python
tests/instruments/simulation/causes.py CAMPAIGNS. It prints rows of docs/decisions/statistics.md.
"""

from __future__ import annotations

import sys

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._statistics.effects import goes_with
from ansible_collections.offload.lab.tests.instruments.simulation import decisions, worlds

SHARES = (0.0, 0.25, 0.5, 0.75)
NOISES = ("plain", "AR(1)", "heavy tails", "skewed")
PLANS = {"on_off": ("on_off", 2, 9), "one_at_a_time": ("one_at_a_time", 6, 9)}


def taken(generator, visits, blocks):
    """Return what something else takes of visits, in their order in time: nothing at most times, and
    for some visits after each other up to a tenth.
    """
    series = np.zeros(visits * blocks)
    level = 0.0
    for index in range(len(series)):
        level = 0.6 * level + (generator.exponential(0.04) if generator.random() < 0.3 else 0.0)
        series[index] = level
    return series.reshape(blocks, visits).T


def found(plan, noise, share, generator):
    """Return the share that is found where ``share`` of the variance inside blocks is associated
    with what something else took.
    """
    visits = worlds.visits_of(plan)
    blocks = plan["blocks"]
    order = worlds.order_of(generator, visits, blocks)
    data = worlds.draw(noise, generator, 4, plan, order)[:, :visits]
    cause = np.take_along_axis(taken(generator, visits, blocks), order, axis=0)
    size = np.sqrt(share / (1 - share) * inside(data) / max(1e-9, inside(cause[None])))
    percent = np.broadcast_to(100 * cause, data.shape)  # in per cent
    return goes_with(data - size * cause, percent)


def inside(data):
    """Return the variance inside blocks."""
    return float((data - data.mean(axis=1, keepdims=True)).var())


def main(campaigns):
    """Print the rows: the mean of what is found, and how often anything is."""
    for name, plan_options in PLANS.items():
        plan = decisions.plan_of(*plan_options)
        for noise in NOISES:
            cells = []
            for share in SHARES:
                generator = np.random.default_rng(9)
                ratios = [found(plan, noise, share, generator) for _one in range(int(campaigns))]
                cells.append(
                    f"{100 * np.mean(ratios):.0f} % ({100 * np.mean(np.array(ratios) > 0):.0f} %)"
                )
            print(f"| {name}, {noise} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
