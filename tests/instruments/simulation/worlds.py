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
    for index, step in enumerate(SD * 0.6 * generator.standard_normal(len(series))):
        series[index] = (0.8 * series[index - 1] if index else 0) + step
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
    positions = np.arange(shape[1] * shape[2], dtype=float)
    return _white(generator, shape) - 0.3 * _in_order(np.exp(-positions / shape[1]), shape)


def skewed(generator, shape):
    """Trials are slowed now and then, exponentially, never sped up."""
    return -SD * generator.exponential(size=shape)


def interference(generator, shape):
    """Something else takes the machine for a run of visits, by 20 to 40 %."""
    visits = shape[1] * shape[2]
    start = generator.integers(visits)
    length = 1 + generator.geometric(0.25)
    series = np.zeros(visits)
    series[start : start + length] = -generator.uniform(0.2, 0.4)
    return _white(generator, shape) + _in_order(series, shape)


def bursts(generator, shape):
    """Something else takes 15 % now and then, for two or three visits."""
    series = np.zeros(shape[1] * shape[2])
    busy = False
    for index in range(len(series)):
        busy = generator.random() < (0.6 if busy else 0.1)
        series[index] = -0.15 * busy
    return 0.6 * _white(generator, shape) + _in_order(series, shape)


def stalls(generator, shape):
    """Three trials of a hundred carry half."""
    return _white(generator, shape) - 0.7 * (generator.random(shape) < 0.03)


def skewed_visits(generator, shape):
    """Whole visits are slowed now and then, exponentially."""
    visits = -SD * generator.exponential(size=(1, *shape[1:]))
    return 0.5 * _white(generator, shape) + visits


def long_tailed(generator, shape):
    """Trials are slowed, log-normally: most hardly, a few a lot."""
    return -0.6 * SD * generator.lognormal(0, 0.9, size=shape)


def drifting(generator, shape):
    """Values rise all the time, by 40 % in the campaign."""
    series = np.linspace(0, 0.4, shape[1] * shape[2])
    return _white(generator, shape) + _in_order(series, shape)


def level_shift(generator, shape):
    """At some visit the machine becomes 25 % slower, and stays so."""
    series = np.zeros(shape[1] * shape[2])
    series[generator.integers(1, len(series)) :] = -0.25
    return _white(generator, shape) + _in_order(series, shape)


def growing(generator, shape):
    """Trials scatter more and more."""
    return _white(generator, shape) * _in_order(np.linspace(0.3, 2, shape[1] * shape[2]), shape)


def slow_first(generator, shape):
    """The first visit of each block is 20 % slower, whoever makes it."""
    noise = _white(generator, shape)
    noise[:, 0] -= 0.2
    return noise


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
    "interference": interference,
    "bursts": bursts,
    "stalls": stalls,
    "skewed visits": skewed_visits,
    "long tail": long_tailed,
    "drift": drifting,
    "level shift": level_shift,
    "growing scatter": growing,
    "slow first visits": slow_first,
}
LOST = {"5 % lost": 0.05, "30 % lost": 0.3}
SCATTER = {"unequal scatter": (0.5, 4.0)}  # of profiles, in units of the others' scatter


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


def draw_metrics(name, generator, tables, plan, sizes):
    """Return the noises of metrics, ``sizes`` times as large; their visits are in the same
    order."""
    order = order_of(generator, visits_of(plan), plan["blocks"])
    return [size * draw(name, generator, tables, plan, order) for size in sizes]


def draw(name, generator, tables, plan, order=None):
    """Return the noise of one metric as (tables, rows, blocks): the control, profiles, the
    control's second visit.

    The order of visits is random inside each block, the same for all tables.
    """
    visits = visits_of(plan)
    blocks = plan["blocks"]
    shape = tables, visits, blocks
    noise = NOISES[name](generator, shape) + BLOCK_SD * generator.standard_normal((1, 1, blocks))
    if order is None:
        order = order_of(generator, visits, blocks)
    rows = np.take_along_axis(noise, np.broadcast_to(order, shape), axis=1)
    if name in SCATTER:
        size = np.where(np.arange(visits) % 2, *SCATTER[name])
        level = rows.mean(axis=1, keepdims=True)
        rows = level + (rows - level) * size[:, None]
    return as_rows(plan, np.where(generator.random(shape) < LOST.get(name, 0.0), np.nan, rows))
