# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smallest effect that a number of blocks can show: found by the sign-flip test under Holm in 4 of 5 campaigns."""
from __future__ import annotations

import functools
import math

from ansible_collections.offload.lab.plugins.plugin_utils._libraries import np, stats
from ansible_collections.offload.lab.plugins.plugin_utils._signflip import MOST_EXACT_BLOCKS, half_signs

POWER = 0.8
ALPHA = 0.05
DRAWS = 4000


@functools.lru_cache(maxsize=None)
def detectable_factor(blocks, effects, alpha=ALPHA, power=POWER):
    """Return the smallest detectable mean of ``blocks`` normal differences, in their standard deviations.

    The largest of ``effects`` p values must pass ``alpha / effects``, the first step of Holm. None where the exact
    test cannot go so low.
    """
    if blocks > MOST_EXACT_BLOCKS:
        return _by_t(blocks, alpha / effects, power)
    allowed = math.floor(alpha / effects * 2 ** (blocks - 1) + 1e-9)
    if allowed < 1:
        return None
    if allowed == 1:  # only when all differences have one sign
        return float(stats.norm.ppf(power ** (1.0 / blocks)))
    return _by_simulation(blocks, allowed, power)


def _by_simulation(blocks, allowed, power):
    signs = half_signs(blocks).T
    noise = np.random.default_rng(20260105).standard_normal((DRAWS if blocks < 11 else DRAWS // 4, blocks))

    def found(effect):
        sums = np.abs((noise + effect) @ signs)
        extreme = (sums >= sums[:, :1] * (1 - 1e-12)).sum(axis=1)
        return (extreme <= allowed).mean()

    low, high = 0.0, 10.0
    for _step in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if found(middle) < power else (low, middle)
    return (low + high) / 2


def _by_t(blocks, alpha, power):
    """The t test's power; the sign-flip test of many blocks has nearly the same."""
    freedom = blocks - 1
    limit = stats.t.ppf(1 - alpha / 2, freedom)
    low, high = 0.0, 10.0
    for _step in range(40):
        middle = (low + high) / 2
        found = stats.nct.sf(limit, freedom, middle * math.sqrt(blocks))
        low, high = (middle, high) if found < power else (low, middle)
    return (low + high) / 2


def expected_detectable(blocks, effects, noise, controls=2):
    """Return the smallest detectable effect as a ratio above 1, for a trial's log standard deviation ``noise``.

    ``controls`` is how often the control is visited in a block. None where nothing can be shown.
    """
    factor = detectable_factor(blocks, effects)
    return None if factor is None else math.exp(factor * noise * math.sqrt(1 + 1.0 / controls))
