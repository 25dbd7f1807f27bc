# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""recommended.yml: variables for playbooks/apply.yml: the set, by how much it is better, whether it
is confirmed; or the cure of what a check of the payload found to be broken. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NotRequired, TypedDict

from .._analysis.blame import chains, holds, number_of_tests, singles
from .._analysis.cure import Cure
from .._analysis.result import Recommendation, SetEffect
from .._campaign.factors import ENDS, FactorEntry, all_off, all_on, settings_of
from .._campaign.forwarding import lacking
from .._campaign.nouns import Factor, Levels, Plan
from .._campaign.plan_file import paths_of
from .._store.manifest import Manifest, NodeState, all_before, driver_of
from .._untrusted.texts import comment, dump_variables
from .hop import (
    NEARLY_EACH,
    FollowUp,
    bits_campaign,
    blocks_for,
    fewest_blocks,
    hop_campaign,
    likely_campaign,
    seconds_for,
)

HEAD = """\
# What campaign {name} recommends. Apply it: ansible-playbook offload.lab.apply -e @recommended.yml
# confirmed: false is applied only with -e offload_lab_allow_unconfirmed=true
"""
OF_FACTOR = ("name", "kind", "settings", "levels", "devices", "needs")
APPLIED = "as_applied"  # the profile of a cure in the campaign that asks for it again
EFFECT = ("table", "metric", "end", "ratio", "low", "high", "state")


class ChosenSettings(TypedDict):
    """The settings to apply, and who confirmed them."""

    profile: str | None
    confirmed: bool
    confirmed_by: str | None
    why_not: str | None
    compared_with: str
    changes: dict[str, str]


class Advised(ChosenSettings):
    """A recommendation with its evidence."""

    by: list[dict[str, str | float]]
    unknown_in: list[dict[str, Any]]
    not_told_apart: list[str]


class Cures(TypedDict):
    """The trials of a cure's profile."""

    clean: int
    trials: int
    troubled: int


class Cured(ChosenSettings):
    """A cure, and the campaigns that follow it."""

    cures: Cures
    again: FollowUp
    hop: FollowUp | None
    likely: FollowUp | None
    bits: FollowUp | None


class RecommendedSettings(ChosenSettings):
    """The content of recommended.yml: of a recommendation, or of a cure."""

    campaign: str
    by: NotRequired[list[dict[str, Any]]]
    unknown_in: NotRequired[list[dict[str, Any]]]
    not_told_apart: NotRequired[list[str]]
    cures: NotRequired[Cures]
    again: NotRequired[FollowUp]
    hop: NotRequired[FollowUp | None]
    likely: NotRequired[FollowUp | None]
    bits: NotRequired[FollowUp | None]
    date: str | None
    kernels: dict[str, str]
    drivers: dict[str, dict[str, str | None]]
    client: Mapping[str, Any]
    server: Mapping[str, Any]
    forwarder: NotRequired[Mapping[str, Any]]
    lacking: NotRequired[dict[str, list[str]]]  # device classes, by host without such a device


def drivers(manifest: Manifest | None) -> dict[str, dict[str, str | None]]:
    """Return ``{node: {underlay device: driver}}``: where the settings may be applied."""
    return {node: _drivers(before) for node, before in all_before(manifest).items()}


def _drivers(before: NodeState) -> dict[str, str | None]:
    links = before.get("links") or {}
    return {device: driver_of(before, device).get("driver") for device in links}


def _effects(rows: list[SetEffect]) -> list[dict[str, str | float]]:
    return [_effect(row) for row in rows]


def _effect(row: SetEffect) -> dict[str, str | float]:
    values = {key: getattr(row, key) for key in EFFECT}
    return {key: value for key, value in values.items() if value is not None}


def kernels(manifest: Manifest | None) -> dict[str, str]:
    """Return ``{node: release of its kernel}``: for what the settings were found."""
    releases = {
        node: (before.get("host") or {}).get("kernel")
        for node, before in all_before(manifest).items()
    }
    return {node: release for node, release in releases.items() if release}


def _day(moment: float | None) -> str | None:
    """Return the day of a moment, in UTC."""
    return datetime.fromtimestamp(moment, timezone.utc).date().isoformat() if moment else None


def _factor(factor: Factor) -> FactorEntry:
    """Return a factor of a plan as a campaign file has it."""
    planned: Mapping[str, Any] = factor
    keys: Any = {key: planned[key] for key in OF_FACTOR if planned[key]}
    keys["sides"] = next(side for side, ends in ENDS.items() if ends == factor["sides"])
    entry: FactorEntry = keys
    return entry


def _fewest_again(plan: Plan, profiles: Mapping[str, Levels]) -> int:
    """Return with how many blocks of these profiles a test shows that a fault is back: one profile is
    in trouble in each trial, the others in none.
    """
    under = [_names_under(plan, dict(condition), profiles) for condition in singles(plan)]
    return fewest_blocks(len(profiles), 1, number_of_tests(under, profiles) * len(plan["paths"]))


def _names_under(
    plan: Plan, settings: Mapping[str, bool], profiles: Mapping[str, Levels]
) -> list[str]:
    return [name for name, levels in profiles.items() if holds(plan, settings, levels)]


def again(plan: Plan, levels: Levels, rate: float = 1.0, enough: float | None = None) -> FollowUp:
    """Return the campaign that asks whether a cure is still needed: with it, without it and with
    all off. ``rate`` is the share of the trials that were in trouble: the rarer, the more blocks.
    ``enough`` is the length of a check in seconds that shows it, where it strikes often.
    """
    without = all_on(plan["factors"])
    profiles = {"all_off": all_off(plan["factors"]), APPLIED: dict(levels), "all_on": without}
    if levels == without:
        del profiles[APPLIED]
    fewest = _fewest_again(plan, profiles)
    return {
        "name": f"{plan['name']}-again"[:64],
        "design": "profiles",
        "control": "all_off",
        "control_visits": 1,
        "blocks": fewest if rate >= NEARLY_EACH else max(fewest, blocks_for(rate)),
        "paths": plan["paths"],
        "mtus": plan["mtus"],
        "factors": [_factor(factor) for factor in plan["factors"]],
        "profiles": profiles,
        "workloads": ["payload"],
        "duration": seconds_for(plan, rate, enough),
        "confirm": 0,
    }


def _of_features(cure: Cure, plan: Plan) -> tuple[FollowUp | None, FollowUp | None]:
    """Return the campaigns of the likely features and of all features; None where packets are broken
    that no device cuts.
    """
    if cure.uncut_too:
        return None, None
    arguments = (plan, cure.off, cure.paths, cure.rate, cure.enough)
    return likely_campaign(*arguments) if cure.of_tcp else None, bits_campaign(*arguments)


def _cure(cure: Cure, plan: Plan) -> Cured:
    """Return what is recommended where something is broken.

    Profiles that a user named were not chosen by what these trials showed: one of them that is
    clean is confirmed. What was chosen needs fresh blocks, which the campaign ``again`` makes. A
    campaign that asks for the hop chooses among its profiles, too; the one that asks again for
    a hop's cure does not.
    """
    clean = cure.checks.trials > 0 and cure.checks.troubled == 0
    chooses = chains(plan) and APPLIED not in plan["profiles"]
    confirmed = clean and plan["design"] == "profiles" and not chooses
    changes = {name: cure.levels[name] for name in cure.off}
    likely, bits = _of_features(cure, plan)
    return {
        "profile": cure.profile or "cure",
        "confirmed": confirmed,
        "confirmed_by": "profiles" if confirmed else None,
        "why_not": None,
        "compared_with": plan["control"],
        "changes": changes,
        "cures": {
            "clean": cure.checks.trials - cure.checks.troubled,
            "trials": cure.checks.trials,
            "troubled": cure.checks.troubled,
        },
        "again": again(plan, cure.levels, cure.rate, cure.enough),
        "hop": hop_campaign(plan, cure.off, cure.paths, cure.rate, cure.enough),
        "likely": likely,
        "bits": bits,
    }


def _advice(advice: Recommendation, plan: Plan) -> Advised:
    return {
        "profile": advice.name,
        "confirmed": advice.confirmed,
        "confirmed_by": advice.confirmed_by,
        "why_not": advice.why or None,
        "compared_with": plan["control"],
        "changes": advice.changes,
        "by": _effects(advice.by),
        "unknown_in": _effects(advice.costs_unknown_in),
        "not_told_apart": advice.not_told_apart,
    }


def recommendation(
    advice: Recommendation,
    plan: Plan,
    manifest: Manifest | None,
    cure: Cure | None = None,
    measured: float | None = None,
) -> RecommendedSettings:
    """Return what playbook apply takes as offload_lab_recommended; without a recommendation client
    and server have no settings.

    A cure is written where nothing else is recommended. ``measured`` is when the last trial ended,
    in seconds since the epoch.
    """
    settings: Mapping[str, Any] = advice.settings
    chosen: Advised | Cured = _advice(advice, plan)
    if cure and advice.name is None:
        settings = settings_of(plan["factors"], cure.levels)
        chosen = _cure(cure, plan)
    recommended: RecommendedSettings = {
        "campaign": plan["name"],
        **chosen,
        "date": _day(measured),
        "kernels": kernels(manifest),
        "drivers": drivers(manifest),
        "client": settings.get("client") or {},
        "server": settings.get("server") or {},
    }
    if settings.get("forwarder"):
        recommended["forwarder"] = settings["forwarder"]
    absent = lacking(plan, paths_of(plan))
    if absent:
        recommended["lacking"] = absent
    return recommended


def document(data: RecommendedSettings) -> str:
    """Return the content of recommended.yml with this recommendation."""
    head = HEAD.format(name=comment(data["campaign"]))
    return f"---\n{head}" + dump_variables({"offload_lab_recommended": data})
