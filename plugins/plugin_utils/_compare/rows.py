# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a comparison, as comparison.json has it; docs/data-format.md explains each key."""

from __future__ import annotations

from typing import TypedDict

WORDS = {"unknown": "not known"}  # of a verdict, where the words differ from it


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
    verdict: str  # better, worse, higher or lower where that is shown; else same or unknown
    regression: bool


class ValueRow(TypedDict):
    """A profile's own values in both campaigns, geometric means over blocks: information."""

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
    """What differs in the manifests."""

    node: str
    name: str
    values: list[str | None]


class CampaignComparison(TypedDict):
    """The content of comparison.json."""

    schema: int
    baseline: str
    threshold: float | None
    matters_percent: float  # the smallest of the campaigns' own
    compared: list[ComparedCampaign]
    manifest: list[ManifestDifference]
    failures: list[str]
    passed: bool
    note: str


def direction(better: str | None, ratio: float) -> str:
    """Return the verdict on a difference that is shown: better or worse; higher or lower where
    neither is better.
    """
    if better is None:
        return "higher" if ratio > 1 else "lower"
    return "better" if (ratio > 1) == (better == "higher") else "worse"
