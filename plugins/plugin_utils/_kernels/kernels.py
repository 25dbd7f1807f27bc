# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One campaign under several kernels as one report: between which kernels an effect changed, what is
supported where, what became of the payload, and what is recommended under each. Pure.

Every two kernels are compared as two campaigns are, by Welch's t on logarithms, and Holm's
correction goes over all effects and all pairs of kernels. Of the pairs that are shown to differ the
narrowest count: those with no other such pair between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

from ...module_utils._base.errors import InputError
from ...module_utils._nodes.node import natural
from .._analysis import metrics as analysis_metrics
from .._analysis.blame import condition_text
from .._analysis.result import DeviceVerdict, Failures, PathVerdict, Recommendation, Unfinished
from .._compare.compare import (
    MeasuredCampaign,
    compare_pairs,
    is_compared,
    is_tested,
    logs_of,
    manifest_differences,
    places_of,
    rows_of,
    smallest_matters,
)
from .._compare.rows import EffectRow
from .._history.history import summary_of_blocks, versions_of
from .._report.phrases import settings
from .._statistics import text
from .._statistics.libraries import np
from .._statistics.numbers import ratios
from .._statistics.states import margin_of
from .rows import (
    KernelAdvice,
    KernelChange,
    KernelFailures,
    KernelPayload,
    KernelQuantity,
    KernelsReport,
    Support,
    Under,
)

SCHEMA = 1
NOTE = (
    "5 % is the chance of any false difference between kernels in this report: all effects, all pairs of kernels "
    "(Welch's t on logarithms, Holm's correction). The control's own values are information: the hour and the load "
    "are in them, so a kernel that is slower under every profile alike is not judged"
)
ABSENT = "not there"
NOT_CHECKED = "not checked"
Gap = tuple[int, int]  # the places of two kernels
EffectKey = tuple[str, str, str]  # table, metric, profile


@dataclass(frozen=True, kw_only=True)
class KernelAnalysis:
    """What this report takes of a campaign's analysis.json."""

    control: str
    recommendation: Recommendation
    unfinished: Unfinished | None
    failures: list[Failures]
    verdicts: list[DeviceVerdict]


class MeasuredKernel(NamedTuple):
    """The campaign under one kernel, and its analysis."""

    label: str  # its folder
    campaign: MeasuredCampaign  # its name is the kernel's
    analysis: KernelAnalysis
    payload: list[PathVerdict]  # none where no workload checks it


def kernel_of(campaign: MeasuredCampaign) -> str:
    """Return the kernel that a campaign ran under, as its manifest has it; two where the nodes
    differ.
    """
    found = versions_of(campaign.manifest).get("kernel")
    if not found:
        raise InputError(
            "it is not known under which kernel this was measured: its manifest.json has none",
            campaign.name,
            "Give folders that the playbook measure has written.",
        )
    return found


def _in_order(measured: Sequence[MeasuredKernel]) -> list[MeasuredKernel]:
    """Return what was measured in the order of the kernels' versions, checked."""
    ordered = sorted(measured, key=lambda one: natural(one.campaign.name))
    if len(ordered) < 2:
        raise InputError(
            "two kernels or more are needed",
            ", ".join(one.label for one in ordered),
            "Give a results folder for each kernel.",
        )
    for one, other in zip(ordered, ordered[1:]):
        if one.campaign.name == other.campaign.name:
            raise InputError(
                f"both were measured under kernel {one.campaign.name}",
                f"{one.label}, {other.label}",
                "Leave one of them out. Playbook history shows campaigns under the same kernel.",
            )
    _check_question(ordered)
    return ordered


def _check_question(ordered: Sequence[MeasuredKernel]) -> None:
    """Raise InputError where campaigns do not ask the same question."""
    first = ordered[0]
    for other in ordered[1:]:
        if other.campaign.cube.profiles[0] != first.campaign.cube.profiles[0]:
            raise InputError(
                "these campaigns have different controls",
                f"{first.label}, {other.label}",
                "Give campaigns of one campaign file.",
            )


def _where(row: DeviceVerdict) -> str:
    return f"{row.node} {row.device}, {row.path}"


def _settings_support(measured: Sequence[MeasuredKernel]) -> list[Support]:
    """Return the campaign's settings that a device took under one kernel and not under another."""
    verdicts: dict[tuple[str, str], list[str]] = {}
    for place, one in enumerate(measured):
        for row in one.analysis.verdicts:
            blank = [ABSENT] * len(measured)
            verdicts.setdefault((row.factor, _where(row)), blank)[place] = row.verdict
    return [
        {"what": what, "where": where, "values": values}
        for (what, where), values in sorted(verdicts.items())
        if len({value in ("unsupported", ABSENT) for value in values}) > 1
    ]


def _devices(campaign: MeasuredCampaign) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ("node device", its features) of all devices that a manifest has."""
    manifest: Mapping[str, Any] = campaign.manifest or {}
    for node, parts in manifest.get("nodes", {}).items():
        devices = parts.get("before", {}).get("devices") or {}
        for device, known in devices.items():
            yield f"{node} {device}", known.get("features") or {}


def _ability(state: Mapping[str, Any]) -> str:
    """Return whether a feature can be set, in words."""
    level = "on" if state.get("active") else "off"
    return f"fixed {level}" if state.get("fixed") else "can be set"


def _features_support(measured: Sequence[MeasuredKernel]) -> list[Support]:
    """Return the features of devices that can be set under one kernel and not under another."""
    found: dict[tuple[str, str], list[str]] = {}
    for place, one in enumerate(measured):
        for where, features in _devices(one.campaign):
            for feature, state in features.items():
                blank = [ABSENT] * len(measured)
                found.setdefault((feature, where), blank)[place] = _ability(state)
    return [
        {"what": what, "where": where, "values": values}
        for (what, where), values in sorted(found.items())
        if len(set(values)) > 1
    ]


def _advice(one: MeasuredKernel) -> KernelAdvice:
    """Return what is recommended under a kernel."""
    wanted = one.analysis.recommendation
    unfinished = one.analysis.unfinished
    name = None if unfinished else wanted.name
    words = "nothing"
    if name is not None:
        keep = name == one.analysis.control
        words = f"keep {name}" if keep else settings(wanted.changes)
    return {
        "kernel": one.campaign.name,
        "name": name,
        "words": words,
        "confirmed": wanted.confirmed,
        "unfinished": unfinished.text if unfinished else None,
    }


def _failures(measured: Sequence[MeasuredKernel]) -> list[KernelFailures]:
    """Return the profiles of which trials failed under some kernel."""
    found: dict[str, list[str]] = {}
    failed: set[str] = set()
    for place, one in enumerate(measured):
        for row in one.analysis.failures:
            values = found.setdefault(row.profile, [text.NONE] * len(measured))
            values[place] = f"{row.failed} of {row.trials}"
            if row.failed:
                failed.add(row.profile)
    return [
        {"profile": profile, "values": values}
        for profile, values in found.items()
        if profile in failed
    ]


def kernels_report(measured: Sequence[MeasuredKernel]) -> KernelsReport:
    """Return the report over kernels."""
    ordered = _in_order(measured)
    campaigns = [one.campaign for one in ordered]
    percent = smallest_matters(campaigns)
    found = quantities_of(campaigns, margin_of(percent))
    payload = payload_rows([one.payload for one in ordered])
    if not found.tested and not payload:
        raise InputError(
            "these campaigns have no effect in common that can be tested",
            ", ".join(one.label for one in ordered),
            "Give campaigns of one campaign file, with six blocks or more each, or with workload payload.",
        )
    return {
        "schema": SCHEMA,
        "kernels": [
            {
                "kernel": one.campaign.name,
                "campaign": one.label,
                "created": one.campaign.plan.get("created"),
                "blocks": one.campaign.plan["blocks"],
                "versions": versions_of(one.campaign.manifest),
            }
            for one in ordered
        ],
        "quantities": found.quantities,
        "tested": found.tested,
        "advice": [_advice(one) for one in ordered],
        "support": _settings_support(ordered) + _features_support(ordered),
        "failures": _failures(ordered),
        "payload": payload,
        "manifest": manifest_differences(campaigns),
        "matters_percent": percent,
        "note": NOTE,
    }


def payload_rows(verdicts: Sequence[Sequence[PathVerdict]]) -> list[KernelPayload]:
    """Return a row for each path and MTU whose payload was checked under some kernel.

    ``verdicts`` are those of each kernel's campaign.
    """
    found: dict[tuple[str, int], KernelPayload] = {}
    for place, own in enumerate(verdicts):
        for one in own:
            row = found.setdefault((one.path, one.mtu), _blank(one, len(verdicts)))
            row["verdicts"][place] = one.verdict
            row["values"][place] = _words(one)
    return list(found.values())


def _blank(one: PathVerdict, kernels: int) -> KernelPayload:
    return {
        "path": one.path,
        "mtu": one.mtu,
        "verdicts": [NOT_CHECKED] * kernels,
        "values": [NOT_CHECKED] * kernels,
    }


def _words(one: PathVerdict) -> str:
    """Return a verdict, what it blames, and in how many trials something was wrong."""
    blamed = text.listed([condition_text(blame.settings) for blame in one.blames])
    with_what = f" with {blamed}" if blamed else ""
    return f"{one.verdict}{with_what}, {one.troubled} of {one.trials} trials in trouble"


class Sides(NamedTuple):
    """Where kernels are: groups between which something changed, and those of which that is not
    known.
    """

    groups: list[list[int]]
    between: list[int]


def narrowest(gaps: Iterable[Gap]) -> list[Gap]:
    """Return the gaps that have no other one inside."""
    ordered = sorted(gaps, key=lambda gap: gap[1] - gap[0])
    found: list[Gap] = []
    for first, last in ordered:
        if not any(first <= inner[0] and inner[1] <= last for inner in found):
            found.append((first, last))
    return sorted(found)


def _is_between(place: int, gaps: Sequence[Gap]) -> bool:
    return any(first < place < last for first, last in gaps)


def _are_apart(one: int, other: int, gaps: Sequence[Gap]) -> bool:
    return any(one <= first and last <= other for first, last in gaps)


def sides_of(gaps: Sequence[Gap], there: Sequence[int]) -> Sides:
    """Return on which side of its changes each kernel is that is ``there``; ``gaps`` are the
    narrowest.
    """
    between = [place for place in there if _is_between(place, gaps)]
    groups: list[list[int]] = []
    for place in there:
        if place in between:
            continue
        if not groups or _are_apart(groups[-1][-1], place, gaps):
            groups.append([])
        groups[-1].append(place)
    return Sides(groups, between)


def _names(lists: Iterable[Iterable[str]]) -> list[str]:
    """Return the names that are in any of some lists, each once."""
    found: dict[str, None] = {}
    for names in lists:
        found.update(dict.fromkeys(names))
    return list(found)


def _blocks(campaign: MeasuredCampaign, metric: str, table: str, profile: str) -> np.ndarray:
    """Return the logarithms of a quantity by block: of the control its values, else the effect.

    None of them where the campaign does not have it.
    """
    cube = campaign.cube
    places = places_of(campaign)
    if table not in places or metric not in cube.values or profile not in cube.profiles:
        return np.empty(0)
    control = cube.profiles[0]
    own, base = logs_of(campaign, metric, places[table], [profile, control])
    return own if profile == control else own - base


def _under(blocks: list[np.ndarray]) -> list[Under]:
    """Return a quantity under each kernel."""
    mean, low, high = summary_of_blocks(blocks)
    columns = ratios(mean), ratios(low), ratios(high)
    return [
        {"n": int((~np.isnan(own)).sum()), "mean": one, "low": least, "high": most}
        for own, one, least, most in zip(blocks, *columns)
    ]


def _of_metric(
    campaigns: list[MeasuredCampaign], metric: str, table: str
) -> Iterator[KernelQuantity]:
    """Yield the quantities of a table and metric that were measured, the control first."""
    first = [campaign for campaign in campaigns if table in places_of(campaign)][0]
    about = analysis_metrics.describe(metric, first.cube.tables[places_of(first)[table]].test)
    control = campaigns[0].cube.profiles[0]
    for profile in _names(campaign.cube.profiles for campaign in campaigns):
        under = _under([_blocks(campaign, metric, table, profile) for campaign in campaigns])
        if _measured(under):
            is_value = profile == control
            yield {
                "id": f"{table}/{metric}/{profile}",
                "table": table,
                "metric": metric,
                "label": f"{about.label} {about.end}" if about.end else about.label,
                "unit": about.unit if is_value else "ratio to the control",
                "better": about.better,
                "profile": profile,
                "kind": "value" if is_value else "effect",
                "under": under,
                "changes": [],
                "sides": [],
                "between": [],
                "state": None,
            }


def _measured(under: list[Under]) -> list[int]:
    """Return the places of the kernels under which something was measured."""
    return [place for place, one in enumerate(under) if one["mean"] is not None]


def _rows(
    campaigns: list[MeasuredCampaign], matters: float
) -> dict[EffectKey, dict[Gap, EffectRow]]:
    """Return each effect's comparisons, by the places of the two kernels."""
    gaps = list(combinations(range(len(campaigns)), 2))
    pairs = [(campaigns[first], campaigns[last]) for first, last in gaps]
    found: dict[EffectKey, dict[Gap, EffectRow]] = {}
    for gap, compared in zip(gaps, compare_pairs(pairs, matters).compared):
        for _campaign, table, metric, row in rows_of([compared]):
            key = table["id"], metric["metric"], row["profile"]
            found.setdefault(key, {})[gap] = row
    return found


def _judge(quantity: KernelQuantity, rows: dict[Gap, EffectRow], kernels: list[str]) -> None:
    """Fill in where an effect changed, and on which side each kernel is."""
    shown = narrowest(gap for gap, row in rows.items() if row["significant"])
    there = _measured(quantity["under"])
    sides = sides_of(shown, there)
    quantity["changes"] = [_change(kernels, gap, rows[gap]) for gap in shown]
    for group in sides.groups:
        quantity["sides"].append([kernels[place] for place in group])
    quantity["between"] = [kernels[place] for place in sides.between]
    quantity["state"] = "different" if shown else _alike(rows, len(kernels))


def _alike(rows: dict[Gap, EffectRow], kernels: int) -> str:
    """Return same where no two of all kernels differ by what matters, else unknown."""
    verdicts = {row["verdict"] for row in rows.values()}
    whole = len(rows) == kernels * (kernels - 1) // 2
    return "same" if whole and verdicts == {"same"} else "unknown"


def _change(kernels: list[str], gap: Gap, row: EffectRow) -> KernelChange:
    return {
        "before": kernels[gap[0]],
        "after": kernels[gap[1]],
        "ratio": row["ratio"],
        "low": row["low"],
        "high": row["high"],
        "p": row["p_holm"],
        "verdict": row["verdict"],
    }


class Quantities(NamedTuple):
    """All quantities, and how many comparisons were tested for them."""

    quantities: list[KernelQuantity]
    tested: int


def quantities_of(campaigns: list[MeasuredCampaign], matters: float) -> Quantities:
    """Return all quantities under each kernel; the campaigns are in the order of their kernels and
    have their names. ``matters`` is a logarithm.
    """
    kernels = [campaign.name for campaign in campaigns]
    compared = _rows(campaigns, matters)
    tables = _names(places_of(campaign) for campaign in campaigns)
    metrics = _names(campaign.cube.metrics() for campaign in campaigns)
    found: list[KernelQuantity] = []
    for table, metric in product(tables, filter(is_compared, metrics)):
        for one in _of_metric(campaigns, metric, table):
            if one["kind"] == "effect":
                _judge(one, compared.get((table, metric, one["profile"]), {}), kernels)
            found.append(one)
    tested = sum(sum(map(is_tested, rows.values())) for rows in compared.values())
    return Quantities(found, tested)
