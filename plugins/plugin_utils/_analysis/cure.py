# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smallest cure: the fewest settings to switch off so that the payload arrives as it was sent.
Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .._campaign.factors import all_off, all_on
from .._campaign.nouns import AS_FOUND, Levels, Plan
from .._campaign.screen import within_reach
from .._statistics.looks import rest
from .._statistics.rules import ALPHA
from .._trials.payload import (
    LATE_CONNECTIONS,
    LESSER,
    NOTHING_PASSES,
    ONE_ROUND,
    Checks,
    Tallies,
    Tally,
    each_breaks_tcp,
    enough,
    of_lesser,
)
from .blame import BlameSearch, holds, is_on, trials_of
from .result import Blame, Trials

OF_TROUBLE = 0.8  # of the 5 %
OF_LESSER = 0.15  # for losses that a network may have without a fault
OF_AS_FOUND = 0.05  # for the state as found, where no setting explains the trouble
LATE_EACH = 0.25  # connections in a trial that needed a second SYN
MOST_TOGETHER = 6  # settings that a cure switches off, without the settings that need them
PathAndMtu = tuple[str, int]  # path, MTU


def places_of(tallies: Tallies) -> list[PathAndMtu]:
    """Return the paths and MTUs with a payload check."""
    return sorted({(path, mtu) for path, mtu, _profile in tallies})


def at(tallies: Tallies, where: PathAndMtu) -> dict[str, Tally]:
    """Return the tallies of one path and MTU by profile."""
    return {name: tally for (path, mtu, name), tally in tallies.items() if (path, mtu) == where}


def varied(profiles: Mapping[str, Tally]) -> dict[str, Tally]:
    """Return the tallies of the profiles that set each factor, so without the state as found."""
    return {name: tally for name, tally in profiles.items() if name != AS_FOUND}


def blames_of(plan: Plan, tallies: Tallies) -> dict[PathAndMtu, list[Blame]]:
    """Return the blames of each path and MTU: for trouble, or at least for lost and duplicated
    packets.
    """
    places = places_of(tallies)
    share = _level(plan) / ALPHA
    return {where: _blames(plan, at(tallies, where), share / len(places)) for where in places}


def _level(plan: Plan) -> float:
    """Return the level of this test: of the interim test that ended the campaign, of the next one,
    or the level that all of them leave for the end.
    """
    planned = plan.get("looks") or []
    decided = plan.get("looked") or []
    if decided and decided[-1]["answered"]:
        return decided[-1]["alpha"]
    return planned[len(decided)]["alpha"] if len(decided) < len(planned) else rest(planned)


def _blames(plan: Plan, all_profiles: Mapping[str, Tally], share: float) -> list[Blame]:
    """Return the blames of one path and MTU.

    A single packet that is lost is no trouble: busy CPUs lose one now and then. But a setting that
    is associated with such trials loses packets.
    """
    profiles = varied(all_profiles)
    blames = BlameSearch(plan, profiles, OF_TROUBLE * share).found()
    for sign in LESSER:
        if blames:
            break
        lesser = {name: of_lesser(tally, sign) for name, tally in profiles.items()}
        blames = BlameSearch(plan, lesser, OF_LESSER * share / len(LESSER)).found()
    return blames or BlameSearch(plan, all_profiles, OF_AS_FOUND * share).as_found()


def _without(plan: Plan, names: Iterable[str]) -> Levels:
    """Return all on, but for these and what needs them."""
    factors = plan["factors"]
    off = all_off(factors)
    return within_reach(factors, {**all_on(factors), **{name: off[name] for name in names}})


def _fewest_first(plan: Plan, names: list[str]) -> Iterator[tuple[list[str], Levels]]:
    """Yield the sets that may be switched off, those that leave most on first."""
    sets = []
    for count in range(min(len(names), MOST_TOGETHER) + 1):
        for off in itertools.combinations(names, count):
            sets.append((list(off), _without(plan, off)))

    def size(entry: tuple[list[str], Levels]) -> tuple[int, int]:
        levels = entry[1]
        return sum(not is_on(factor, levels) for factor in plan["factors"]), len(entry[0])

    yield from sorted(sets, key=size)


def smallest(plan: Plan, blames: Iterable[Blame]) -> tuple[list[str], Levels] | None:
    """Return the fewest settings to switch off so that nothing that is to blame is left."""
    conditions = [blame.settings for blame in blames]
    if not conditions:
        return None
    names = list(dict.fromkeys(itertools.chain.from_iterable(conditions)))
    names = [name for name in names if name != AS_FOUND]  # each profile cures that
    for off, levels in _fewest_first(plan, names):
        if not any(holds(plan, condition, levels) for condition in conditions):
            return off, levels
    return None


class Cure(NamedTuple):
    """What to switch off on the hosts, for all paths together."""

    off: list[str]  # settings
    levels: Levels
    profile: str | None  # that was visited with these levels
    checks: Trials  # of that profile, on the paths with a blame
    paths: list[str]  # on which something is to blame
    rate: float  # of the trials under the rarest blame that were in trouble
    uncut_too: bool  # whether packets are broken, too, that no device cuts
    of_tcp: bool  # whether TCP was in trouble wherever something was
    enough: float | None  # s: a check that shows the fault, where it strikes often


def _of_profile(checks: Checks, places: Iterable[PathAndMtu], profile: str | None) -> list[Tally]:
    """Return the checks of a profile at the places where it was visited."""
    visited = [at(checks.whole(), where) for where in places]
    return [profiles[profile] for profiles in visited if profile in profiles]


def _visited(plan: Plan, levels: Levels) -> str | None:
    """Return the first profile that is this combination, None where it was not planned."""
    for name, planned in plan["profiles"].items():
        if planned["levels"] == levels:
            return name
    return None


def cure_of(plan: Plan, checks: Checks, blames: Mapping[PathAndMtu, list[Blame]]) -> Cure | None:
    """Return the smallest cure of all that is to blame on any path; None where nothing is, or no
    set of these settings cures it.
    """
    blamed = list(itertools.chain.from_iterable(blames.values()))
    smallest_set = smallest(plan, blamed)
    if smallest_set is None:
        return None
    off, levels = smallest_set
    profile = _visited(plan, levels)
    ill = [where for where in blames if blames[where]]
    tallies = _of_profile(checks, ill, profile)
    nothing_passes = any(blame.kind in NOTHING_PASSES for blame in blamed)
    troubled = list(itertools.chain.from_iterable(_in_trouble(checks, where) for where in ill))
    return Cure(
        off=off,
        levels=levels,
        profile=profile,
        checks=trials_of(tallies),
        paths=list(dict.fromkeys(path for path, _mtu in ill)),
        rate=min(map(_rate, blamed)),
        uncut_too=nothing_passes
        or _strikes_small(troubled)
        or _strikes_uncut(plan, checks, blames),
        of_tcp=_break_tcp(troubled),
        enough=ONE_ROUND if nothing_passes else enough(troubled),
    )


def _in_trouble(checks: Checks, where: PathAndMtu) -> list[Tally]:
    """Return the checks of the profiles under which each trial at a place was in trouble."""
    profiles = at(checks.whole(), where).values()
    return [tally for tally in profiles if tally["troubled"] == tally["trials"]]


def _strikes_small(tallies: Sequence[Tally]) -> bool:
    """Return whether SYNs were lost, too: packets that no device cuts. A path that loses one now and
    then has fewer in a trial.
    """
    checks = [tally["whole"]["checks"].values() for tally in tallies]
    late = sum(check["late"] for check in itertools.chain.from_iterable(checks))
    return late >= max(LATE_CONNECTIONS, LATE_EACH * trials_of(tallies).trials)


def _strikes_uncut(plan: Plan, checks: Checks, blames: Mapping[PathAndMtu, list[Blame]]) -> bool:
    """Return whether TCP is in trouble, too, where a setting is on that is to blame and TSO is off at
    each device. False for a campaign that does not vary TSO.
    """
    cuts = {factor["name"]: False for factor in plan["factors"] if factor["settings"] == ["tso"]}
    if not cuts:
        return False
    tallies: list[Tally] = []
    for where, blamed in blames.items():
        profiles = varied(at(checks.planned, where))
        for blame in blamed:
            tallies += _under(plan, {**blame.settings, **cuts}, profiles)
    return _break_tcp(tallies)


def _break_tcp(tallies: Sequence[Tally]) -> bool:
    """Return whether there are trials, and TCP was in trouble in each of them."""
    return bool(tallies) and all(map(each_breaks_tcp, tallies))


def _under(plan: Plan, condition: Mapping[str, bool], profiles: Mapping[str, Tally]) -> list[Tally]:
    """Return the tallies of the profiles that are under a condition."""
    return [
        tally
        for name, tally in profiles.items()
        if holds(plan, condition, plan["profiles"][name]["levels"])
    ]


def _rate(blame: Blame) -> float:
    """Return the share of the trials under what is to blame that were in trouble."""
    return blame.under.troubled / max(1, blame.under.trials)
