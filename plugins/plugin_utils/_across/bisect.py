# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Binary search for the kernel with which a fault or a slowdown began. Pure.

A kernel is on the good side or on the bad side of the change. Where its measurement does not decide
that, it is measured again, and after MOST_MEASURED measurements it is left out, as git bisect skip
does. All decisions of a search share the chance LEVEL of a wrong range.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .._statistics import text
from .._statistics.libraries import np, stats

GOOD, BAD, UNKNOWN = "good", "bad", "not known"
LEVEL = 0.01  # the chance of a wrong range in a search
MOST_MEASURED = 3


def level_of(kernels: int) -> float:
    """Return the level of one decision in a search over this many kernels."""
    return LEVEL / (MOST_MEASURED * max(1, math.ceil(math.log2(max(2, kernels)))))


class Samples(NamedTuple):
    """An effect by block under a kernel and under both ends, logarithms."""

    kernel: np.ndarray
    good: np.ndarray
    bad: np.ndarray


def side_by_effect(samples: Samples, level: float) -> str:
    """Return on which side of the middle between both ends an effect is, by Welch's t."""
    kernel, good, bad = (part[~np.isnan(part)] for part in samples)
    if min(map(len, (kernel, good, bad))) < 2:
        return UNKNOWN
    middle = (good.mean() + bad.mean()) / 2
    parts = [
        (part.var(ddof=1) / len(part) * weight, len(part) - 1)
        for part, weight in ((kernel, 1), (good, 0.25), (bad, 0.25))
    ]
    variance = sum(share for share, _degrees in parts)
    distance = float(kernel.mean() - middle)
    if variance > 0:
        degrees = variance**2 / sum(share**2 / freedom for share, freedom in parts)
        if stats.t.sf(abs(distance) / math.sqrt(variance), degrees) > level:
            return UNKNOWN
    return BAD if distance * (bad.mean() - good.mean()) > 0 else GOOD


class Counted(NamedTuple):
    """Checks of the payload on a path: trials, trials in trouble, and whether that is a fault."""

    trials: int
    troubled: int
    broken: bool


def side_by_payload(kernel: Counted, bad: Counted, level: float) -> str:
    """Return on which side a kernel is. A clean kernel is good where the bad end's fault would have been seen."""
    if kernel.broken:
        return BAD
    if kernel.troubled or not kernel.trials or not bad.troubled:
        return UNKNOWN
    rarest = stats.beta.ppf(level, bad.troubled, bad.trials - bad.troubled + 1)
    return GOOD if (1 - rarest) ** kernel.trials <= level else UNKNOWN


class Range(NamedTuple):
    """The last kernel on the good side, the first on the bad side, and the kernels in between."""

    good: str
    bad: str
    between: list[str]


def range_of(kernels: Sequence[str], sides: Mapping[str, str]) -> Range:
    """Return where the change is, as far as that is known; the first and last kernel are the ends."""
    last = min(number for number, name in enumerate(kernels) if sides.get(name) == BAD)
    first = max(number for number, name in enumerate(kernels[:last]) if sides.get(name) == GOOD)
    return Range(kernels[first], kernels[last], list(kernels[first + 1 : last]))


def next_kernel(
    kernels: Sequence[str], sides: Mapping[str, str], left_out: Collection[str]
) -> str | None:
    """Return the kernel to measure next; None at the end of the search."""
    ends = range_of(kernels, sides)
    candidates = [name for name in ends.between if name not in left_out]
    middle = (kernels.index(ends.good) + kernels.index(ends.bad)) / 2
    return min(candidates, key=lambda name: abs(kernels.index(name) - middle), default=None)


def entries_between(older: str, newer: str) -> list[str]:
    """Return the entries of a Debian changelog that an older one lacks."""
    old_titles = {entry.partition("\n")[0] for entry in _entries(older)}
    return [entry for entry in _entries(newer) if entry.partition("\n")[0] not in old_titles]


def _entries(changelog: str) -> list[str]:
    """Return the entries of a changelog. An entry begins in the first column."""
    entries: list[str] = []
    for row in changelog.splitlines():
        if row[:1].strip() and not row.startswith("--"):
            entries.append(row)
        elif entries:
            entries[-1] += f"\n{row}"
    return [entry.rstrip() for entry in entries]


def sentences(ends: Range, decided: int, of: int) -> list[str]:
    """Return what the search ends."""
    where = f"The change is after {ends.good} and not after {ends.bad}"
    rows = [f"{where}; {decided} of {text.count(of, 'kernel')} decided."]
    if ends.between:
        rows.append(f"Not decided: {', '.join(ends.between)}.")
    return rows
