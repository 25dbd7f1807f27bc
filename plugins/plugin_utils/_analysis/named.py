# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interim test of a check of the payload: it ends when the fault of each troubled path is
named. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._campaign.nouns import Decided, Plan
from .._statistics.looks import Look
from .._trials.nouns import Trial
from .._trials.payload import Tallies, checks_of
from .blame import condition_text
from .cure import Place, at, blames_of


def decide(plan: Plan, trials: Iterable[Trial], look: Look, before: list[Decided]) -> Decided:
    """Return what an interim test decides, from the trials of its blocks; ``before`` are the
    earlier ones.
    """
    in_time = (trial for trial in trials if trial["block"] <= look["block"])
    tallies = checks_of(in_time).planned
    blames = blames_of({**plan, "looked": before}, tallies)
    unexplained = [place for place in blames if not blames[place] and _troubled(tallies, place)]
    conditions: set[str] = set()
    for blamed in blames.values():
        conditions.update(condition_text(blame["settings"]) for blame in blamed)
    return {
        "block": look["block"],
        "alpha": look["alpha"],
        "settled": [],
        "answered": bool(conditions) and not unexplained,
        "open": {},
        "named": sorted(conditions),
    }


def _troubled(tallies: Tallies, place: Place) -> bool:
    """Return whether a trial of a path was in trouble."""
    return any(tally["troubled"] for tally in at(tallies, place).values())
