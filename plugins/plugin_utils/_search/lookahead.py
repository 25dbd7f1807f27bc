# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which combination to visit next: the one after which a good one is most likely to be known. Pure.

A visit is simulated in many draws of the posterior: each time the draws are weighted anew by what
it gave, and the combination that is then most likely to be good has that probability of being
right. The mean of these probabilities is what the visit is worth (knowledge gradient, Frazier,
Powell and Dayanik 2009).
"""

from __future__ import annotations

from .._statistics.libraries import np
from .model import Posterior

# combinations that are looked at, and draws in which the visit is simulated
CANDIDATES = 40
WORLDS = 48
LIKELY = 256  # combinations that may be called the best


def next_row(
    found: Posterior, rows: np.ndarray, best: int, matters: float, generator: np.random.Generator
) -> int:
    """Return the place of the row to visit next.

    Good is a row that is worse than the best one by at most ``matters``, a difference of
    logarithms.
    """
    values = found.coefficients @ rows.T
    good = values.max(axis=1, keepdims=True) - values <= matters
    if good[:, best].all():  # what is left to see is the best row itself
        return best
    good = good[:, np.argsort(-good.mean(axis=0))[:LIKELY]].astype(float)
    worlds = np.linspace(0, len(values) - 1, WORLDS).astype(int)
    off = generator.standard_normal((WORLDS, 1)) * np.sqrt(found.noise)
    known = found.memory * (found.coefficients @ found.last)
    worth = dict[int, float]()
    for place in _candidates(found, rows, best):
        expected = values[:, place] - known
        told = -((expected[worlds][:, None] + off - expected) ** 2) / (2 * found.noise)
        weights = np.exp(told - told.max(axis=1, keepdims=True))
        worth[place] = float(
            (weights @ good / weights.sum(axis=1, keepdims=True)).max(axis=1).mean()
        )
    return max(worth, key=worth.__getitem__)


def _candidates(found: Posterior, rows: np.ndarray, best: int) -> list[int]:
    """Return the places of the rows that say most about what beats the best one, by variances
    alone.

    The uncertain quantity is, for each draw, the difference between the best row and the row that
    is best in that draw, weighted by what is at stake. A visit removes a part of the variance of
    these differences. Each candidate is chosen as if those before it had been visited.
    """
    values = found.coefficients @ rows.T
    top = values.argmax(axis=1)
    places, drawn = np.unique(top, return_inverse=True)
    differences = rows[places] - rows[best]
    stakes = np.bincount(drawn, values[np.arange(len(values)), top] - values[:, best])
    covariance = np.cov(found.coefficients, rowvar=False)
    last = found.last
    chosen = list[int]()
    for _visit in range(min(CANDIDATES, len(rows))):
        new = rows - found.memory * last
        told = new @ covariance
        size = (told * new).sum(axis=1) + found.noise
        gain = (((told @ differences.T) ** 2) * stakes).sum(axis=1) / size
        gain[chosen] = -1.0  # each row once
        place = int(np.argmax(gain))
        chosen.append(place)
        covariance = covariance - np.outer(told[place], told[place]) / size[place]
        last = rows[place]
    return chosen
