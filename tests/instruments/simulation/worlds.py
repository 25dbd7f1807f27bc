# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Noises of simulated campaigns, on logarithms: (tables, visits of a block in the order of time,
blocks).

None of them is what the analysis was built on: it knows of no distribution.
"""

from __future__ import annotations

import numpy as np

SD = 0.05  # of a trial
BLOCK_SD = 0.2


def _white(generator, shape):
    return SD * generator.standard_normal(shape)


def _in_order(values, shape):
    """Return a series over visits as (1, visits, blocks)."""
    return values.reshape(shape[2], shape[1]).T[None]


def plain(generator, shape):
    """Each trial has its own noise."""
    return _white(generator, shape)


def split_plot(generator, shape):
    """Each visit has a noise of its own, shared by all its tables."""
    return 0.5 * _white(generator, shape) + SD * generator.standard_normal((1, *shape[1:]))


def autoregressive(generator, shape):
    """AR(1) over visits, coefficient 0.8."""
    series = np.zeros(shape[1] * shape[2])
    for place, step in enumerate(SD * 0.6 * generator.standard_normal(len(series))):
        series[place] = (0.8 * series[place - 1] if place else 0) + step
    return 0.5 * _white(generator, shape) + _in_order(series, shape)


def random_walk(generator, shape):
    """A random walk over visits."""
    series = np.cumsum(SD * 0.5 * generator.standard_normal(shape[1] * shape[2]))
    return 0.5 * _white(generator, shape) + _in_order(series, shape)


def heavy_tails(generator, shape):
    """Student's t with 3 degrees of freedom."""
    return SD * generator.standard_t(3, shape) / np.sqrt(3)


def two_modes(generator, shape):
    """Each trial is in one of two modes, 20 % apart."""
    return 0.4 * _white(generator, shape) + np.log(1.2) * (generator.random(shape) < 0.5)


def two_modes_by_visit(generator, shape):
    """Each visit is in one of two modes, 20 % apart."""
    return 0.4 * _white(generator, shape) + np.log(1.2) * (generator.random((1, *shape[1:])) < 0.5)


def one_bad_block(generator, shape):
    """One block is five times as noisy."""
    noise = _white(generator, shape)
    noise[..., generator.integers(shape[2])] *= 5
    return noise


def warm_up(generator, shape):
    """Values rise to their level over the first visits."""
    place = np.arange(shape[1] * shape[2], dtype=float)
    return _white(generator, shape) - 0.3 * _in_order(np.exp(-place / shape[1]), shape)


def skewed(generator, shape):
    """Trials are slowed now and then, exponentially, never sped up."""
    return -SD * generator.exponential(size=shape)


NOISES = {
    "plain": plain,
    "split-plot": split_plot,
    "AR(1)": autoregressive,
    "random walk": random_walk,
    "heavy tails": heavy_tails,
    "two modes": two_modes,
    "two modes by visit": two_modes_by_visit,
    "one bad block": one_bad_block,
    "warm-up": warm_up,
    "unequal scatter": plain,
    "5 % lost": plain,
    "30 % lost": plain,
    "skewed": skewed,
}
LOST = {"5 % lost": 0.05, "30 % lost": 0.3}
SCATTER = {"unequal scatter": (0.5, 4.0)}  # of profiles, in that of the others


def visits_of(plan):
    """Return how many visits a block of a plan has: the control, profiles, and perhaps the control
    again.
    """
    return len(plan["profiles"]) + plan["control_visits"] - 1


def as_rows(plan, visits):
    """Return (tables, visits, blocks) with the row of the control's second visit: NaN where there
    is none.
    """
    return (
        visits
        if plan["control_visits"] == 2
        else np.pad(visits, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
    )


def order_of(generator, visits, blocks):
    """Return at which place of its block each visit is made, as a plan has it: (visits, blocks)."""
    order = np.argsort(generator.random((visits, blocks)), axis=0)
    if visits == 2:  # each second block has the opposite order of the one before
        order[:, 1::2] = order[::-1, 0 : blocks - 1 : 2]
    return order


def draw(name, generator, tables, plan):
    """Return the noise of one metric as (tables, rows, blocks): the control, profiles, the
    control's second visit.

    The order of visits is random inside each block, the same for all tables.
    """
    visits, blocks = visits_of(plan), plan["blocks"]
    shape = tables, visits, blocks
    noise = NOISES[name](generator, shape) + BLOCK_SD * generator.standard_normal((1, 1, blocks))
    order = order_of(generator, visits, blocks)
    rows = np.take_along_axis(noise, np.broadcast_to(order, shape), axis=1)
    if name in SCATTER:
        size = np.where(np.arange(visits) % 2, *SCATTER[name])
        level = rows.mean(axis=1, keepdims=True)
        rows = level + (rows - level) * size[:, None]
    return as_rows(plan, np.where(generator.random(shape) < LOST.get(name, 0.0), np.nan, rows))
