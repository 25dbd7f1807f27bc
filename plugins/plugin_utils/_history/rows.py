# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a history, as history.json has it; docs/data-format.md explains each key."""

from __future__ import annotations

from typing import TypedDict

from .._compare.rows import ManifestDifference


class Series(TypedDict):
    """One quantity over all campaigns: the control's own values, or a profile's effect, a ratio to
    the control.
    """

    id: str
    table: str
    metric: str
    label: str
    unit: str
    better: str | None
    profile: str
    kind: str  # value or effect
    means: list[float]
    low: list[float | None]
    high: list[float | None]


class SeriesStep(TypedDict):
    """How one series changed: what is after the change as a ratio to what is before it."""

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
    """One campaign of a history and what it ran on."""

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
