# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a report calls a set of settings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .._campaign.nouns import Nominee, SearchStanding
from .._campaign.profiles import levels_of
from .._statistics import text

Factors = Mapping[str, Sequence[str]]  # the levels of each factor; the first is "off"


def set_name(name: str, levels: Mapping[str, str], factors: Factors) -> str:
    """Return how the report calls a set: by its name or, where that is shorter, by what is off:
    ``all_on but gso``.

    A name that a user gave stays.
    """
    on = {factor: levels_of_factor[-1] for factor, levels_of_factor in factors.items()}
    lacks = [
        factor if level == "off" else f"{factor}={level}"
        for factor, level in levels.items()
        if level != on.get(factor)
    ]
    short = f"all_on but {text.listed(lacks)}" if lacks else "all_on"
    generated = set(name.split(",")) <= {f"{factor}={level}" for factor, level in levels.items()}
    return short if generated and levels.keys() == on.keys() and len(short) < len(name) else name


def names_of_sets(
    factors: Factors,
    profiles: Mapping[str, Mapping[str, str]],
    standings: Iterable[SearchStanding | None],
    nominees: Iterable[Nominee],
) -> dict[str, str]:
    """Return how the report calls all profiles, and the sets that were predicted or nominated."""
    off = {factor: levels_of_factor[0] for factor, levels_of_factor in factors.items()}
    predicted = [standing["best"] for standing in standings if standing and standing["best"]]
    sets: dict[str, Mapping[str, str]] = {name: levels_of(name, off) for name in predicted}
    sets.update((nominee["name"], nominee["levels"]) for nominee in nominees)
    sets.update(profiles)
    return {name: set_name(name, levels, factors) for name, levels in sets.items()}
