# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hop at which a setting breaks, in a campaign that varies it at each hop separately. Pure.

A hop explains the trials as well as its condition separates the trials in trouble from the others
(:mod:`.blame`). The likeliest hop is named, with all that are not much less likely.

The interim test of a check of the payload: it ends when the fault of each troubled path is
named. A path on which each trial of each profile is in trouble has no fault to name. A check that
asks for the hop leaves out the end at which nothing breaks. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from .._campaign.interim import INTEGRITY, NAMED
from .._campaign.nouns import Decided, Factor, Levels, Plan
from .._statistics.looks import InterimTest
from .._statistics.rules import ALPHA
from .._trials.nouns import Trial
from .._trials.payload import NOTHING_PASSES, Tallies, Tally, checks_of, strike_often
from .blame import chains, compared, condition_text, explanations, holds, is_on, trials_of
from .cure import PathAndMtu, at, blames_of, places_of
from .result import Blame, Hop, Trials

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


def names_faults(plan: Plan) -> bool:
    """Return whether a campaign ends when its faults are named."""
    return plan.get("until") == NAMED or plan["design"] == INTEGRITY


def decide(
    plan: Plan, trials: Iterable[Trial], test: InterimTest, before: list[Decided]
) -> Decided:
    """Return what an interim test decides, from the trials of its blocks; ``before`` are the
    earlier ones.
    """
    in_time = (trial for trial in trials if trial["block"] <= test["block"])
    tallies = checks_of(in_time).planned
    blames = blames_of({**plan, "looked": before}, tallies)
    conditions: set[str] = set()
    for blamed in blames.values():
        conditions.update(condition_text(blame.settings) for blame in blamed)
    return {
        "block": test["block"],
        "alpha": test["alpha"],
        "settled": sorted(_needed_nowhere(plan, tallies)),
        "answered": _is_answered(plan, tallies, blames),
        "open": {},
        "named": sorted(conditions),
    }


def _is_answered(plan: Plan, tallies: Tallies, blames: Mapping[PathAndMtu, list[Blame]]) -> bool:
    """Return whether the fault of each troubled path is named, and there is one."""
    hopeless = [where for where in blames if _always_troubled(tallies, where)]
    if not (hopeless or any(blames.values())) or _unexplained(blames, tallies, hopeless):
        return False
    return all(_is_placed(plan, at(tallies, where), blames[where]) for where in blames)


def _unexplained(
    blames: Mapping[PathAndMtu, list[Blame]], tallies: Tallies, hopeless: list[PathAndMtu]
) -> list[PathAndMtu]:
    """Return the troubled paths whose fault is not named yet."""
    unnamed = [where for where in blames if not blames[where] and where not in hopeless]
    return [where for where in unnamed if _troubled(tallies, where)]


def _troubled(tallies: Tallies, where: PathAndMtu) -> bool:
    """Return whether a trial of a path was in trouble."""
    return any(tally["troubled"] for tally in at(tallies, where).values())


def _always_troubled(tallies: Tallies, where: PathAndMtu) -> bool:
    """Return whether each trial of a path was in trouble, with all off, too."""
    return all(tally["troubled"] == tally["trials"] for tally in at(tallies, where).values())


def _needed_nowhere(plan: Plan, tallies: Tallies) -> set[str]:
    """Return the profiles that add nothing on any path: the profiles of an end at which nothing
    breaks.
    """
    left_out = [
        set[str]().union(*innocent(plan, at(tallies, where))) for where in places_of(tallies)
    ]
    return set.intersection(*left_out) if left_out else set()


def _is_placed(plan: Plan, profiles: Mapping[str, Tally], blames: list[Blame]) -> bool:
    """Return whether at each end of a path one hop is named, or nothing breaks. A campaign that does not
    ask for the hop has no ends.
    """
    ends = chains(plan)
    if not blames or not ends:
        return True
    hops = likeliest(plan, profiles, blames[0].kind)
    named = [near for near in hops if len(near) == 1]
    return len(named) + len(innocent(plan, profiles)) == len(ends)
