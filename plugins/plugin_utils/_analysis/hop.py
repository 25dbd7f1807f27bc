# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hop at which a setting breaks, in a campaign that varies it at each hop separately. Pure.

A hop explains the trials as well as its condition separates the trials in trouble from the others
(:mod:`.blame`). The likeliest hop is named, with all that are not much less likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from .._campaign.nouns import Factor, Levels, Plan
from .._statistics.rules import ALPHA
from .._trials.payload import NOTHING_PASSES, Tally, strike_often
from .blame import chains, compared, explanations, holds, is_on, trials_of
from .result import Hop, Trials

MUCH_LESS = math.log(20)
# What is assumed at most of the share of trials that a fault strikes, unless nothing passes under it
# or each trial met many.
HIGHEST_RATE = 0.9


def _log_likelihood(part: Trials) -> float:
    """Return the log likelihood of the trials in trouble, at their observed rate."""
    troubled = part.troubled
    trials = part.trials
    clean = trials - troubled
    if not troubled or not clean:
        return 0.0
    return troubled * math.log(troubled / trials) + clean * math.log(clean / trials)


def _rate(part: Trials) -> float:
    return part.troubled / part.trials if part.trials else 0.0


def _seen(tally: Tally, kind: str) -> int:
    """Return the number of trials with one kind of trouble, or of loss that a network may have
    without a fault.
    """
    return {**tally["lesser"], **tally["kinds"]}.get(kind, 0)


def _trials(profiles: Mapping[str, Tally], names: Iterable[str], kind: str) -> Trials:
    """Return the trials of these profiles, and those that were in one kind of trouble."""
    trials = sum(profiles[name]["trials"] for name in names)
    return Trials(trials=trials, troubled=sum(_seen(profiles[name], kind) for name in names))


def _parts(
    plan: Plan, condition: Mapping[str, bool], profiles: Mapping[str, Tally], kind: str
) -> tuple[Trials, Trials]:
    """Return the trials under a condition, and those without it."""
    inside = [name for name in profiles if holds(plan, condition, plan["profiles"][name]["levels"])]
    return _trials(profiles, inside, kind), _trials(profiles, profiles.keys() - set(inside), kind)


def _of_chain(
    plan: Plan, chain: list[Factor], profiles: Mapping[str, Tally], kind: str
) -> list[Hop]:
    """Return the likeliest hop of one end, and those that are not much less likely; none where
    nothing breaks there.
    """
    scores: dict[Hop, float] = {}
    sure = False
    for hop, condition in explanations(chain):
        under, without = _parts(plan, condition, profiles, kind)
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


def likeliest(plan: Plan, profiles: Mapping[str, Tally], kind: str) -> list[list[Hop]]:
    """Return for each end at which a setting breaks the likeliest hop, and those that are not much
    less likely.

    ``profiles`` are the tallies of one path by profile, ``kind`` is the trouble. Of each end the trials
    count in which nothing is on at the other one.
    """
    by_chain = [
        _of_chain(plan, chain, _without_others(plan, chain, profiles), kind)
        for chain in chains(plan)
    ]
    return [hops for hops in by_chain if hops]


def _without_others(
    plan: Plan, chain: list[Factor], profiles: Mapping[str, Tally]
) -> dict[str, Tally]:
    """Return the tallies in which nothing is on but at the hops of one end."""
    hops = {factor["name"] for factor in chain}
    rest = {factor["name"]: False for factor in plan["factors"] if factor["name"] not in hops}
    return {
        name: tally
        for name, tally in profiles.items()
        if holds(plan, rest, plan["profiles"][name]["levels"])
    }


def innocent(plan: Plan, profiles: Mapping[str, Tally]) -> list[set[str]]:
    """Return the profiles of each end at which nothing breaks on a path; none before another end is
    in trouble.

    An end is innocent when a fault as frequent as the other end's would leave all its trials clean
    in at most 5 % of campaigns.
    """
    ends = [_End(plan, chain, profiles) for chain in chains(plan)]
    highest = max((end.rate for end in ends), default=0.0)
    clean = [end for end in ends if not end.troubled]
    return [end.profiles for end in clean if (1 - highest) ** end.all_on.trials <= ALPHA]


class _End:
    """The trials of one end, in which nothing is on at the other one."""

    def __init__(self, plan: Plan, chain: list[Factor], profiles: Mapping[str, Tally]) -> None:
        alone = _without_others(plan, chain, profiles)
        on = {name: _hops_on(chain, plan["profiles"][name]["levels"]) for name in alone}
        all_on = [alone[name] for name in alone if on[name] == len(chain)]
        self.profiles = {name for name in alone if on[name]}
        self.all_on = trials_of(all_on)
        self.troubled = any(alone[name]["troubled"] for name in self.profiles)
        self.rate = min(_highest_rate(all_on), _rate(self.all_on))


def _hops_on(chain: Iterable[Factor], levels: Levels) -> int:
    return sum(is_on(factor, levels) for factor in chain)


def _highest_rate(tallies: Sequence[Tally]) -> float:
    """Return the largest share of trials that a fault is taken to strike that was seen in these."""
    kinds = set().union(*(tally["kinds"] for tally in tallies))
    each = kinds <= set(NOTHING_PASSES) or strike_often(tallies)
    return 1.0 if each else HIGHEST_RATE
