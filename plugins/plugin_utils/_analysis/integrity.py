# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is an offload broken here? The verdict of each path, from what became of payload whose content is
known. Pure.

What is blamed is shown by exact tests, all of a report together at 5 % (:mod:`.blame`). What is
clean states its bounds, all of a report together at 95 %: which share of the messages may arrive
otherwise although none did, and which share of the trials may be in trouble, with each setting on
(Clopper and Pearson, 1934).
"""

from __future__ import annotations

from collections.abc import Mapping

from ...module_utils._engines.payload.result import Example, Size
from .._campaign.nouns import Plan
from .._campaign.profiles import AS_FOUND, MIXED, UNKNOWN
from .._statistics.exact import highest_share
from .._statistics.rules import ALPHA
from .._trials.payload import (
    LOSSES,
    Checks,
    Tally,
    corrupted_always,
    is_black_hole,
    joined_pings,
    joined_sizes,
)
from .blame import compared, holds, is_on, trials_of
from .cure import Place, at, blames_of, places_of, smallest, varied
from .result import AsFound, Blame, Bound, PathVerdict, Trials


def verdicts(plan: Plan, checks: Checks) -> list[PathVerdict]:
    """Return the verdict of each path and MTU of which the payload was checked.

    What a confirmation visits was chosen by what was known before: only where there was no other
    check is it tested.
    """
    blames = blames_of(plan, checks.planned or checks.fresh)
    whole = checks.whole()
    places = places_of(whole)
    level = ALPHA / max(1, 2 * len(places) * len(plan["factors"]))
    return [
        _verdict(plan, at(whole, place), place, blames.get(place, []), level) for place in places
    ]


def _verdict(
    plan: Plan, here: Mapping[str, Tally], place: Place, blames: list[Blame], level: float
) -> PathVerdict:
    cure = smallest(plan, blames)
    messages, lost = _messages(here)
    kinds, first = _worst(here)
    seen = trials_of(here.values())
    return PathVerdict(
        path=place[0],
        mtu=place[1],
        verdict="broken" if blames else _without_blame(plan, here),
        blames=blames,
        off=cure[0] if cure else [],
        trials=seen.trials,
        troubled=seen.troubled,
        messages=messages,
        lost=lost,
        bounds=_bounds(plan, here, level),
        kind=max(kinds, key=lambda kind: kinds[kind], default=""),
        first=first,
        sizes=_lost_sizes(here),
        pings=joined_pings([tally["whole"] for tally in here.values()]),
        as_found=_as_found(plan, here, blames),
        corrupted=corrupted_always(here.values()),
    )


def _as_found(plan: Plan, here: Mapping[str, Tally], blames: list[Blame]) -> AsFound | None:
    """Return what is known of the state as found.

    Where it differs from what is to blame in all of a setting, that is why it is clean. Where
    devices differ, fewer trials in trouble than under what is to blame must be shown.
    """
    if AS_FOUND not in here:
        return None
    levels = plan["profiles"][AS_FOUND]["levels"]
    mixed = [name for name, level in levels.items() if level == MIXED]
    seen = trials_of([here[AS_FOUND]])
    return AsFound(
        trials=seen.trials,
        troubled=seen.troubled,
        all_off=trials_of(here[name] for name in here if _is_all_off(plan, name)),
        off=[one["name"] for one in plan["factors"] if not is_on(one, levels)],
        mixed=mixed,
        cured=bool(blames) and all(_avoids(plan, blame, seen) for blame in blames),
    )


def _avoids(plan: Plan, blame: Blame, seen: Trials) -> bool:
    """Return whether the state as found is clean because it lacks what is to blame."""
    levels = plan["profiles"][AS_FOUND]["levels"]
    unclear = {MIXED, UNKNOWN}.intersection(levels.get(name, UNKNOWN) for name in blame.settings)
    if seen.troubled or AS_FOUND in blame.settings:
        return False
    if unclear:
        return compared(blame.under, seen) <= ALPHA
    return not holds(plan, blame.settings, levels)


def _without_blame(plan: Plan, here: Mapping[str, Tally]) -> str:
    if all(tally["troubled"] == 0 for tally in here.values()):
        return "clean"
    kinds, _first = _worst(here)
    if set(kinds) <= set(LOSSES):
        return "lossy"
    if all(2 * tally["troubled"] > tally["trials"] for tally in here.values()):
        return "broken without" if _has_all_off(plan, here) else "broken everywhere"
    return "suspect"


def _has_all_off(plan: Plan, here: Mapping[str, Tally]) -> bool:
    return any(_is_all_off(plan, name) for name in here)


def _is_all_off(plan: Plan, profile: str) -> bool:
    all_off = {factor["name"]: factor["levels"][0] for factor in plan["factors"]}
    return profile != AS_FOUND and plan["profiles"][profile]["levels"] == all_off


def _messages(here: Mapping[str, Tally]) -> tuple[int, int]:
    """Return how many messages were sent, and how many of them did not arrive as they were."""
    sent = lost = 0
    for tally in here.values():
        for check in tally["whole"]["checks"].values():
            sent += check["sent"]
            lost += check["wrong"] + check["short"] + check["missing"]
    return sent, lost


def _worst(here: Mapping[str, Tally]) -> tuple[dict[str, int], Example | None]:
    """Return what was wrong, and the smallest wrong message."""
    kinds = dict[str, int]()
    first = list[Example]()
    for tally in here.values():
        for kind, trials in tally["kinds"].items():
            kinds[kind] = kinds.get(kind, 0) + trials
        examples = [check["first"] for check in tally["whole"]["checks"].values()]
        first += filter(None, examples)
    return kinds, min(first, key=lambda example: example["size"], default=None)


def _bounds(plan: Plan, here: Mapping[str, Tally], level: float) -> list[Bound]:
    """Return the bounds of each setting that was on."""
    found: list[Bound] = []
    for factor in plan["factors"]:
        on = {
            name: tally
            for name, tally in varied(here).items()
            if is_on(factor, plan["profiles"][name]["levels"])
        }
        if on:
            trials = trials_of(on.values())
            messages, lost = _messages(on)
            found.append(
                Bound(
                    setting=factor["name"],
                    messages=highest_share(lost, messages, level),
                    trials=highest_share(trials.troubled, trials.trials, level),
                )
            )
    return found


def _lost_sizes(here: Mapping[str, Tally]) -> dict[str, Size]:
    """Return of each direction that loses packets of its MTU what it carries."""
    sizes = joined_sizes([tally["whole"] for tally in here.values()])
    return {name: size for name, size in sizes.items() if is_black_hole(size)}
