# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What checks of the payload say of each path, as analysis.json has it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._campaign.nouns import Plan
from .._campaign.plan_file import paths_of
from .._known_cases.known_cases import Host, KnownCase, like
from .._trials.payload import Checks
from .cure import at, varied
from .hop import likeliest
from .result import Hop, NamedCure, PathFinding, PathVerdict, Reported

CLEAN = "clean"
BROKEN = "broken"  # verdicts that payload does not arrive as sent begin with it


def is_broken(verdict: str) -> bool:
    """Return whether payload was lost or wrong, beyond what a busy machine does."""
    return verdict.startswith(BROKEN)


def hops_of(plan: Plan, row: PathVerdict, checks: Checks) -> list[list[Hop]]:
    """Return for each kind of trouble and each end the likeliest hop, and those that are not much
    less likely; none for a campaign that does not vary a setting at several hops.
    """
    here = varied(at(checks.planned, (row.path, row.mtu)))
    found: list[list[Hop]] = []
    for kind in dict.fromkeys(blame.kind for blame in row.blames):
        found += [hops for hops in likeliest(plan, here, kind) if hops not in found]
    return found


def known_cases_of(plan: Plan, row: PathVerdict, hosts: Sequence[Host]) -> list[KnownCase]:
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


def cure_in(advice: dict[str, Any]) -> NamedCure | None:
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
