# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One campaign under several kernels as one report: what differs, what is supported where, and what
is recommended under each. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...module_utils._base.errors import InputError
from ...module_utils._nodes.node import natural
from .._analysis.result import DeviceVerdict, Failures, PathVerdict, Recommendation, Unfinished
from .._compare.compare import MeasuredCampaign, manifest_differences, smallest_matters
from .._history.history import versions_of
from .._report.phrases import settings
from .._statistics import text
from .._statistics.states import margin_of
from .payload import payload_rows
from .quantities import quantities_of
from .rows import KernelAdvice, KernelFailures, KernelsReport, Support

SCHEMA = 1
NOTE = (
    "5 % is the chance of any false difference between kernels in this report: all effects, all pairs of kernels "
    "(Welch's t on logarithms, Holm's correction). The control's own values are information: the hour and the load "
    "are in them, so a kernel that is slower under every profile alike is not judged"
)
ABSENT = "not there"


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
