# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is an offload broken here? The payload verdict of each path, and its form in analysis.json. Pure.

What is blamed is shown by exact tests, all of a report together at 5 % (:mod:`.blame`). What is
clean states its bounds, all of a report together at 95 %: which share of the messages may arrive
otherwise although none did, and which share of the trials may be in trouble, with each setting on
(Clopper and Pearson, 1934).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._engines.payload.result import Example, Size
from .._campaign.factors import all_off
from .._campaign.nouns import AS_FOUND, MIXED, UNKNOWN, Plan
from .._campaign.plan_file import paths_of
from .._known_cases.known_cases import KnownCase, KnownHost, like
from .._statistics.rules import ALPHA
from .._statistics.signflip import highest_share
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
from .cure import PathAndMtu, at, blames_of, places_of, smallest, varied
from .hop import likeliest
from .result import (
    AsFound,
    Blame,
    Bound,
    Hop,
    NamedCure,
    PathFinding,
    PathVerdict,
    Reported,
    Trials,
)


def verdicts(plan: Plan, checks: Checks) -> list[PathVerdict]:
    """Return the verdict of each path and MTU with a payload check.

    A confirmation visits profiles that earlier results chose. It is tested only without any other
    check.
    """
    blames = blames_of(plan, checks.planned or checks.fresh)
    tallies = checks.whole()
    places = places_of(tallies)
    level = ALPHA / max(1, 2 * len(places) * len(plan["factors"]))
    return [
        _verdict(plan, at(tallies, where), where, blames.get(where, []), level) for where in places
    ]


def _verdict(
    plan: Plan, profiles: Mapping[str, Tally], where: PathAndMtu, blames: list[Blame], level: float
) -> PathVerdict:
    cure = smallest(plan, blames)
    messages, lost = _messages(profiles)
    kinds, first = _worst(profiles)
    trials = trials_of(profiles.values())
    return PathVerdict(
        path=where[0],
        mtu=where[1],
        verdict="broken" if blames else _without_blame(plan, profiles),
        blames=blames,
        off=cure[0] if cure else [],
        trials=trials.trials,
        troubled=trials.troubled,
        messages=messages,
        lost=lost,
        bounds=_bounds(plan, profiles, level),
        kind=max(kinds, key=lambda kind: kinds[kind], default=""),
        first=first,
        sizes=_lost_sizes(profiles),
        pings=joined_pings([tally["whole"] for tally in profiles.values()]),
        as_found=_as_found(plan, profiles, blames),
        corrupted=corrupted_always(profiles.values()),
    )


def _as_found(plan: Plan, profiles: Mapping[str, Tally], blames: list[Blame]) -> AsFound | None:
    """Return what is known of the state as found.

    Where it differs from what is to blame in all of a setting, that is why it is clean. Where
    devices differ, fewer trials in trouble than under what is to blame must be shown.
    """
    if AS_FOUND not in profiles:
        return None
    levels = plan["profiles"][AS_FOUND]["levels"]
    mixed = [name for name, level in levels.items() if level == MIXED]
    trials = trials_of([profiles[AS_FOUND]])
    return AsFound(
        trials=trials.trials,
        troubled=trials.troubled,
        all_off=trials_of(profiles[name] for name in profiles if _is_all_off(plan, name)),
        off=[factor["name"] for factor in plan["factors"] if not is_on(factor, levels)],
        mixed=mixed,
        cured=bool(blames) and all(_avoids(plan, blame, trials) for blame in blames),
    )


def _avoids(plan: Plan, blame: Blame, trials: Trials) -> bool:
    """Return whether the state as found is clean because it lacks what is to blame."""
    levels = plan["profiles"][AS_FOUND]["levels"]
    unclear = {MIXED, UNKNOWN}.intersection(levels.get(name, UNKNOWN) for name in blame.settings)
    if trials.troubled or AS_FOUND in blame.settings:
        return False
    if unclear:
        return compared(blame.under, trials) <= ALPHA
    return not holds(plan, blame.settings, levels)


def _without_blame(plan: Plan, profiles: Mapping[str, Tally]) -> str:
    if all(tally["troubled"] == 0 for tally in profiles.values()):
        return "clean"
    kinds, _first = _worst(profiles)
    if set(kinds) <= set(LOSSES):
        return "lossy"
    if all(2 * tally["troubled"] > tally["trials"] for tally in profiles.values()):
        return "broken without" if _has_all_off(plan, profiles) else "broken everywhere"
    return "suspect"


def _has_all_off(plan: Plan, profiles: Mapping[str, Tally]) -> bool:
    return any(_is_all_off(plan, name) for name in profiles)


def _is_all_off(plan: Plan, profile: str) -> bool:
    levels = plan["profiles"][profile]["levels"]
    return profile != AS_FOUND and levels == all_off(plan["factors"])


def _messages(profiles: Mapping[str, Tally]) -> tuple[int, int]:
    """Return how many messages were sent, and how many of them did not arrive as they were."""
    sent = lost = 0
    for tally in profiles.values():
        for check in tally["whole"]["checks"].values():
            sent += check["sent"]
            lost += check["wrong"] + check["short"] + check["missing"]
    return sent, lost


def _worst(profiles: Mapping[str, Tally]) -> tuple[dict[str, int], Example | None]:
    """Return what was wrong, and the smallest wrong message."""
    kinds = dict[str, int]()
    first = list[Example]()
    for tally in profiles.values():
        for kind, trials in tally["kinds"].items():
            kinds[kind] = kinds.get(kind, 0) + trials
        examples = [check["first"] for check in tally["whole"]["checks"].values()]
        first += filter(None, examples)
    return kinds, min(first, key=lambda example: example["size"], default=None)


def _bounds(plan: Plan, profiles: Mapping[str, Tally], level: float) -> list[Bound]:
    """Return the bounds of each setting that was on."""
    bounds: list[Bound] = []
    for factor in plan["factors"]:
        on = {
            name: tally
            for name, tally in varied(profiles).items()
            if is_on(factor, plan["profiles"][name]["levels"])
        }
        if on:
            trials = trials_of(on.values())
            messages, lost = _messages(on)
            bounds.append(
                Bound(
                    setting=factor["name"],
                    messages=highest_share(lost, messages, level),
                    trials=highest_share(trials.troubled, trials.trials, level),
                )
            )
    return bounds


def _lost_sizes(profiles: Mapping[str, Tally]) -> dict[str, Size]:
    """Return of each direction that loses packets of its MTU what it carries."""
    sizes = joined_sizes([tally["whole"] for tally in profiles.values()])
    return {name: size for name, size in sizes.items() if is_black_hole(size)}


CLEAN = "clean"
BROKEN = "broken"  # verdicts that payload does not arrive as sent begin with it


def is_broken(verdict: str) -> bool:
    """Return whether payload was lost or wrong, beyond what a busy machine does."""
    return verdict.startswith(BROKEN)


def hops_of(plan: Plan, row: PathVerdict, checks: Checks) -> list[list[Hop]]:
    """Return for each kind of trouble and each end the likeliest hop, and those that are not much
    less likely; none for a campaign that does not vary a setting at several hops.
    """
    profiles = varied(at(checks.planned, (row.path, row.mtu)))
    hops_of_kinds: list[list[Hop]] = []
    for kind in dict.fromkeys(blame.kind for blame in row.blames):
        hops_of_kinds += [
            hops for hops in likeliest(plan, profiles, kind) if hops not in hops_of_kinds
        ]
    return hops_of_kinds


def known_cases_of(plan: Plan, row: PathVerdict, hosts: Sequence[KnownHost]) -> list[KnownCase]:
    """Return the known cases that are like what is broken on a path."""
    around = paths_of(plan).named(row.path).encapsulation.name
    return like(hosts, around, blamed_settings(plan, row))


def blamed_settings(plan: Plan, row: PathVerdict) -> list[str]:
    """Return the factors that are on under what is blamed, then their settings."""
    blamed: list[str] = []
    for blame in row.blames:
        blamed += [name for name, on in blame.settings.items() if on]
    settings = list(blamed)
    for factor in plan["factors"]:
        if factor["name"] in blamed:
            settings += factor["settings"]
    return settings


def finding(
    plan: Plan, row: PathVerdict, checks: Checks, cases: Sequence[KnownCase], text: str
) -> PathFinding:
    """Return the verdict of a path as data."""
    return PathFinding(
        **vars(row),
        hops=hops_of(plan, row, checks),
        reports=[Reported(name=case.name, link=case.link) for case in cases],
        text=text,
    )


def cure_in(advice: Mapping[str, Any]) -> NamedCure | None:
    """Return the cure that recommended.yml has; None where it has none."""
    if "cures" not in advice:
        return None
    return NamedCure(
        off=advice["changes"],
        profile=advice["profile"],
        trials=advice["cures"]["trials"],
        troubled=advice["cures"]["troubled"],
        confirmed=advice["confirmed"],
    )
