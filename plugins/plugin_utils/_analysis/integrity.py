# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is an offload broken here? The verdict of each path, from what became of payload whose content is
known. Pure.

Trials are counted, not messages: those of one trial share its fate. Two profiles that differ in one
setting alone are compared by Fisher's exact test, one-sided; all comparisons of a report together
claim falsely in 5 % at most (Holm, 1979).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypedDict

from ...module_utils._engines.payload.result import Example
from .._campaign.nouns import Plan
from .._statistics.libraries import stats
from .._trials.payload import Tally

ALPHA = 0.05
Place = tuple[str, int]  # path, MTU
Tallies = Mapping[tuple[str, int, str], Tally]  # by path, MTU and profile


class Contrast(TypedDict):
    """Two profiles that differ in one setting alone."""

    factor: str
    with_it: str  # the profile in which it is on
    without: str
    p: float


class PathVerdict(TypedDict):
    """What the payload says of one path."""

    path: str
    mtu: int
    verdict: str  # broken, broken without, suspect, clean
    guilty: list[Contrast]  # the settings to switch off
    trials: int
    messages: int
    bound: float  # the share of messages that may be wrong although none was, at 95 %
    kind: str  # what was wrong most often
    first: Example | None  # the smallest message that was wrong


def _on(level: str) -> bool:
    return level != "off"


def comparisons(plan: Plan, tallies: Tallies, place: Place) -> Iterator[Contrast]:
    """Yield the pairs of profiles of one place that differ in one setting, on and off."""
    here = [name for path, mtu, name in tallies if (path, mtu) == place]
    for one in here:
        for other in here:
            levels, others = (plan["profiles"][name]["levels"] for name in (one, other))
            differing = [name for name in levels if levels[name] != others.get(name)]
            if len(differing) == 1 and _on(levels[differing[0]]) and not _on(others[differing[0]]):
                p = _p_value(tallies[(*place, one)], tallies[(*place, other)])
                yield {"factor": differing[0], "with_it": one, "without": other, "p": p}


def _p_value(one: Tally, other: Tally) -> float:
    table = [[tally["troubled"], tally["trials"] - tally["troubled"]] for tally in (one, other)]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def _claimed(found: list[tuple[Place, Contrast]]) -> list[tuple[Place, Contrast]]:
    """Return the comparisons that are shown, by Holm's step-down."""
    claimed: list[tuple[Place, Contrast]] = []
    ordered = sorted(found, key=lambda item: item[1]["p"])
    for number, item in enumerate(ordered):
        if item[1]["p"] > ALPHA / (len(ordered) - number):
            break
        claimed.append(item)
    return claimed


def _smallest_cure(plan: Plan, guilty: list[Contrast]) -> list[Contrast]:
    """Return the settings to switch off: not one that a guilty one needs, since off takes both."""
    names = {row["factor"] for row in guilty}
    needed: set[str] = set()
    for factor in plan["factors"]:
        if factor["name"] in names:
            needed.update(factor["needs"])
    best: dict[str, Contrast] = {}
    for row in guilty:
        if row["factor"] not in needed:
            known = best.setdefault(row["factor"], row)
            best[row["factor"]] = min(known, row, key=lambda item: item["p"])
    return list(best.values())


def verdicts(plan: Plan, tallies: Tallies) -> list[PathVerdict]:
    """Return the verdict of each path and MTU of which the payload was checked."""
    places = sorted({(path, mtu) for path, mtu, _profile in tallies})
    found = [(place, row) for place in places for row in comparisons(plan, tallies, place)]
    claimed = _claimed(found)
    return [
        _verdict(plan, tallies, place, [row for where, row in claimed if where == place])
        for place in places
    ]


def _verdict(plan: Plan, tallies: Tallies, place: Place, claimed: list[Contrast]) -> PathVerdict:
    here = {name: tally for (path, mtu, name), tally in tallies.items() if (path, mtu) == place}
    verdict = "suspect"
    if claimed:
        verdict = "broken"
    elif all(tally["troubled"] == 0 for tally in here.values()):
        verdict = "clean"
    elif all(2 * tally["troubled"] > tally["trials"] for tally in here.values()):
        verdict = "broken without"
    messages, kinds, first = _summed(here)
    return {
        "path": place[0],
        "mtu": place[1],
        "verdict": verdict,
        "guilty": _smallest_cure(plan, claimed),
        "trials": sum(tally["trials"] for tally in here.values()),
        "messages": messages,
        "bound": 1 - math.exp(math.log(ALPHA) / max(1, messages)),
        "kind": max(kinds, key=lambda kind: kinds[kind], default=""),
        "first": first,
    }


def _summed(here: Mapping[str, Tally]) -> tuple[int, dict[str, int], Example | None]:
    """Return the messages of all profiles, what was wrong, and the smallest wrong message."""
    messages, kinds = 0, dict[str, int]()
    first: Example | None = None
    for tally in here.values():
        for kind, trials in tally["kinds"].items():
            kinds[kind] = kinds.get(kind, 0) + trials
        for check in tally["whole"]["checks"].values():
            messages += check["sent"]
            example = check["first"]
            if example and (first is None or example["size"] < first["size"]):
                first = example
    return messages, kinds, first
