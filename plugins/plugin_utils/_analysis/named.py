# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interim test of a check of the payload: it ends when the fault of each troubled path is
named. A path on which each trial of each profile is in trouble has no fault to name. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .._campaign.nouns import Decided, Plan
from .._statistics.looks import Look
from .._trials.nouns import Trial
from .._trials.payload import Tallies, checks_of
from .blame import Blame, condition_text
from .cure import Place, at, blames_of


def decide(plan: Plan, trials: Iterable[Trial], look: Look, before: list[Decided]) -> Decided:
    """Return what an interim test decides, from the trials of its blocks; ``before`` are the
    earlier ones.
    """
    in_time = (trial for trial in trials if trial["block"] <= look["block"])
    tallies = checks_of(in_time).planned
    blames = blames_of({**plan, "looked": before}, tallies)
    hopeless = [place for place in blames if _always_troubled(tallies, place)]
    conditions: set[str] = set()
    for blamed in blames.values():
        conditions.update(condition_text(blame["settings"]) for blame in blamed)
    return {
        "block": look["block"],
        "alpha": look["alpha"],
        "settled": [],
        "answered": bool(conditions or hopeless) and not _unexplained(blames, tallies, hopeless),
        "open": {},
        "named": sorted(conditions),
    }


def _unexplained(
    blames: Mapping[Place, list[Blame]], tallies: Tallies, hopeless: list[Place]
) -> list[Place]:
    """Return the troubled paths whose fault is not named yet."""
    unnamed = [place for place in blames if not blames[place] and place not in hopeless]
    return [place for place in unnamed if _troubled(tallies, place)]


def _troubled(tallies: Tallies, place: Place) -> bool:
    """Return whether a trial of a path was in trouble."""
    return any(tally["troubled"] for tally in at(tallies, place).values())


def _always_troubled(tallies: Tallies, place: Place) -> bool:
    """Return whether each trial of a path was in trouble, with all off, too."""
    return all(tally["troubled"] == tally["trials"] for tally in at(tallies, place).values())
