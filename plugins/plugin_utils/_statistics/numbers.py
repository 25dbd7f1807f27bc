# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays as numbers of a document: six significant digits, ratios of logarithms, quartiles."""

from __future__ import annotations

from typing import Any

from .libraries import np

QUARTERS = (0.25, 0.5, 0.75)
DIGITS = 6  # significant: what differs beyond them differs by machine, not by measurement


def shortened(values: Any) -> Any:
    """Return numbers, or an array of them as lists, with six significant digits; None for NaN."""
    values = np.asarray(values, dtype=float)
    size = np.floor(np.log10(np.abs(values), out=np.zeros(values.shape), where=np.abs(values) > 0))
    places = np.nan_to_num(DIGITS - 1 - size)
    up = 10.0 ** np.maximum(places, 0)
    down = 10.0 ** np.maximum(-places, 0)
    rounded: Any = np.where(np.isfinite(values), np.rint(values * up / down) / up * down, None)
    return rounded.tolist()


def ratios(logarithms: Any) -> Any:
    """Return the ratios of logarithms, shortened."""
    return shortened(np.exp(np.asarray(logarithms, dtype=float)))


def quartiles(values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return (n, q1, median, q3) over the last axis, NaN left out; numpy's nanquantile is a hundred
    times slower.
    """
    ordered = np.sort(values, axis=-1)  # NaN comes last
    n = (~np.isnan(ordered)).sum(axis=-1)
    of_quarters = np.full((len(QUARTERS), *n.shape), np.nan)
    for count in np.unique(n[n > 0]):
        of_quarters[:, n == count] = np.quantile(ordered[n == count][:, :count], QUARTERS, axis=-1)
    return (n, *of_quarters)
