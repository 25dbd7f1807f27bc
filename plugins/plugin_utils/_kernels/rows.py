# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a report over kernels, as kernels.json has it; docs/data-format.md explains each key."""

from __future__ import annotations

from typing import TypedDict

from .._compare.rows import ManifestDifference


class Under(TypedDict):
    """One quantity under one kernel; ``mean`` is None where it was not measured."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


class KernelChange(TypedDict):
    """An effect that differs between two kernels, the later one's as a ratio to the earlier one's.

    No two kernels between them were shown to differ: they are neighbours, or the place is not known
    more closely.
    """

    before: str
    after: str
    ratio: float
    low: float | None
    high: float | None
    p: float | None  # corrected for the whole report
    verdict: str


class KernelQuantity(TypedDict):
    """One quantity under all kernels: the control's own values, or the effect of a profile."""

    id: str
    table: str
    metric: str
    label: str
    unit: str
    better: str | None
    profile: str
    kind: str  # value or effect
    under: list[Under]
    changes: list[KernelChange]  # of effects
    sides: list[list[str]]  # kernels, in order; a change lies between each two sides
    between: list[str]  # kernels of which the side is not known
    state: str | None  # of effects: different, same or unknown


class Support(TypedDict):
    """What a device could be asked under each kernel, where that differs."""

    what: str
    where: str
    values: list[str]


class KernelFailures(TypedDict):
    """How many trials of a profile failed under each kernel, such as ``3 of 16``."""

    profile: str
    values: list[str]


class KernelPayload(TypedDict):
    """What became of payload whose content is known, on one path, under each kernel."""

    path: str
    mtu: int
    verdicts: list[str]  # as the report of each campaign has them, or "not checked"
    values: list[str]  # the same in words


class KernelAdvice(TypedDict):
    """What is recommended under one kernel; ``name`` is None where nothing is."""

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
