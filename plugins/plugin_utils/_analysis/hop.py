# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""At which hop a setting breaks, of a campaign that varies it at each hop by itself. Pure.

What a device leaves to do, such as a checksum, is done by the last device that the packet meets, or
by the first one at which the offload is off. So an offload of a packet that is sent breaks at a hop
only while it is on there and at all hops before; one of a packet that is received, while it is on
there. Each hop explains the trials so well as its condition parts those in trouble from the others;
the likeliest one is named, with those that are not much less likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .._campaign.nouns import Factor, Plan
from .._paths.path import UNDERLAY
from .._trials.payload import Tally
from .blame import Trials, holds

ON_THE_WAY_OUT = ("host", "tenant", "tenant_port", "tunnel", UNDERLAY)
MUCH_LESS = math.log(20)


class Hop(NamedTuple):
    """A setting at one class of devices of one end."""

    settings: tuple[str, ...]
    side: str
    devices: str


class Explanation(NamedTuple):
    """A hop, and what has to be on for it to break."""

    hop: Hop
    condition: dict[str, bool]


def _rank(factor: Factor) -> int:
    name = factor["devices"][0]
    return ON_THE_WAY_OUT.index(name) if name in ON_THE_WAY_OUT else 0


def chains(plan: Plan) -> list[list[Factor]]:
    """Return the factors that are one setting at the hops of one end, in the order of a packet that
    is sent; none for a campaign that does not vary a setting at several hops.
    """
    by_end: dict[tuple[tuple[str, ...], str], list[Factor]] = {}
    for factor in plan["factors"]:
        if len(factor["devices"]) != 1 or len(factor["sides"]) != 1:
            return []
        by_end.setdefault((tuple(factor["settings"]), factor["sides"][0]), []).append(factor)
    if len(by_end) == len(plan["factors"]) and len({key[0] for key in by_end}) == len(by_end):
        return []
    return [sorted(factors, key=_rank) for factors in by_end.values()]


def explanations(plan: Plan) -> list[Explanation]:
    """Return all hops at which the settings of a campaign can break."""
    found: list[Explanation] = []
    for chain in chains(plan):
        for place, factor in enumerate(chain):
            hop = Hop(tuple(factor["settings"]), factor["sides"][0], factor["devices"][0])
            before = {one["name"]: True for one in chain[: place + 1]}
            found.append(Explanation(hop, before))
            if place:
                found.append(Explanation(hop, {factor["name"]: True}))
    return found


def _log_likelihood(part: Trials) -> float:
    """Return that of so many trials in trouble, under their own rate."""
    troubled, trials = part["troubled"], part["trials"]
    clean = trials - troubled
    if not troubled or not clean:
        return 0.0
    return troubled * math.log(troubled / trials) + clean * math.log(clean / trials)


def _rate(part: Trials) -> float:
    return part["troubled"] / part["trials"] if part["trials"] else 0.0


def _trials(here: Mapping[str, Tally], names: Iterable[str], kind: str) -> Trials:
    """Return the trials of these profiles, and those that were in one kind of trouble."""
    trials = sum(here[name]["trials"] for name in names)
    return {"trials": trials, "troubled": sum(here[name]["kinds"].get(kind, 0) for name in names)}


def _score(
    plan: Plan, condition: Mapping[str, bool], here: Mapping[str, Tally], kind: str
) -> float:
    """Return how well a condition explains the trials: the higher, the better."""
    inside = [name for name in here if holds(plan, condition, plan["profiles"][name]["levels"])]
    under = _trials(here, inside, kind)
    without = _trials(here, here.keys() - set(inside), kind)
    if _rate(under) <= _rate(without):
        return -math.inf
    return _log_likelihood(under) + _log_likelihood(without)


def likeliest(plan: Plan, here: Mapping[str, Tally], kind: str) -> list[Hop]:
    """Return the hop at which it breaks, and those that are not much less likely; none where the
    campaign does not tell. ``here`` are the tallies of one path by profile, ``kind`` is the trouble.
    """
    best: dict[Hop, float] = {}
    for hop, condition in explanations(plan):
        best[hop] = max(best.get(hop, -math.inf), _score(plan, condition, here, kind))
    return _not_much_less(best)


def _not_much_less(scores: Mapping[Hop, float]) -> list[Hop]:
    highest = max(scores.values(), default=-math.inf)
    if highest == -math.inf:
        return []
    near: Iterable[Hop] = (hop for hop, score in scores.items() if score > highest - MUCH_LESS)
    return sorted(near, key=lambda hop: -scores[hop])
