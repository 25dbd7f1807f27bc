# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where scatter comes from: what a block, a visit and a trial add to the logarithm of a value.
Pure.

A visit's share is what the residuals of its tables have in common, a trial's share what they have
not; a block's share is what its mean has beyond both (moments of the two-way fit of each table).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .effects import two_way
from .libraries import np, special

CHANCE = 0.01  # how often what has nothing to do with the values passes for a cause


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
