# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sign-flip test: under the null hypothesis each block's difference might as well have the
other sign.

Exact over all 2^n sign patterns up to :data:`MOST_EXACT_BLOCKS` blocks, Monte Carlo with a fixed
seed beyond (Fisher's randomization test; p counts the observed pattern, as in Phipson and Smyth
2010).

Turned around it gives an interval, :func:`sign_flip_interval`: all means that the test would not
refuse. It holds the truth in 95 % of campaigns where differences are symmetric, also where a few of
them are far off.

The other test, :func:`order_p`, asks what the order of visits alone gives: the profile may by
chance never have been the visit of its blocks that is slow.

Exact statements about counts, by functions of scipy.special: a report and an interim test would
spend more time on the import of scipy.stats than on all else. Pure.
"""

from __future__ import annotations

import functools

from .libraries import np, special

MOST_EXACT_BLOCKS = 12
DRAWS = 9999
# Choices of signs that an interval is made of. All that are drawn would move a limit by 1 % of the half width.
MOST_FOR_LIMITS = 4096
ROWS = 4096  # effects handled together, to bound memory
SUMMED = 64  # effects summed together; each such group reads all choices of signs again
CACHED = 1 << 15  # numbers handled together, so that several arrays of them stay in the cache
TIE = 1 - 1e-12  # sums of the same numbers in another order are the same sum
RANK_TIE = 1e-9


@functools.lru_cache(maxsize=None)
def half_signs(blocks: int) -> np.ndarray:
    """Return all sign patterns whose first sign is +, the pattern of all + first; the others are
    their mirror.
    """
    numbers = np.arange(2 ** (blocks - 1))
    bits = (numbers[:, None] >> np.arange(blocks - 1)) & 1
    return np.hstack([np.ones((len(numbers), 1)), 1.0 - 2.0 * bits])


@functools.lru_cache(maxsize=2)
def _drawn(blocks: int) -> np.ndarray:
    """Return random sign patterns as columns, the pattern of all + first."""
    signs = np.random.default_rng(20260105).integers(0, 2, (blocks, DRAWS)) * 2.0 - 1.0
    return np.hstack([np.ones((blocks, 1)), signs])


def signs_for(blocks: int) -> int:
    """Return the number of blocks whose sign patterns serve effects of up to this many blocks."""
    return MOST_EXACT_BLOCKS if blocks <= MOST_EXACT_BLOCKS else 1 << (blocks - 1).bit_length()


def sign_patterns(blocks: int) -> np.ndarray:
    """Return sign patterns as columns, the one of all + first: all of them (but mirrors), or random
    ones.
    """
    return (
        half_signs(blocks).T if blocks <= MOST_EXACT_BLOCKS else _drawn(signs_for(blocks))[:blocks]
    )


def sign_flip(differences: np.ndarray) -> np.ndarray:
    """Return the two-sided p value of each row of ``differences`` (effects by blocks, no gaps).

    The statistic is the sum. With differences that are all zero p is 1.
    """
    differences = np.atleast_2d(np.asarray(differences, dtype=float))
    blocks = differences.shape[1]
    if blocks == 0:
        return np.ones(len(differences))
    signs = sign_patterns(blocks)
    values = np.empty(len(differences))
    step = max(1, ROWS * 64 // signs.shape[1])
    for start in range(0, len(differences), step):
        sums = differences[start : start + step] @ signs
        np.abs(sums, out=sums)
        values[start : start + step] = np.count_nonzero(sums >= sums[:, :1] * TIE, axis=1)
    return values / signs.shape[1]


def sign_flip_interval(
    differences: np.ndarray, alpha: float, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high) of each row of ``differences`` (effects by blocks, no gaps): the means that
    the test does not refuse at ``alpha``. ``weights`` of the same shape say what each block counts.

    A choice of signs splits the blocks in two, and refuses what is below the mean of both parts, or
    above it. Between the two ranks that ``alpha`` lies between, the limit is interpolated: few
    blocks have few choices. They must have more than 1 in ``alpha``.
    """
    blocks = differences.shape[1]
    signs = sign_patterns(blocks)[:, :MOST_FOR_LIMITS]
    turned = (blocks - signs.sum(axis=0)) / 2
    # A choice that splits nothing refuses nothing: all +, and a drawn choice of the same signs.
    splits = np.flatnonzero((turned > 0) & (turned < blocks))
    others = signs.shape[1] - len(splits)
    rank = alpha * signs.shape[1] - others
    # Mostly the first choice, all +, is the only such one: then a slice is enough, which copies nothing.
    kept = slice(1, None) if others == 1 else splits
    signs = signs[:, kept]
    low = np.empty(len(differences))
    high = np.empty(len(differences))
    for start in range(0, len(differences), SUMMED):
        lot = slice(start, start + SUMMED)
        counted = np.ones((1, blocks)) if weights is None else weights[lot]
        low[lot], high[lot] = _limits(differences[lot], counted, signs, rank)
    return low, high


def _limits(
    differences: np.ndarray, weights: np.ndarray, signs: np.ndarray, rank: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high) of each row, from choices of signs that split the blocks in two;
    ``weights`` has a row for each, or one row for all.
    """
    low = np.empty(len(differences))
    high = np.empty(len(differences))
    counted = differences * weights
    totals = counted.sum(axis=1, keepdims=True)
    sums = counted @ signs
    total_weight = weights.sum(axis=1, keepdims=True)
    balance = weights @ signs
    of_minus = np.broadcast_to(1 / (total_weight - balance), sums.shape)
    of_plus = np.broadcast_to(1 / (total_weight + balance), sums.shape)
    step = max(1, CACHED // signs.shape[1])
    for start in range(0, len(differences), step):
        few = slice(start, start + step)
        part = (totals[few] - sums[few]) * of_minus[few]
        rest = (totals[few] + sums[few]) * of_plus[few]
        low[few] = _at_rank(np.minimum(part, rest), rank)
        high[few] = -_at_rank(-np.maximum(part, rest), rank)
    return low, high


def _at_rank(values: np.ndarray, rank: float) -> np.ndarray:
    """Return the value of each row at a rank, counted from 0, between two of its values."""
    below = int(rank + RANK_TIE)
    ordered = np.partition(values, below + 1, axis=1)
    at_below = ordered[:, : below + 1].max(axis=1)
    above = ordered[:, below + 1]
    return at_below + (rank - below) * (above - at_below)


@functools.lru_cache(maxsize=2)
def _orders(blocks: int) -> np.ndarray:
    """Return weights of what :func:`order_p` adds up, an order a row, the one that was measured
    first.
    """
    drawn = np.vstack(
        [np.zeros((1, blocks)), np.random.default_rng(20261123).random((DRAWS, blocks))]
    )
    of_three = [(3 * drawn).astype(int) == visit for visit in range(3)]
    return np.hstack([*of_three, np.where(drawn < 0.5, 1.0, -1.0)]).astype(float)


def order_p(differences: np.ndarray, again: np.ndarray) -> float:
    """Return how often the order of visits alone gives so large an effect of a profile somewhere
    (effects by blocks).

    The order is drawn, so where nothing differs each of a block's three visits, the profile's and
    the control's two, might as well have been the profile's, in all tables. That holds for any
    noise, skewed or not. ``again`` (effects by blocks) is the control's second visit less its
    first; where it is NaN, a block has two visits. Each effect is in units of what scatters inside
    its blocks, which no order changes; the largest one counts.
    """
    values = np.nan_to_num(differences)
    alone = np.isnan(again)
    turn = np.where(np.isnan(differences), 0.0, 0.75 * np.nan_to_num(again))
    of_three = np.where(alone, 0.0, values)
    parts = np.hstack(
        [of_three, -of_three / 2 - turn, -of_three / 2 + turn, np.where(alone, values, 0.0)]
    )
    size = np.sqrt((parts**2).sum(axis=1, keepdims=True))
    sums = np.abs(_orders(differences.shape[1]) @ (parts / np.where(size > 0, size, 1.0)).T).max(
        axis=1
    )
    return float(np.mean(sums >= sums[0] * TIE))


def _log_choose(of: int, chosen: np.ndarray) -> np.ndarray:
    """Return the logarithm of a binomial coefficient."""
    return special.gammaln(of + 1) - special.gammaln(chosen + 1) - special.gammaln(of - chosen + 1)


def fisher_greater(hits: int, of: int, other_hits: int, other_of: int) -> float:
    """Return the p of Fisher's exact test that the first share is larger: the chance of at least
    these hits among ``of``, drawn without replacement from all.
    """
    together = hits + other_hits
    most = min(of, together)
    counts = np.arange(hits, most + 1)
    ways = _log_choose(together, counts)
    ways += _log_choose(of + other_of - together, of - counts)
    ways -= _log_choose(of + other_of, np.array(of))
    return min(1.0, float(np.exp(special.logsumexp(ways))))


def highest_share(hits: int, of: int, level: float) -> float:
    """Return the largest share with which so few hits come with a chance of ``level`` (Clopper and
    Pearson, 1934).
    """
    return float(special.betaincinv(hits + 1, of - hits, 1 - level)) if of > hits else 1.0
