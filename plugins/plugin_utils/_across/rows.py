# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of comparison.json, history.json and kernels.json; docs/data-format.md explains each key."""

from __future__ import annotations

from typing import TypedDict

WORDS = {"unknown": "not known"}  # of an outcome, where the words differ from it


class EffectRow(TypedDict):
    """An effect against the control, compared between the campaigns: this is judged."""

    profile: str
    n_baseline: int
    n: int
    ratio: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    significant: bool
    verdict: str  # better, worse, higher or lower where a difference is shown; else same or unknown
    regression: bool


class ValueRow(TypedDict):
    """A profile's values in both campaigns, geometric means over blocks: information."""

    profile: str
    n_baseline: int
    n: int
    baseline: float
    value: float
    ratio: float


class MetricRows(TypedDict):
    """One metric of a table."""

    metric: str
    label: str
    unit: str
    better: str | None
    end: str | None
    effects: list[EffectRow]
    values: list[ValueRow]


class TableRows(TypedDict):
    """One path, MTU and workload of a pair."""

    id: str
    pair: str | None
    path: str
    mtu: int | None
    workload: str
    test: str
    metrics: list[MetricRows]


class ComparedCampaign(TypedDict):
    """One campaign against the baseline."""

    campaign: str
    tables: list[TableRows]


class ManifestDifference(TypedDict):
    """A value that differs in the manifests, by campaign."""

    node: str
    name: str
    values: list[str | None]


class CampaignComparison(TypedDict):
    """The content of comparison.json."""

    schema: int
    baseline: str
    threshold: float | None
    matters_percent: float  # the smallest of all campaigns
    compared: list[ComparedCampaign]
    manifest: list[ManifestDifference]
    failures: list[str]
    passed: bool
    note: str


class SeriesQuantity(TypedDict):
    """One quantity in all campaigns: the control's values, or the effect of a profile, a ratio to the
    control.
    """

    id: str
    table: str
    metric: str
    label: str
    unit: str
    better: str | None
    profile: str
    kind: str  # value or effect


class Series(SeriesQuantity):
    """A quantity over all campaigns."""

    means: list[float]
    low: list[float | None]
    high: list[float | None]


class SeriesStep(TypedDict):
    """How one series changed: the mean after the change as a ratio to the mean before it."""

    series: str
    ratio: float
    low: float
    high: float
    verdict: str


class HistoryChange(TypedDict):
    """One change; ``campaign`` is the first one after it."""

    campaign: str
    number: int
    created: str | None
    before: str
    p: float
    steps: list[SeriesStep]
    manifest: list[ManifestDifference]


class HistoryCampaign(TypedDict):
    """One campaign of a history, and the versions that it ran on."""

    name: str
    created: str | None
    blocks: int
    versions: dict[str, str]


class VersionRow(TypedDict):
    """The control's values under one version of something, geometric means over campaigns."""

    what: str
    version: str
    campaigns: int
    series: str
    ratio: float


class History(TypedDict):
    """The content of history.json."""

    schema: int
    campaigns: list[HistoryCampaign]
    series: list[Series]
    changes: list[HistoryChange]
    versions: list[VersionRow]
    fewest: int
    note: str


class Under(TypedDict):
    """One quantity under one kernel; ``mean`` is None where it was not measured."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


class KernelChange(TypedDict):
    """An effect that differs between two kernels, the later one's as a ratio to the earlier one's.

    No two kernels between them were shown to differ: they are neighbours, or the data do not locate
    the change more closely.
    """

    before: str
    after: str
    ratio: float
    low: float | None
    high: float | None
    p: float | None  # corrected for the whole report
    verdict: str


class KernelQuantity(SeriesQuantity):
    """A quantity under all kernels."""

    under: list[Under]
    changes: list[KernelChange]  # of effects
    sides: list[list[str]]  # kernels, in order; a change lies between each two sides
    between: list[str]  # kernels whose side is not known
    state: str | None  # of effects: different, same or unknown


class Support(TypedDict):
    """Whether a device supports a setting under each kernel, where that differs."""

    what: str
    where: str
    values: list[str]


class KernelFailures(TypedDict):
    """How many trials of a profile failed under each kernel, such as ``3 of 16``."""

    profile: str
    values: list[str]


class KernelPayload(TypedDict):
    """The payload verdict of one path under each kernel."""

    path: str
    mtu: int
    verdicts: list[str]  # as the report of each campaign has them, or "not checked"
    values: list[str]  # the same in words


class KernelAdvice(TypedDict):
    """The recommendation under one kernel; ``name`` is None without one."""

    kernel: str
    name: str | None
    words: str
    confirmed: bool
    unfinished: str | None


class KernelCampaign(TypedDict):
    """One kernel and its campaign."""

    kernel: str
    campaign: str
    created: str | None
    blocks: int
    versions: dict[str, str]


class KernelsReport(TypedDict):
    """The content of kernels.json."""

    schema: int
    kernels: list[KernelCampaign]
    quantities: list[KernelQuantity]
    tested: int  # comparisons, all under one error rate
    advice: list[KernelAdvice]
    support: list[Support]
    failures: list[KernelFailures]
    payload: list[KernelPayload]
    manifest: list[ManifestDifference]
    matters_percent: float
    note: str


def direction(better: str | None, ratio: float) -> str:
    """Return the outcome of a shown difference: better or worse; higher or lower where neither
    direction is better.
    """
    if better is None:
        return "higher" if ratio > 1 else "lower"
    return "better" if (ratio > 1) == (better == "higher") else "worse"
