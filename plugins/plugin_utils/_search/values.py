# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the trials of visits to one value a visit, how much that scatters, and how many trials are
enough. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._campaign.design import MORE_TRIALS
from .._statistics.libraries import np, special

USUAL_COUNTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)  # trials that the usual scatter may count for
APART = 5.5  # two modes are at least so many of their own standard deviations apart


def visit_values(
    trials: Sequence[Sequence[float]], profiles: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(values, variance)`` of visits, each a list of the logarithms of its trials.

    ``variance`` is that of a visit's value: it follows from the scatter of its profile's trials,
    and from their number. Where no visit has two trials it is 0: nothing is known.
    """
    rows, unsure = _one_mode([np.array(row, dtype=float) for row in trials])
    count = np.array([len(row) for row in rows])
    squares = np.array([_squares(row) for row in rows])
    values = np.array([row.mean() for row in rows])
    if not squares.any():
        return values, np.zeros(len(rows))
    names = np.array(profiles)
    own = [(names == name) for name in dict.fromkeys(profiles)]
    degrees = np.array([(count[ours] - 1).sum() for ours in own], dtype=float)
    sums = np.array([squares[ours].sum() for ours in own])
    usual, counts = _usual(sums[degrees > 0], degrees[degrees > 0])
    variance = np.empty(len(rows))
    for ours, free, total in zip(own, degrees, sums):
        variance[ours] = (counts * usual + total) / (counts + free)
    return values, variance / count + unsure


def trials_for(trials: Sequence[Sequence[float]], error: float, fewest: int) -> int:
    """Return how many trials a visit needs for a standard error of ``error``, where they scatter as
    they did so far.

    ``fewest`` to :data:`MORE_TRIALS` times as many.
    """
    if not trials:
        return fewest
    rows, _unsure = _one_mode([np.array(row, dtype=float) for row in trials])
    free = sum(len(row) - 1 for row in rows)
    scatter = sum(map(_squares, rows)) / max(1, free)
    return int(min(max(fewest, np.ceil(scatter / error**2)), MORE_TRIALS * fewest))


def _usual(sums: np.ndarray, degrees: np.ndarray) -> tuple[float, float]:
    """Return the usual variance of a trial, and how many trials it counts for beside a profile's
    own.

    Few where profiles scatter more unequally than by chance (Smyth 2004: moments of the logarithms
    of variances).
    """
    logs = (
        np.log(np.maximum(sums / degrees, sums.max() * 1e-6))
        - special.digamma(degrees / 2)
        + np.log(degrees / 2)
    )
    excess = float(logs.var(ddof=1) if len(logs) > 1 else 0.0) - float(
        special.polygamma(1, degrees / 2).mean()
    )
    counts = min(
        USUAL_COUNTS, key=lambda found: abs(float(special.polygamma(1, found / 2)) - excess)
    )
    return float(np.exp(logs.mean() + special.digamma(counts / 2) - np.log(counts / 2))), counts


def _squares(row: np.ndarray) -> float:
    """Return the sum of the squares of what a visit's trials are off its mean."""
    return float(((row - row.mean()) ** 2).sum())


def _upper(row: np.ndarray) -> np.ndarray:
    """Return which trials of a visit are in the upper mode."""
    return row > (row.max() + row.min()) / 2


def _gap(row: np.ndarray) -> float:
    upper = _upper(row)
    return float(row[upper].mean() - row[~upper].mean())


def _one_mode(rows: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the trials as if they were all in one mode, and the variance that is left of that in
    each visit.

    Where throughput jumps between two modes, the same distance apart at every visit, each trial is
    moved half of that towards the other mode. A visit whose trials are all in the same mode does
    not show which.
    """
    none = np.zeros(len(rows))
    ranges = np.array([np.ptp(row) for row in rows])
    split = ranges > ranges.max() / 2
    if max(map(len, rows)) < 3 or split.mean() < 0.5 or not ranges.max():
        return rows, none
    gaps = [_gap(row) for row, ours in zip(rows, split) if ours]
    gap = float(np.mean(gaps))
    moved = [row + gap / 2 - gap * _upper(row) if ours else row for row, ours in zip(rows, split)]
    free = sum(map(len, rows)) - len(rows) - int(split.sum())
    inside = sum(map(_squares, moved)) / max(1, free)
    if gap < APART * np.sqrt(inside):
        return rows, none
    return moved, np.where(split, 0.0, gap**2 / 4)
