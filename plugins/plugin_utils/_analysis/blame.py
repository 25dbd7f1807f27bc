# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings, or pairs of settings, go with payload in trouble. Pure.

Trials are counted, not messages: those of one trial share its fate. For each condition, such as TSO
on, the trials under it are compared with all others by Fisher's exact test, one-sided. The strongest
one is named, the profiles that it explains are set aside, and the rest is looked at again: so two
faults that have nothing to do with each other are both found. Tests of a report share its 5 %
(Bonferroni).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from .._campaign.nouns import Factor, Levels, Plan
from .._campaign.profiles import AS_FOUND
from .._statistics.exact import fisher_greater
from .._statistics.rules import ALPHA
from .._trials.payload import Tally
from .chains import chains, explanations
from .result import Blame, Trials

OF_SINGLES = 0.8  # of the 5 %: pairs are many, and seldom to blame
SHARPER = 0.01  # for a second setting beside one that is named: without it the cure is right, too
Condition = tuple[tuple[str, bool], ...]  # (factor, is it on?): one, or two that act together


def is_on(factor: Factor, levels: Mapping[str, str]) -> bool:
    """Return whether a factor is at another level than its first, which is off."""
    return levels[factor["name"]] != factor["levels"][0]


def condition_text(settings: Mapping[str, bool]) -> str:
    """Return a condition in words, such as ``tx on and tso off``."""
    if AS_FOUND in settings:
        return "the hosts as found"
    return " and ".join(f"{name} {'on' if on else 'off'}" for name, on in settings.items())


def holds(plan: Plan, condition: Mapping[str, bool], levels: Levels) -> bool:
    """Return whether a profile of these levels is under a condition. The state as found is none of
    them: other settings of the devices may differ.
    """
    if AS_FOUND in condition:
        return False
    factors = {factor["name"]: factor for factor in plan["factors"]}
    return all(is_on(factors[name], levels) == on for name, on in condition.items())


def singles(plan: Plan) -> list[Condition]:
    """Return the conditions of one setting. Where a campaign asks for the hop, they are those under
    which each hop breaks.
    """
    hops = itertools.chain.from_iterable(map(explanations, chains(plan)))
    conditions = [tuple(one.condition.items()) for one in hops]
    return conditions or [((factor["name"], True),) for factor in plan["factors"]]


def pairs(plan: Plan) -> list[Condition]:
    """Return the conditions of two settings: one is on, the other is on, too, or off."""
    names = [factor["name"] for factor in plan["factors"]]
    found: list[Condition] = [
        ((one, True), (other, True)) for one, other in itertools.combinations(names, 2)
    ]
    for one, other in itertools.permutations(names, 2):
        found.append(((one, True), (other, False)))
    return found


def trials_of(tallies: Iterable[Tally]) -> Trials:
    """Return the sum of tallies."""
    known = list(tallies)
    return Trials(
        trials=sum(tally["trials"] for tally in known),
        troubled=sum(tally["troubled"] for tally in known),
    )


def compared(one: Trials, other: Trials) -> float:
    """Return the chance that one has so many more trials in trouble than the other by chance."""
    return fisher_greater(one.troubled, one.trials, other.troubled, other.trials)


class BlameSearch:
    """The search of one place: ``here`` are its tallies by profile, ``share`` is what it may use of
    the report's 5 %.
    """

    def __init__(self, plan: Plan, here: Mapping[str, Tally], share: float) -> None:
        self.plan = plan
        self.here = dict(here)
        self.level = ALPHA * share

    def found(self) -> list[Blame]:
        """Return what is to blame, in the order in which it was found."""
        blames: list[Blame] = []
        blame = self._next()
        while blame:
            blames.append(blame)
            self.here = {
                name: tally
                for name, tally in self.here.items()
                if not self._under(blame.settings, name)
            }
            blame = self._next()
        return blames

    def as_found(self) -> list[Blame]:
        """Return whether the state as found is to blame, compared with all profiles."""
        return list(filter(None, [self._shown([((AS_FOUND, True),)], self.here, self.level)]))

    def _next(self) -> Blame | None:
        one = self._shown(singles(self.plan), self.here, OF_SINGLES * self.level)
        if one:
            return self._sharper(one) if len(one.settings) == 1 else one
        return self._shown(pairs(self.plan), self.here, (1 - OF_SINGLES) * self.level)

    def _sharper(self, blame: Blame) -> Blame:
        """Return a condition with a second setting, where that alone explains the trouble under the
        first; else the first.
        """
        under = {
            name: tally for name, tally in self.here.items() if self._under(blame.settings, name)
        }
        ((first, _on),) = blame.settings.items()
        more: list[Condition] = [
            ((factor["name"], on),)
            for factor in self.plan["factors"]
            for on in (True, False)
            if factor["name"] != first
        ]
        second = self._shown(more, under, SHARPER)
        if second is None:
            return blame
        both = tuple({**blame.settings, **second.settings}.items())
        return self._blame(both, self.here) or blame

    def _under(self, condition: Mapping[str, bool], profile: str) -> bool:
        if AS_FOUND in condition:
            return profile == AS_FOUND
        return holds(self.plan, condition, self.plan["profiles"][profile]["levels"])

    def _shown(
        self, conditions: Iterable[Condition], here: Mapping[str, Tally], level: float
    ) -> Blame | None:
        """Return the strongest of these conditions, if it is shown at this level; those that these
        profiles can tell apart share it.
        """
        blames = list(filter(None, (self._blame(condition, here) for condition in conditions)))
        best = min(blames, key=lambda blame: blame.p, default=None)
        return best if best and best.p <= level / len(blames) else None

    def _blame(self, condition: Condition, here: Mapping[str, Tally]) -> Blame | None:
        """Return a condition with its trials; None where profiles are all under it, or none."""
        settings = dict(condition)
        under = [tally for name, tally in here.items() if self._under(settings, name)]
        without = [tally for name, tally in here.items() if not self._under(settings, name)]
        if not under or not without:
            return None
        kinds: dict[str, int] = {}
        for tally in under:
            for kind, count in tally["kinds"].items():
                kinds[kind] = kinds.get(kind, 0) + count
        one = trials_of(under)
        other = trials_of(without)
        return Blame(
            settings=settings,
            under=one,
            without=other,
            kind=max(kinds, key=lambda kind: kinds[kind], default=""),
            p=compared(one, other) if one.troubled else 1.0,
        )
