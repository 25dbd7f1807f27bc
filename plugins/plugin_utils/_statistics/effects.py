# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of effects, computed on whole arrays. Values are natural logarithms; NaN: not measured.

An effect is the mean over blocks of differences of logarithms inside each block: the geometric mean
of ratios. Its test is the sign-flip test, its interval what that does not refuse; docs/statistics.md
shows why. ``weights`` say what each block counts; without them all count alike.
What a report claims rests on the joint test of all its effects, see _statistics/joint.py.

Where scatter comes from: what a block, a visit and a trial add to the logarithm of a value.
Pure.

A visit's share is what the residuals of its tables have in common, a trial's share what they have
not; a block's share is what its mean has beyond both (moments of the two-way fit of each table).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

from . import rules
from .libraries import np, special
from .signflip import sign_flip, sign_flip_interval, signs_for

ALPHA, CONFIDENCE = rules.ALPHA, rules.CONFIDENCE
FEWEST_BLOCKS, INTERVAL_BLOCKS = rules.FEWEST_BLOCKS, rules.INTERVAL_BLOCKS
TURNS = 20
CHANCE = 0.01  # how often what has nothing to do with the values passes for a cause


def logs(values: Any) -> np.ndarray:
    """Return the natural logarithms; what is not above 0 has none and is NaN."""
    values = np.asarray(values, dtype=float)
    return np.log(values, out=np.full(values.shape, np.nan), where=values > 0)


def mean_of_visits(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the mean of two visits, or the one there is."""
    both = (first + second) / 2
    return np.where(np.isnan(both), np.where(np.isnan(first), second, first), both)


@functools.lru_cache(maxsize=None)
def t_quantile(share: float, freedom: float) -> float:
    """Return a quantile of Student's t, remembered: scipy takes its time, and the same few are
    asked for.
    """
    return float(special.stdtrit(freedom, share))


def contrast(data: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sums of rows: (..., rows, blocks) and (effects, rows) give (..., effects,
    blocks).

    A block lacks the effect where it lacks a row that has a weight.
    """
    missing = np.isnan(data)
    sums = weights @ np.where(missing, 0.0, data)
    return np.where((weights != 0).astype(float) @ missing > 0, np.nan, sums)


def counted(differences: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return differences as a test adds them up: each block by what it counts."""
    return differences if weights is None else differences * weights


def mean_and_error(
    differences: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (n, mean, standard error of the mean) over the last axis; NaN where there are too few."""
    present = ~np.isnan(differences)
    n = present.sum(axis=-1)
    counts = np.where(present, 1.0 if weights is None else weights, 0.0)
    total = np.where(n > 0, counts.sum(axis=-1), 1.0)
    mean = (counts * np.where(present, differences, 0.0)).sum(axis=-1) / total
    away = np.where(present, differences - mean[..., None], 0.0)
    squares = ((counts * away) ** 2).sum(axis=-1)
    error = np.sqrt(squares * n / np.maximum(n - 1, 1)) / total
    return n, np.where(n > 0, mean, np.nan), np.where(n > 1, error, np.nan)


def t_interval(
    differences: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (n, mean, low, high) over the last axis, by Student's t; under
    :data:`INTERVAL_BLOCKS` blocks no interval (NaN).
    """
    n, mean, error = mean_and_error(differences, weights)
    quantiles = np.array(
        [t_quantile(0.5 + CONFIDENCE / 2, count) for count in range(1, differences.shape[-1] + 1)]
    )
    places = np.clip(n - 1, 1, max(1, len(quantiles))) - 1
    half = quantiles[places] * error if len(quantiles) else np.nan
    half = np.where(n >= INTERVAL_BLOCKS, half, np.nan)
    return n, mean, mean - half, mean + half


def intervals(
    differences: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (n, mean, low, high) over the last axis: all means that the sign-flip test does not
    refuse.

    Of fewer than :data:`FEWEST_BLOCKS` blocks it refuses none: there they are Student's t.
    """
    n, mean, low, high = t_interval(differences, weights)
    for count in np.unique(n[n >= FEWEST_BLOCKS]):
        of_count = n == count
        rows = differences[of_count]
        present = ~np.isnan(rows)
        measured = rows[present].reshape(-1, count)
        of_rows = None
        if weights is not None:
            of_rows = np.broadcast_to(weights, rows.shape)[present].reshape(-1, count)
        low[of_count], high[of_count] = sign_flip_interval(measured, 1 - CONFIDENCE, of_rows)
    return n, mean, low, high


def p_values(differences: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return sign-flip p values over the last axis; under :data:`FEWEST_BLOCKS` blocks none (NaN)."""
    differences = counted(differences, weights)
    flat = differences.reshape(-1, differences.shape[-1])
    missing = np.isnan(flat)
    n = flat.shape[1] - missing.sum(axis=1)
    # What is measured comes first: a sign of what is missing changes nothing, so that effects share
    # their choices.
    first = np.take_along_axis(
        np.where(missing, 0.0, flat), np.argsort(missing, axis=1, kind="stable"), axis=1
    )
    p = np.full(len(flat), np.nan)
    sizes = np.array([signs_for(count) for count in range(flat.shape[1] + 1)])
    for size in np.unique(sizes[n[n >= FEWEST_BLOCKS]]):
        rows = (n >= FEWEST_BLOCKS) & (sizes[n] == size)
        p[rows] = sign_flip(first[rows][:, : n[rows].max()])
    return p.reshape(differences.shape[:-1])


def holm(p: Any) -> np.ndarray:
    """Return p values corrected for all of the last axis (Holm 1979); NaN stays out of the family."""
    p = np.asarray(p, dtype=float)
    ranks = np.argsort(p, axis=-1)  # NaN comes last
    ordered = np.take_along_axis(p, ranks, axis=-1)
    size = (~np.isnan(p)).sum(axis=-1, keepdims=True)
    steps = np.maximum(size - np.arange(p.shape[-1]), 1)
    corrected = np.minimum(
        np.maximum.accumulate(np.where(np.isnan(ordered), 0.0, ordered * steps), axis=-1), 1.0
    )
    corrected = np.where(np.isnan(ordered), np.nan, corrected)
    unsorted = np.empty_like(p)
    np.put_along_axis(unsorted, ranks, corrected, axis=-1)
    return unsorted


def estimates(differences: np.ndarray, weights: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return ``{"n", "mean", "low", "high"}`` of (..., effects, blocks)."""
    return dict(zip(("n", "mean", "low", "high"), intervals(differences, weights)))


def effects(differences: np.ndarray, weights: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return ``{"n", "mean", "low", "high", "p"}`` of (..., effects, blocks); ``p`` is each
    effect's own, not corrected.
    """
    return dict(estimates(differences, weights), p=p_values(differences, weights))


def two_way(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit rows (profiles) and columns (blocks) to (..., rows, blocks); return (column effects,
    residuals).

    What is NaN in data stays it. With gaps the two are fitted in turns until they settle.
    """
    present = ~np.isnan(data)
    in_rows = np.maximum(present.sum(axis=-1, keepdims=True), 1)
    in_columns = np.maximum(present.sum(axis=-2, keepdims=True), 1)
    columns = np.zeros(data.shape[:-2] + (1, data.shape[-1]))
    for _turn in range(TURNS if not present.all() else 1):
        rows = np.where(present, data - columns, 0.0).sum(axis=-1, keepdims=True) / in_rows
        columns = np.where(present, data - rows, 0.0).sum(axis=-2, keepdims=True) / in_columns
    return np.where(present.any(axis=-2), columns[..., 0, :], np.nan), data - rows - columns


def pooled_sd(data: np.ndarray) -> np.ndarray:
    """Return the standard deviation of one trial after profiles and blocks, (..., rows, blocks);
    NaN where unknown.
    """
    present = ~np.isnan(data)
    fitted = present.any(axis=-1).sum(axis=-1) + present.any(axis=-2).sum(axis=-1) - 1
    freedom = present.sum(axis=(-2, -1)) - fitted
    squares = np.nansum(two_way(data)[1] ** 2, axis=(-2, -1))
    return np.where(
        (freedom > 0) & present.any(axis=(-2, -1)),
        np.sqrt(squares / np.maximum(freedom, 1)),
        np.nan,
    )


def drift(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (slope a block, p value) of the block effects, (..., rows, blocks); NaN under six
    blocks.
    """
    levels = two_way(data)[0]
    used = ~np.isnan(levels)
    n = used.sum(axis=-1)
    some = np.maximum(n, 1)[..., None]
    number = np.where(used, np.arange(data.shape[-1], dtype=float), 0.0)
    x = np.where(used, number - number.sum(axis=-1, keepdims=True) / some, 0.0)
    y = np.where(used, levels - np.where(used, levels, 0.0).sum(axis=-1, keepdims=True) / some, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (x**2).sum(axis=-1)
        slope = (x * y).sum(axis=-1) / spread
        residual = ((y - slope[..., None] * x) ** 2).sum(axis=-1)
        p = 2 * special.stdtr(n - 2, -np.abs(slope) / np.sqrt(residual / (n - 2) / spread))
    few = n < FEWEST_BLOCKS
    return np.where(few, np.nan, slope), np.where(few, np.nan, p)


class Scatter(NamedTuple):
    """Standard deviations of logarithms; ``visit`` is None where one table cannot separate it from
    the trial's.
    """

    trial: float
    visit: float | None
    block: float
    seconds: float  # that a cell measured

    def noise(self, seconds: float) -> float:
        """Return the scatter of a value inside its block, with cells of this length."""
        return math.sqrt((self.visit or 0.0) ** 2 + self.trial**2 * self.seconds / seconds)


def components(data: np.ndarray, seconds: float) -> Scatter | None:
    """Return the scatter of logarithms (tables, visits, blocks); None where too little was
    measured.
    """
    blocks, residuals = two_way(data)
    present = ~np.isnan(residuals)
    freedom = (
        present.sum(axis=(1, 2))
        - present.any(axis=2).sum(axis=1)
        - present.any(axis=1).sum(axis=1)
        + 1
    )
    enough = freedom > 0
    if not enough.any():
        return None
    flat = np.where(present, residuals, 0.0)[enough].reshape(int(enough.sum()), -1)
    products = flat @ flat.T
    share = np.sqrt(np.outer(freedom[enough], freedom[enough]))
    inside = float(np.mean(np.diag(products) / freedom[enough]))
    others = ~np.eye(len(flat), dtype=bool)
    visit = max(0.0, float(np.mean((products / share)[others]))) if len(flat) > 1 else None
    between = np.nanvar(blocks[enough], axis=1, ddof=1) if blocks.shape[1] > 1 else np.zeros(1)
    rows = present[enough].any(axis=2).sum(axis=1)
    block = max(0.0, float(np.mean(between - inside / rows)))
    return Scatter(
        math.sqrt(max(0.0, inside - (visit or 0.0))),
        None if visit is None else math.sqrt(visit),
        math.sqrt(block),
        seconds,
    )


def goes_with(data: np.ndarray, cause: np.ndarray) -> float:
    """Return the share of the variance inside blocks that is associated with a cause that makes
    values smaller; 0 if that may be chance.

    Both are (tables, visits, blocks). What profiles and blocks have in common is taken out of both,
    so a profile that needs more of the machine is no cause. Cells of one visit are not independent:
    only visits count for what chance alone may do.
    """
    present = ~np.isnan(data) & ~np.isnan(cause)
    values, causes = (
        np.nan_to_num(two_way(np.where(present, array, np.nan))[1]) for array in (data, cause)
    )
    rows = present.any(axis=(0, 2)).sum()
    blocks = present.any(axis=(0, 1)).sum()
    freedom = int(present.any(axis=0).sum() - rows - blocks)  # one less for the slope
    size = float((values**2).sum() * (causes**2).sum())
    if freedom < 1 or size <= 0:
        return 0.0
    correlation = float((values * causes).sum()) / math.sqrt(size)
    unexplained = max(1e-12, 1 - correlation**2)
    t = correlation * math.sqrt(freedom / unexplained)
    if float(special.stdtr(freedom, t)) > CHANCE:
        return 0.0
    return max(0.0, 1 - unexplained * (freedom + 1) / freedom)
