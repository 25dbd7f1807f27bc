# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact statements about counts, by functions of scipy.special: a report and an interim test would
spend more time on the import of scipy.stats than on all else. Pure.
"""

from __future__ import annotations

from .libraries import np, special


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
