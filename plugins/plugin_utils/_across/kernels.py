# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One campaign under several kernels as one report: the kernels between which an effect changed,
support, payload, and the recommendation under each kernel.

Every two kernels are compared like two campaigns, by Welch's t on logarithms. Holm's correction
covers all effects and all pairs of kernels. Among the pairs that are shown to differ, the narrowest
count: those with no other such pair between them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from ...module_utils._base.errors import InputError
from ...module_utils._ethtool.features import Feature, Features
from ...module_utils._nodes.node import natural
from .._analysis.blame import condition_text
from .._analysis.encode import read_analysis
from .._analysis.integrity import verdicts
from .._analysis.result import DeviceVerdict, Failures, PathVerdict, Recommendation, Unfinished
from .._report.phrases import settings
from .._statistics import text
from .._statistics.libraries import np
from .._statistics.states import margin_of
from .._statistics.text import ratios
from .._store.manifest import all_before
from .._trials.payload import checks_of
from .._trials.records import stream_records
from .campaigns import (
    MeasuredCampaign,
    campaign_folders,
    labels_of,
    manifest_differences,
    names_of,
    quantities_of,
    read_campaign_folder,
    summary_of_blocks,
    table_indexes,
    versions_of,
)
from .compare import compare_pairs, is_tested, rows_of, smallest_matters
from .rows import (
    EffectRow,
    KernelAdvice,
    KernelChange,
    KernelFailures,
    KernelPayload,
    KernelQuantity,
    KernelsReport,
    SeriesQuantity,
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
Gap = tuple[int, int]  # the indexes of two kernels
EffectKey = tuple[str, str, str]  # table, metric, profile


@dataclass(frozen=True, kw_only=True)
class KernelAnalysis:
    """The part of a campaign's analysis.json that this report reads."""

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
    payload: list[PathVerdict]  # empty where no workload checks the payload


def kernel_of(campaign: MeasuredCampaign) -> str:
    """Return the kernel that a campaign ran under, as its manifest has it; two where the nodes
    differ.
    """
    kernel = versions_of(campaign.manifest).get("kernel")
    if not kernel:
        raise InputError(
            "it is not known under which kernel this was measured: its manifest.json has none",
            campaign.name,
            "Give folders that the playbook measure has written.",
        )
    return kernel


def _in_order(measured: Sequence[MeasuredKernel]) -> list[MeasuredKernel]:
    """Return the measurements in the order of the kernels' versions, checked."""
    ordered = sorted(measured, key=lambda kernel: natural(kernel.campaign.name))
    if len(ordered) < 2:
        raise InputError(
            "two kernels or more are needed",
            ", ".join(kernel.label for kernel in ordered),
            "Give a results folder for each kernel.",
        )
    for earlier, later in zip(ordered, ordered[1:]):
        if earlier.campaign.name == later.campaign.name:
            raise InputError(
                f"both were measured under kernel {earlier.campaign.name}",
                f"{earlier.label}, {later.label}",
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
    by_device: dict[tuple[str, str], list[str]] = {}
    for index, kernel in enumerate(measured):
        for row in kernel.analysis.verdicts:
            blank = [ABSENT] * len(measured)
            by_device.setdefault((row.factor, _where(row)), blank)[index] = row.verdict
    return [
        {"what": what, "where": where, "values": values}
        for (what, where), values in sorted(by_device.items())
        if len({value in ("unsupported", ABSENT) for value in values}) > 1
    ]


def _devices(campaign: MeasuredCampaign) -> Iterator[tuple[str, Features]]:
    """Yield ("node device", its features) of all devices in a manifest."""
    for node, before in all_before(campaign.manifest).items():
        for device, state in (before.get("devices") or {}).items():
            yield f"{node} {device}", state.get("features") or {}


def _ability(state: Feature) -> str:
    """Return whether a feature can be set, in words."""
    level = "on" if state.get("active") else "off"
    return f"fixed {level}" if state.get("fixed") else "can be set"


def _features_support(measured: Sequence[MeasuredKernel]) -> list[Support]:
    """Return the features of devices that can be set under one kernel and not under another."""
    by_device: dict[tuple[str, str], list[str]] = {}
    for index, kernel in enumerate(measured):
        for where, features in _devices(kernel.campaign):
            for feature, state in features.items():
                blank = [ABSENT] * len(measured)
                by_device.setdefault((feature, where), blank)[index] = _ability(state)
    return [
        {"what": what, "where": where, "values": values}
        for (what, where), values in sorted(by_device.items())
        if len(set(values)) > 1
    ]


def _advice(kernel: MeasuredKernel) -> KernelAdvice:
    """Return the recommendation under a kernel."""
    recommendation = kernel.analysis.recommendation
    unfinished = kernel.analysis.unfinished
    name = None if unfinished else recommendation.name
    advice = "nothing"
    if name is not None:
        keep = name == kernel.analysis.control
        advice = f"keep {name}" if keep else settings(recommendation.changes)
    return {
        "kernel": kernel.campaign.name,
        "name": name,
        "words": advice,
        "confirmed": recommendation.confirmed,
        "unfinished": unfinished.text if unfinished else None,
    }


def _failures(measured: Sequence[MeasuredKernel]) -> list[KernelFailures]:
    """Return the profiles with failed trials under some kernel."""
    by_profile: dict[str, list[str]] = {}
    failed: set[str] = set()
    for index, kernel in enumerate(measured):
        for row in kernel.analysis.failures:
            values = by_profile.setdefault(row.profile, [text.NONE] * len(measured))
            values[index] = f"{row.failed} of {row.trials}"
            if row.failed:
                failed.add(row.profile)
    return [
        {"profile": profile, "values": values}
        for profile, values in by_profile.items()
        if profile in failed
    ]


def kernels_report(measured: Sequence[MeasuredKernel]) -> KernelsReport:
    """Return the report over kernels."""
    ordered = _in_order(measured)
    campaigns = [kernel.campaign for kernel in ordered]
    percent = smallest_matters(campaigns)
    judged = judged_quantities(campaigns, margin_of(percent))
    payload = payload_rows([kernel.payload for kernel in ordered])
    if not judged.tested and not payload:
        raise InputError(
            "these campaigns have no effect in common that can be tested",
            ", ".join(kernel.label for kernel in ordered),
            "Give campaigns of one campaign file, with six blocks or more each, or with workload payload.",
        )
    return {
        "schema": SCHEMA,
        "kernels": [
            {
                "kernel": kernel.campaign.name,
                "campaign": kernel.label,
                "created": kernel.campaign.plan.get("created"),
                "blocks": kernel.campaign.plan["blocks"],
                "versions": versions_of(kernel.campaign.manifest),
            }
            for kernel in ordered
        ],
        "quantities": judged.quantities,
        "tested": judged.tested,
        "advice": [_advice(kernel) for kernel in ordered],
        "support": _settings_support(ordered) + _features_support(ordered),
        "failures": _failures(ordered),
        "payload": payload,
        "manifest": manifest_differences(campaigns),
        "matters_percent": percent,
        "note": NOTE,
    }


def payload_rows(by_kernel: Sequence[Sequence[PathVerdict]]) -> list[KernelPayload]:
    """Return a row for each path and MTU whose payload was checked under some kernel.

    ``by_kernel`` has the payload verdicts of each kernel's campaign.
    """
    rows: dict[tuple[str, int], KernelPayload] = {}
    for index, verdicts_of_kernel in enumerate(by_kernel):
        for verdict in verdicts_of_kernel:
            key = verdict.path, verdict.mtu
            row = rows.setdefault(key, _blank(verdict, len(by_kernel)))
            row["verdicts"][index] = verdict.verdict
            row["values"][index] = _verdict_text(verdict)
    return list(rows.values())


def _blank(verdict: PathVerdict, kernels: int) -> KernelPayload:
    return {
        "path": verdict.path,
        "mtu": verdict.mtu,
        "verdicts": [NOT_CHECKED] * kernels,
        "values": [NOT_CHECKED] * kernels,
    }


def _verdict_text(verdict: PathVerdict) -> str:
    """Return a verdict, the settings that it blames, and the number of trials in trouble."""
    blamed = text.listed([condition_text(blame.settings) for blame in verdict.blames])
    with_settings = f" with {blamed}" if blamed else ""
    return f"{verdict.verdict}{with_settings}, {verdict.troubled} of {verdict.trials} trials in trouble"


class Sides(NamedTuple):
    """Groups of kernels between which an effect changed, and the kernels whose side is not known."""

    groups: list[list[int]]
    between: list[int]


def narrowest(gaps: Iterable[Gap]) -> list[Gap]:
    """Return the gaps that contain no other gap."""
    ordered = sorted(gaps, key=lambda gap: gap[1] - gap[0])
    kept: list[Gap] = []
    for first, last in ordered:
        if not any(first <= inner[0] and inner[1] <= last for inner in kept):
            kept.append((first, last))
    return sorted(kept)


def _is_between(kernel: int, gaps: Sequence[Gap]) -> bool:
    return any(first < kernel < last for first, last in gaps)


def _are_apart(earlier: int, later: int, gaps: Sequence[Gap]) -> bool:
    return any(earlier <= first and last <= later for first, last in gaps)


def sides_of(gaps: Sequence[Gap], measured: Sequence[int]) -> Sides:
    """Return the side of the changes on which each measured kernel is; ``gaps`` are the narrowest."""
    between = [kernel for kernel in measured if _is_between(kernel, gaps)]
    groups: list[list[int]] = []
    for kernel in measured:
        if kernel in between:
            continue
        if not groups or _are_apart(groups[-1][-1], kernel, gaps):
            groups.append([])
        groups[-1].append(kernel)
    return Sides(groups, between)


def _under(blocks: list[np.ndarray]) -> list[Under]:
    """Return a quantity under each kernel."""
    mean, low, high = summary_of_blocks(blocks)
    counts = [int((~np.isnan(values)).sum()) for values in blocks]
    return [
        {"n": n, "mean": centre, "low": least, "high": most}
        for n, centre, least, most in zip(counts, ratios(mean), ratios(low), ratios(high))
    ]


def _row(quantity: SeriesQuantity, under: list[Under]) -> KernelQuantity:
    """Return the row of a quantity, not judged yet."""
    return {
        **quantity,
        "under": under,
        "changes": [],
        "sides": [],
        "between": [],
        "state": None,
    }


def _measured(under: list[Under]) -> list[int]:
    """Return the indexes of the kernels that have a measurement."""
    return [index for index, summary in enumerate(under) if summary["mean"] is not None]


def _rows(
    campaigns: list[MeasuredCampaign], matters: float
) -> dict[EffectKey, dict[Gap, EffectRow]]:
    """Return each effect's comparisons, by the indexes of the two kernels."""
    gaps = list(combinations(range(len(campaigns)), 2))
    pairs = [(campaigns[first], campaigns[last]) for first, last in gaps]
    by_effect: dict[EffectKey, dict[Gap, EffectRow]] = {}
    for gap, compared in zip(gaps, compare_pairs(pairs, matters).compared):
        for _campaign, table, metric, row in rows_of([compared]):
            key = table["id"], metric["metric"], row["profile"]
            by_effect.setdefault(key, {})[gap] = row
    return by_effect


def _judge(quantity: KernelQuantity, rows: dict[Gap, EffectRow], kernels: list[str]) -> None:
    """Fill in the changes of an effect, and the side of each kernel."""
    shown = narrowest(gap for gap, row in rows.items() if row["significant"])
    sides = sides_of(shown, _measured(quantity["under"]))
    quantity["changes"] = [_change(kernels, gap, rows[gap]) for gap in shown]
    for group in sides.groups:
        quantity["sides"].append([kernels[index] for index in group])
    quantity["between"] = [kernels[index] for index in sides.between]
    quantity["state"] = "different" if shown else _alike(rows, len(kernels))


def _alike(rows: dict[Gap, EffectRow], kernels: int) -> str:
    """Return same where no two kernels differ by as much as matters, else unknown."""
    outcomes = {row["verdict"] for row in rows.values()}
    complete = len(rows) == kernels * (kernels - 1) // 2
    return "same" if complete and outcomes == {"same"} else "unknown"


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
    """All quantities, and the number of comparisons that were tested."""

    quantities: list[KernelQuantity]
    tested: int


def judged_quantities(campaigns: list[MeasuredCampaign], matters: float) -> Quantities:
    """Return all quantities under each kernel, with their changes.

    The campaigns are in the order of their kernels and have their names. ``matters`` is a logarithm.
    """
    kernels = [campaign.name for campaign in campaigns]
    compared = _rows(campaigns, matters)
    tables = names_of(table_indexes(campaign) for campaign in campaigns)
    metrics = names_of(campaign.cube.metrics() for campaign in campaigns)
    profiles = names_of(campaign.cube.profiles for campaign in campaigns)
    rows: list[KernelQuantity] = []
    for quantity, blocks in quantities_of(campaigns, tables, metrics, profiles):
        under = _under(blocks)
        if not _measured(under):
            continue
        row = _row(quantity, under)
        if quantity["kind"] == "effect":
            key = quantity["table"], quantity["metric"], quantity["profile"]
            _judge(row, compared.get(key, {}), kernels)
        rows.append(row)
    tested = sum(sum(map(is_tested, by_gap.values())) for by_gap in compared.values())
    return Quantities(rows, tested)


def _read(folder: str, label: str) -> MeasuredKernel:
    campaign = read_campaign_folder(folder, label)
    analysis = read_analysis(KernelAnalysis, folder)
    if analysis is None:
        raise InputError(
            "there is no analysis.json",
            folder,
            "Make the campaign's report first, with module report.",
        )
    kernel = kernel_of(campaign)
    checks = checks_of(stream_records(os.path.join(folder, "trials.jsonl"), []))
    payload = verdicts(campaign.plan, checks)
    return MeasuredKernel(label, campaign._replace(name=kernel), analysis, payload)


def report_of(paths: Sequence[str]) -> KernelsReport:
    """Return the report over all campaigns in some folders, one for each kernel."""
    folders = campaign_folders(paths)
    return kernels_report([_read(*named) for named in zip(folders, labels_of(folders))])
