# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings, or pairs of settings, are associated with payload in trouble. Pure.

Trials are counted, not messages: the messages of one trial share its fate. Fisher's exact test,
one-sided, compares the trials under each condition, such as TSO on, with all others. The strongest
condition is named, the profiles that it explains are set aside, and the rest is tested again. So
two unrelated faults are both found. The tests of a report share its 5 % (Bonferroni).

The hops of a campaign that varies a setting at each class of devices and at each end separately,
and the settings that must be on for each hop to break. Pure.

Work that a device leaves undone, such as a checksum, is done by the last device that the packet
meets, or by the first device whose offload is off. So an offload of sent packets breaks at a hop
only while it is on there and at all hops before. An offload of received packets breaks while it is
on there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .._campaign.nouns import AS_FOUND, Factor, Levels, Plan
from .._paths.path import UNDERLAY
from .._statistics.rules import ALPHA
from .._statistics.signflip import fisher_greater
from .._trials.payload import Tally
from .result import Blame, Hop, Trials

OF_SINGLES = 0.8  # of the 5 %: pairs are many, and seldom to blame
SHARPER = 0.01  # for an additional setting, after the first one is named: the cure is right without it, too
Condition = tuple[tuple[str, bool], ...]  # (factor, is it on?): one, or two that act together
# The node receives by a tenant's port what the tenant sends: that port sends to the tenant alone.
ON_THE_WAY_OUT = ("host", "tenant", "tunnel", UNDERLAY)


class Explanation(NamedTuple):
    """A hop, and what has to be on for it to break."""

    hop: Hop
    condition: dict[str, bool]  # the hop's own factor first


def _is_on_the_way_out(factor: Factor) -> bool:
    return factor["devices"][0] in ON_THE_WAY_OUT


def _rank(factor: Factor) -> int:
    """Return the place of a hop on the way out; hops that are not on it come first."""
    return ON_THE_WAY_OUT.index(factor["devices"][0]) if _is_on_the_way_out(factor) else -1


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


def explanations(chain: list[Factor]) -> list[Explanation]:
    """Return the hops of one end at which a setting can break."""
    hops: list[Explanation] = []
    before: list[str] = []
    for factor in chain:
        hop = Hop(tuple(factor["settings"]), factor["sides"][0], factor["devices"][0])
        hops.append(Explanation(hop, {factor["name"]: True}))
        if not _is_on_the_way_out(factor):
            continue
        before.insert(0, factor["name"])
        if len(before) > 1:
            hops.append(Explanation(hop, dict.fromkeys(before, True)))
    return hops


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
    conditions = [tuple(explanation.condition.items()) for explanation in hops]
    return conditions or [((factor["name"], True),) for factor in plan["factors"]]


def pairs(plan: Plan) -> list[Condition]:
    """Return the conditions of two settings: one is on, the other is on, too, or off."""
    names = [factor["name"] for factor in plan["factors"]]
    conditions: list[Condition] = [
        ((first, True), (second, True)) for first, second in itertools.combinations(names, 2)
    ]
    for first, second in itertools.permutations(names, 2):
        conditions.append(((first, True), (second, False)))
    return conditions


def trials_of(tallies: Iterable[Tally]) -> Trials:
    """Return the sum of tallies."""
    listed = list(tallies)
    return Trials(
        trials=sum(tally["trials"] for tally in listed),
        troubled=sum(tally["troubled"] for tally in listed),
    )


def compared(first: Trials, second: Trials) -> float:
    """Return the p value that ``first`` has a larger share of trials in trouble than ``second``."""
    return fisher_greater(first.troubled, first.trials, second.troubled, second.trials)


def number_of_tests(under: Iterable[Iterable[str]], profiles: Iterable[str]) -> int:
    """Return how many different tests there are; ``under`` has the profiles under each condition.

    No profile, or all of them, is no test.
    """
    return len({*map(frozenset, under)} - {frozenset(), frozenset(profiles)})


class BlameSearch:
    """The search of one place: ``here`` are its tallies by profile, ``share`` is what it may use of
    the report's 5 %.
    """

    def __init__(self, plan: Plan, profiles: Mapping[str, Tally], share: float) -> None:
        self.plan = plan
        self.tallies = dict(profiles)
        self.level = ALPHA * share

    def found(self) -> list[Blame]:
        """Return what is to blame, in the order in which it was found."""
        blames: list[Blame] = []
        blame = self._next()
        while blame:
            blames.append(blame)
            self.tallies = {
                name: tally
                for name, tally in self.tallies.items()
                if not self._under(blame.settings, name)
            }
            blame = self._next()
        return blames

    def as_found(self) -> list[Blame]:
        """Return whether the state as found is to blame, compared with all profiles."""
        return list(filter(None, [self._shown([((AS_FOUND, True),)], self.tallies, self.level)]))

    def _next(self) -> Blame | None:
        blame = self._shown(singles(self.plan), self.tallies, OF_SINGLES * self.level)
        if blame:
            return self._sharper(blame) if len(blame.settings) == 1 else blame
        return self._shown(pairs(self.plan), self.tallies, (1 - OF_SINGLES) * self.level)

    def _sharper(self, blame: Blame) -> Blame:
        """Return a condition with a second setting, where that alone explains the trouble under the
        first; else the first.
        """
        under = {
            name: tally for name, tally in self.tallies.items() if self._under(blame.settings, name)
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
        return self._blame(both, self.tallies) or blame

    def _under(self, condition: Mapping[str, bool], profile: str) -> bool:
        if AS_FOUND in condition:
            return profile == AS_FOUND
        return holds(self.plan, condition, self.plan["profiles"][profile]["levels"])

    def _shown(
        self, conditions: Iterable[Condition], profiles: Mapping[str, Tally], level: float
    ) -> Blame | None:
        """Return the strongest of these conditions, if it is shown at this level. All tests share the
        level. Conditions are one test if the same profiles are under them.
        """
        conditions = list(conditions)
        blames = list(filter(None, (self._blame(condition, profiles) for condition in conditions)))
        best = min(blames, key=lambda blame: blame.p, default=None)
        under = [self._names_under(condition, profiles) for condition in conditions]
        return best if best and best.p <= level / number_of_tests(under, profiles) else None

    def _names_under(self, condition: Condition, profiles: Iterable[str]) -> list[str]:
        settings = dict(condition)
        return [name for name in profiles if self._under(settings, name)]

    def _blame(self, condition: Condition, profiles: Mapping[str, Tally]) -> Blame | None:
        """Return a condition with its trials; None where profiles are all under it, or none."""
        settings = dict(condition)
        under = [tally for name, tally in profiles.items() if self._under(settings, name)]
        without = [tally for name, tally in profiles.items() if not self._under(settings, name)]
        if not under or not without:
            return None
        kinds: dict[str, int] = {}
        for tally in under:
            for kind, count in tally["kinds"].items():
                kinds[kind] = kinds.get(kind, 0) + count
        trials_under = trials_of(under)
        trials_without = trials_of(without)
        return Blame(
            settings=settings,
            under=trials_under,
            without=trials_without,
            kind=max(kinds, key=lambda kind: kinds[kind], default=""),
            p=compared(trials_under, trials_without) if trials_under.troubled else 1.0,
        )
