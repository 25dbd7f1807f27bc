# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interim test of a check of the payload. The check ends when the fault of each troubled path is
named. A path on which each trial of each profile is in trouble has no fault to name. A check that
asks for the hop leaves out the end at which nothing breaks. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .._campaign.interim import INTEGRITY, NAMED
from .._campaign.nouns import Decided, Plan
from .._statistics.looks import InterimTest
from .._trials.nouns import Trial
from .._trials.payload import Tallies, Tally, checks_of
from .blame import chains, condition_text
from .cure import PathAndMtu, at, blames_of, places_of
from .hop import innocent, likeliest
from .result import Blame


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
