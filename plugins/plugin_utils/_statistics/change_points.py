# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change points of many series over the same campaigns: after which campaign did a quantity change?

All series are split together, at the largest contrast between before and after over all splits and
series. The p value comes from permuting the campaigns, all series together. So it contains the
scatter from day to day, and the chance of any false change is ALPHA for the whole family. Each part
is split again, with its share of ALPHA by its share of the campaigns. docs/decisions/history.md
says why.
"""

from __future__ import annotations

from typing import NamedTuple

from .effects import ALPHA, t_quantile
from .libraries import np

FEWEST = 8  # campaigns: with fewer no order of them is rare enough
SHORTEST = 2  # campaigns on either side: one alone might be a bad day
DRAWS = 1999
ROWS = 16  # series handled at once, to bound memory
TIE = 1 - 1e-9


class Change(NamedTuple):
    """A change: ``after`` is the first campaign after it; ``start`` and ``end`` bound the part that
    was split there.

    ``shown`` are the series in which it is shown, ``p`` belongs to the clearest one.
    """

    after: int
    start: int
    end: int
    p: float
    shown: list[int]


def contrasts(series: np.ndarray) -> np.ndarray:
    """Return the size of each split's contrast, (series, campaigns) to (series, splits): 0 to 1."""
    length = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    scaled = np.divide(centred, size, out=np.zeros(series.shape), where=size > 1e-12)
    before = np.arange(SHORTEST, length - SHORTEST + 1)
    return np.abs(np.cumsum(scaled, axis=-1)[..., before - 1]) * np.sqrt(
        length / (before * (length - before))
    )


def _largest_by_chance(series: np.ndarray) -> np.ndarray:
    """Return the largest contrast of all series, for the real order of the campaigns and for random
    orders.
    """
    generator = np.random.default_rng(20260105)
    orders = generator.permuted(np.tile(np.arange(series.shape[1]), (DRAWS, 1)), axis=1)
    orders = np.vstack([np.arange(series.shape[1]), orders])
    largest = np.zeros(len(orders))
    for start in range(0, len(series), ROWS):
        sizes = contrasts(series[start : start + ROWS][:, orders])
        largest = np.maximum(largest, sizes.max(axis=(0, 2)))
    return largest


def change_points(series: np.ndarray) -> list[Change]:
    """Return the changes in logarithms (series, campaigns without gaps), in the order of time."""
    campaigns = series.shape[1]
    changes: list[Change] = []
    parts = [(0, campaigns)]
    while parts:
        start, end = parts.pop()
        if end - start < FEWEST or not len(series):
            continue
        part = series[:, start:end]
        sizes = contrasts(part)
        chance = _largest_by_chance(part)
        split = int(sizes.max(axis=0).argmax())
        p = (chance[None, :] >= sizes[:, split, None] * TIE).mean(axis=1)
        shown = np.flatnonzero(p <= ALPHA * (end - start) / campaigns).tolist()
        if shown:
            middle = start + split + SHORTEST
            changes.append(Change(middle, start, end, float(p.min()), shown))
            parts += [(start, middle), (middle, end)]
    return sorted(changes)


def step(values: np.ndarray, change: Change) -> tuple[float, float, float]:
    """Return (mean, low, high) of what is after a change less what is before it, for one series of
    logarithms.
    """
    before = values[change.start : change.after]
    after = values[change.after : change.end]
    mean = after.mean() - before.mean()
    squares = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    freedom = len(before) + len(after) - 2
    half = t_quantile(0.975, freedom) * np.sqrt(
        squares / freedom * (1 / len(before) + 1 / len(after))
    )
    return mean, mean - half, mean + half
