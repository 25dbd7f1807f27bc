# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smallest effect that a number of blocks can show: claimed by the report's joint test in 4 of
5 campaigns. Pure.
"""

from __future__ import annotations

import bisect
import functools
import math

from . import rules
from .libraries import np, special
from .signflip import MOST_EXACT_BLOCKS, sign_patterns

ALPHA, FEWEST_BLOCKS = rules.ALPHA, rules.FEWEST_BLOCKS
POWER = 0.8
DRAWS = 1000
MOST_PATTERNS = 1024  # of signs, enough to know a p value near 5 %
LARGEST = 50.0  # standard deviations
STEP = 1e-4  # standard deviations: how exactly the smallest effect is found
BLOCKS = (FEWEST_BLOCKS, 7, 8, 9, 10, 12, 16, 20, 30, 50, 100)  # that a plan is made of


@functools.lru_cache(maxsize=None)
def detectable_factor(blocks: int, effects: int) -> float | None:
    """Return the smallest detectable mean of ``blocks`` normal differences, in their standard
    deviations.

    In the other ``effects`` of the report nothing differs, and they have nothing in common: the
    worst case. None where the blocks are too few for any test.
    """
    if blocks < FEWEST_BLOCKS:
        return None
    generator = np.random.default_rng(20260105)
    signs = sign_patterns(blocks)[:, :MOST_PATTERNS]
    noise = generator.standard_normal((DRAWS, blocks))
    noise_sums = noise @ signs / math.sqrt(blocks)
    sign_sums = signs.sum(axis=0) / math.sqrt(blocks)
    # The largest of the other effects under each choice of signs, drawn from its distribution.
    tail = -np.expm1(np.log(generator.random(noise_sums.shape)) / max(1, effects - 1))
    others = -special.ndtri(tail / 2) if effects > 1 else np.zeros(noise_sums.shape)

    def missing(effect: float) -> float:
        sums = np.abs(noise_sums + effect * sign_sums)
        p = (np.maximum(sums, others) >= sums[:, :1] * (1 - 1e-12))[:, 1:].sum(axis=1) + 1.0
        return float((p / signs.shape[1] <= ALPHA).mean()) - POWER

    # The standard library's search: to import scipy.optimize takes 0.7 s of each campaign and report.
    steps = range(round(LARGEST / STEP))
    return STEP * bisect.bisect_left(steps, 0.0, key=lambda step: missing(step * STEP))


def expected_detectable(
    blocks: int, effects: int, noise: float, control_visits: int = 2
) -> float | None:
    """Return the smallest detectable effect as a ratio above 1, for a trial's log standard
    deviation ``noise``.

    ``control_visits`` is how often a block visits the control. None where nothing can be shown.
    """
    factor = detectable_factor(blocks, effects)
    return (
        None if factor is None else math.exp(factor * noise * math.sqrt(1 + 1.0 / control_visits))
    )


def blocks_to_find(ratio: float, effects: int, noise: float, control_visits: int = 2) -> int | None:
    """Return how many blocks find an effect, a ratio above 1, in 4 of 5 campaigns; None: more than
    the largest choice.

    ``noise`` is the log standard deviation of a value inside its block.
    """
    most_factor = math.log(ratio) / (noise * math.sqrt(1 + 1.0 / control_visits))
    return next(
        (blocks for blocks in BLOCKS if (factor(blocks, effects) or LARGEST) <= most_factor), None
    )


def factor(blocks: int, effects: int) -> float | None:
    """Return about what :func:`detectable_factor` does, soon for many blocks, too.

    Beyond the exact test it falls with the root of the blocks, a little faster at first; drawn, it
    takes long.
    """
    exact = detectable_factor(min(blocks, MOST_EXACT_BLOCKS), effects)
    return exact and exact * math.sqrt(min(1.0, MOST_EXACT_BLOCKS / blocks))
