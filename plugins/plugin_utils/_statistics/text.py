# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers and sentences of a report.

Pure: values in, text out, the same for HTML, Markdown and the console.

Arrays as numbers of a document: six digits, ratios of logarithms, quartiles.
"""

from __future__ import annotations

import math
from typing import Any, Iterable

from .libraries import np

NONE = "–"  # a value that is not there
SAME = "~"  # no difference that matters
UNTESTED = "?"  # not known: neither a difference nor that there is none was shown


# From which size on a number has how many digits behind the point.
DIGITS = ((1000, 0), (100, 1), (1, 2), (0, 3))
QUARTERS = (0.25, 0.5, 0.75)
SIGNIFICANT = 6  # digits; further ones differ between machines, not between measurements


def number(value: float | None) -> str:
    """Return a number with three to four digits; thousands are grouped from 10,000 on."""
    if value is None or not math.isfinite(value):
        return NONE
    size = abs(value)
    if size >= 10000:
        return f"{value:,.0f}"
    digits = next(digits for least, digits in DIGITS if size >= least)
    return f"{value:.{digits}f}"


def ratio(value: float | None) -> str:
    """Return a ratio with as many decimals as its distance from 1 needs."""
    if value is None or not math.isfinite(value) or value <= 0:
        return NONE
    return f"{value:.{3 if abs(math.log(value)) < 0.05 else 2}f}"


def effect(value: float | None, outcome: str) -> str:
    """Return an effect as printed: its ratio, ~ where there is no difference that matters, with ?
    where unknown.
    """
    if outcome == "same":
        return SAME
    return ratio(value) + (UNTESTED if outcome == "unknown" and value else "")


def distance(value: float | None) -> float:
    """Return how far a ratio is from 1, as a logarithm without a sign; 0 where it is not known."""
    return abs(math.log(value)) if value else 0.0


def interval(low: float | None, high: float | None) -> str:
    """Return ``low to high`` as ratios, or a dash where there is no interval."""
    if low is None or high is None:
        return NONE
    digits = 3 if max(abs(math.log(low)), abs(math.log(high))) < 0.05 else 2
    return f"{low:.{digits}f} to {high:.{digits}f}"


def spread(low: float | None, high: float | None) -> str:
    """Return the middle half of some values, ``3980 – 4600``, or nothing."""
    return f"{number(low)} – {number(high)}" if low is not None else ""


def percent(value: float) -> str:
    """Return a ratio's distance from 1 as a percentage without a sign: 1.084 → ``8.4 %``."""
    distance = abs(value - 1) * 100
    return f"{distance:.{0 if distance >= 10 else 1}f} %"


def size(value: float) -> str:
    """Return the size of an effect that has no direction, a ratio above 1: ``8.4 %``, ``a factor of
    2.3``.
    """
    return percent(value) if value < 2 else f"a factor of {value:.1f}"


def change(value: float) -> str:
    """Return a ratio in words: ``84 % more``, ``12 % less``, from 2 on ``2.40 times as much``."""
    if value >= 2:
        return f"{value:.2f} times as much"
    return f"{percent(value)} {'more' if value >= 1 else 'less'}"


def p_value(value: float | None) -> str:
    """Return a p value as text: three decimals, never 0."""
    if value is None:
        return NONE
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def seconds(value: float | None) -> str:
    """Return a length of time: ``45 s``, ``12 min``, ``3.5 h``."""
    if value is None:
        return NONE
    if value < 90:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"


def count(number_of: int, singular: str, plural: str | None = None) -> str:
    """Return ``1 block``, ``6 blocks``."""
    return f"{number_of:,} {singular if number_of == 1 else plural or singular + 's'}"


def listed(items: Iterable[str], last: str = "and") -> str:
    """Return ``a, b and c``."""
    items = list(items)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def sentence(phrase: str) -> str:
    """Return words with a capital at the beginning; a unit or a name with capitals stays unchanged."""
    return phrase[:1].upper() + phrase[1:]


def too_few_blocks(blocks: int, fewest: int) -> str:
    """Return the warning that a campaign has too few blocks for a test."""
    return f"{blocks} block{'s give' if blocks != 1 else ' gives'} no test: {fewest} are needed"


def shortened(values: Any) -> Any:
    """Return numbers, or an array of them as lists, rounded to six digits; None for NaN."""
    values = np.asarray(values, dtype=float)
    size = np.floor(np.log10(np.abs(values), out=np.zeros(values.shape), where=np.abs(values) > 0))
    places = np.nan_to_num(SIGNIFICANT - 1 - size)
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
