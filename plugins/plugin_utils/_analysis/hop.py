# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""At which hop a setting breaks, of a campaign that varies it at each hop by itself. Pure.

Each hop explains the trials (:mod:`.chains`) so well as its condition parts those in trouble from the others;
the likeliest one is named, with those that are not much less likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from .._campaign.nouns import Factor, Plan
from .._trials.payload import Tally
from .blame import ALPHA, Trials, compared, holds
from .chains import Hop, chains, explanations

MUCH_LESS = math.log(20)


def _log_likelihood(part: Trials) -> float:
    """Return that of so many trials in trouble, under their own rate."""
    troubled = part["troubled"]
    trials = part["trials"]
    clean = trials - troubled
    if not troubled or not clean:
        return 0.0
    return troubled * math.log(troubled / trials) + clean * math.log(clean / trials)


def _rate(part: Trials) -> float:
    return part["troubled"] / part["trials"] if part["trials"] else 0.0


def _seen(tally: Tally, kind: str) -> int:
    """Return in how many trials one kind of trouble was seen, or of what a network may do by itself."""
    return {**tally["lesser"], **tally["kinds"]}.get(kind, 0)


def _trials(here: Mapping[str, Tally], names: Iterable[str], kind: str) -> Trials:
    """Return the trials of these profiles, and those that were in one kind of trouble."""
    trials = sum(here[name]["trials"] for name in names)
    return {"trials": trials, "troubled": sum(_seen(here[name], kind) for name in names)}


def _parts(
    plan: Plan, condition: Mapping[str, bool], here: Mapping[str, Tally], kind: str
) -> tuple[Trials, Trials]:
    """Return the trials under a condition, and those without it."""
    inside = [name for name in here if holds(plan, condition, plan["profiles"][name]["levels"])]
    return _trials(here, inside, kind), _trials(here, here.keys() - set(inside), kind)


def _of_chain(plan: Plan, chain: list[Factor], here: Mapping[str, Tally], kind: str) -> list[Hop]:
    """Return the likeliest hop of one end, and those that are not much less likely; none where
    nothing breaks there.
    """
    scores: dict[Hop, float] = {}
    sure = False
    for hop, condition in explanations(chain):
        under, without = _parts(plan, condition, here, kind)
        if _rate(under) <= _rate(without):
            continue
        score = _log_likelihood(under) + _log_likelihood(without)
        scores[hop] = max(scores.get(hop, -math.inf), score)
        sure = sure or compared(under, without) <= ALPHA / len(chain)
    if not sure:
        return []
    highest = max(scores.values())
    near = [hop for hop, score in scores.items() if score > highest - MUCH_LESS]
    return sorted(near, key=lambda hop: -scores[hop])


def likeliest(plan: Plan, here: Mapping[str, Tally], kind: str) -> list[list[Hop]]:
    """Return for each end at which a setting breaks the likeliest hop, and those that are not much
    less likely.

    ``here`` are the tallies of one path by profile, ``kind`` is the trouble. Of each end the trials
    count in which nothing is on at the other one.
    """
    found: list[list[Hop]] = []
    every = chains(plan)
    for chain in every:
        own = {factor["name"] for factor in chain}
        rest = {factor["name"]: False for factor in plan["factors"] if factor["name"] not in own}
        alone = {
            name: tally
            for name, tally in here.items()
            if holds(plan, rest, plan["profiles"][name]["levels"])
        }
        found.append(_of_chain(plan, chain, alone, kind))
    return [hops for hops in found if hops]
