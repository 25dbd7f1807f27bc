# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profiles that a design visits, and their control. Pure.

How a report calls a set of settings. Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...module_utils._base.errors import InputError
from .._statistics import text
from .factors import all_off, all_on, level_name
from .nouns import AS_FOUND, Campaign, Factor, Levels, Nominee, SearchStanding
from .screen import (
    first_visits,
    reachable,
    screen,
    with_needs,
    within_reach,
)

MOST_PROFILES = 256
Factors = Mapping[str, Sequence[str]]  # the levels of each factor; the first is "off"


def differing(levels: Mapping[str, str], base: Mapping[str, str]) -> Levels:
    """Return the levels in which a profile differs from the base."""
    return {factor: level for factor, level in levels.items() if level != base.get(factor)}


def named(levels: Mapping[str, str], base: Mapping[str, str]) -> str:
    """Name a profile by the levels in which it differs from the base."""
    return ",".join(f"{factor}={level}" for factor, level in differing(levels, base).items())


def levels_of(name: str, base: Mapping[str, str]) -> Levels:
    """Return the levels of a profile that :func:`named` named."""
    return {**base, **dict(item.split("=", 1) for item in name.split(",") if "=" in item)}


def _one_by_one(factors: Iterable[Factor], base: Levels) -> Iterator[tuple[str, Levels]]:
    """Yield ``(name, levels)`` of all profiles that differ from the base in one factor."""
    for factor in factors:
        for level in factor["levels"]:
            if level != base[factor["name"]]:
                yield f"{factor['name']}={level}", {**base, factor["name"]: level}


def _all_combinations(factors: Sequence[Factor], base: Levels) -> Iterator[tuple[str, Levels]]:
    for combination in itertools.product(*(factor["levels"] for factor in factors)):
        levels = dict(zip((factor["name"] for factor in factors), combination))
        if reachable(factors, levels):
            yield named(levels, base) or "all_off", levels


def _one_left_out(factors: Sequence[Factor], on: Levels) -> Iterator[tuple[str, Levels]]:
    """Yield ``(name, levels)`` of all on without one factor.

    The kernel also switches off the features that need it.
    """
    for _name, levels in _one_by_one(factors, on):
        effective = within_reach(factors, levels)
        yield named(effective, on), effective


def _named_by_user(campaign: Campaign, base: Levels) -> Iterator[tuple[str, Levels]]:
    """Yield ``(name, levels)`` of each profile that the campaign lists."""
    levels_of_factor = {factor["name"]: factor["levels"] for factor in campaign["factors"]}
    for name, entry in campaign["profiles"].items():
        levels = {factor: level_name(level) for factor, level in entry.items()}
        for factor, level in levels.items():
            if level not in levels_of_factor.get(factor, ()):
                raise InputError(
                    f"{factor}={level} is not a level of any factor of the campaign",
                    f"profile {name}",
                    f"Add it to 'factors', or use one of {', '.join(levels_of_factor)}.",
                )
        levels = {**base, **levels}
        for factor, level in within_reach(campaign["factors"], levels).items():
            if level != levels[factor]:
                raise InputError(
                    f"no host can have {factor}={levels[factor]} here: what it needs is off",
                    f"profile {name}",
                    f"Add what {factor} needs to the profile, or leave {factor} out.",
                )
        yield name, levels


def profiles_of(campaign: Campaign) -> tuple[dict[str, Levels], str]:
    """Return the levels of each profile of a campaign, and the control."""
    factors = campaign["factors"]
    design = campaign["design"]
    off = all_off(factors)
    on = all_on(factors)
    if design == "leave_one_out":
        return {"all_on": on, **dict(_one_left_out(factors, on))}, "all_on"
    if design == "profiles":
        profiles = dict(_named_by_user(campaign, off))
        return profiles, campaign["control"] or next(iter(profiles))
    if design in ("screen", "search"):
        rows = (screen if design == "screen" else first_visits)(factors, campaign["seed"])
        return {named(levels, off) or "all_off": levels for levels in rows}, "all_off"
    return _with_all_off(campaign, off, on), "all_off"


def _both_ends(factors: Sequence[Factor], off: Levels, on: Levels) -> dict[str, Levels]:
    """Return the profiles of design integrity: all off, each factor alone with the factors that it
    needs, all on without each factor, and all on.

    Each factor is on in about half of them, so one fault hides another one least.
    """
    alone = [with_needs(factors, levels) for _name, levels in _one_by_one(factors, off)]
    without = [levels for _name, levels in _one_left_out(factors, on)]
    profiles: dict[str, Levels] = {"all_off": off}
    for levels in [*alone, *without]:
        if levels not in (*profiles.values(), on):
            profiles[named(levels, off)] = levels
    return {**profiles, "all_on": on}


def _with_all_off(campaign: Campaign, off: Levels, on: Levels) -> dict[str, Levels]:
    """Return the profiles of the designs whose control is all off."""
    design = campaign["design"]
    factors = campaign["factors"]
    if design == "one_at_a_time":
        return {"all_off": off, **dict(_one_by_one(factors, off))}
    if design == "integrity":
        as_found = {AS_FOUND: campaign["as_found"]} if "as_found" in campaign else {}
        return {**_both_ends(factors, off, on), **as_found}
    if design == "full_factorial":
        return dict(itertools.islice(_all_combinations(factors, off), MOST_PROFILES + 1))
    return {"all_off": off, "all_on": on}


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
