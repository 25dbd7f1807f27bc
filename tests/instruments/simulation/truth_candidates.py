# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The intervals that were tried for an effect, on log ratios paired inside blocks;
docs/decisions/intervals.md has the outcome. Only the chosen one is in
plugins/plugin_utils/_statistics/effects.py; the others live here, so that the choice can be
repeated with other noise.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from ansible_collections.offload.lab.plugins.plugin_utils._statistics.effects import t_interval
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.signflip import half_signs

RESAMPLES = 999
TAIL = 0.025


def student_t(differences, _generator):
    """Student's t on the mean."""
    return t_interval(differences)[2:]


def _resampled(differences, generator):
    blocks = differences.shape[1]
    return differences[:, generator.integers(0, blocks, (RESAMPLES, blocks))]


def percentile_of_mean(differences, generator):
    """Bootstrap percentiles of the mean."""
    means = _resampled(differences, generator).mean(axis=-1)
    return np.quantile(means, TAIL, axis=1), np.quantile(means, 1 - TAIL, axis=1)


def percentile_of_median(differences, generator):
    """Bootstrap percentiles of the median, the interval that the design first named."""
    medians = np.median(_resampled(differences, generator), axis=-1)
    return np.quantile(medians, TAIL, axis=1), np.quantile(medians, 1 - TAIL, axis=1)


def bca(differences, generator):
    """Bias-corrected and accelerated bootstrap of the mean (Efron 1987)."""
    blocks = differences.shape[1]
    mean = differences.mean(axis=1)
    means = np.sort(_resampled(differences, generator).mean(axis=-1), axis=1)
    bias = stats.norm.ppf(np.clip((means < mean[:, None]).mean(axis=1), 1e-3, 1 - 1e-3))
    without = (differences.sum(axis=1, keepdims=True) - differences) / (blocks - 1)
    away = without.mean(axis=1, keepdims=True) - without
    speed = (away**3).sum(axis=1) / (6 * (away**2).sum(axis=1) ** 1.5)
    ends = []
    for quantile in stats.norm.ppf([TAIL, 1 - TAIL]):
        share = stats.norm.cdf(bias + (bias + quantile) / (1 - speed * (bias + quantile)))
        index = np.clip((share * RESAMPLES).astype(int), 0, RESAMPLES - 1)
        ends.append(np.take_along_axis(means, index[:, None], axis=1)[:, 0])
    return ends


def studentised(differences, generator):
    """Bootstrap of the mean, each resample scaled by its own standard error."""
    blocks = differences.shape[1]
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / math.sqrt(blocks)
    drawn = _resampled(differences, generator)
    deviation = drawn.std(axis=-1, ddof=1) / math.sqrt(blocks)
    t = (drawn.mean(axis=-1) - mean[:, None]) / np.where(deviation > 0, deviation, np.nan)
    return mean - np.nanquantile(t, 1 - TAIL, axis=1) * error, mean - np.nanquantile(
        t, TAIL, axis=1
    ) * error


def inverted_sign_flip(differences, _generator):
    """All effects that an exact sign-flip test at 5 % would not reject: bounded by means of subsets
    of blocks.
    """
    blocks = differences.shape[1]
    flipped = half_signs(blocks)[1:] < 0
    means = [differences @ part.T / part.sum(axis=1) for part in (flipped, ~flipped)]
    index = math.floor(2 * TAIL * 2 ** (blocks - 1) + 1e-9) - 1
    low = np.sort(np.minimum(*means), axis=1)
    high = np.sort(np.maximum(*means), axis=1)
    return low[:, index], high[:, -1 - index]


CANDIDATES = {
    "Student's t": student_t,
    "inverted sign-flip test": inverted_sign_flip,
    "studentised bootstrap": studentised,
    "bootstrap percentile, median": percentile_of_median,
    "bootstrap percentile, mean": percentile_of_mean,
    "bootstrap BCa, mean": bca,
}


def compare(noise, blocks, campaigns=2000, seed=1):
    """Return ``{candidate: (share that covers the truth, median width in standard deviations of a
    trial)}``.
    """
    generator = np.random.default_rng(seed)
    logs = noise.draw(generator, (campaigns, 3, blocks))
    differences = logs[:, 0] - (logs[:, 1] + logs[:, 2]) / 2  # the control is visited twice
    methods = {}
    for name, interval in CANDIDATES.items():
        low, high = interval(differences, generator)
        methods[name] = (
            float(((low <= 0) & (high >= 0)).mean()),
            float(np.median(high - low) / noise.sd),
        )
    return methods
