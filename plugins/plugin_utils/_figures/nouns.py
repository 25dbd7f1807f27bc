# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns that a report and its figures share: tables of effects, and what each figure shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

from .._analysis.result import AnalysedTable, Effect, Spread
from .._statistics import text

Medians = dict[str, float]  # {profile: median}
Shares = dict[str, float]  # {kind of CPU time: %}


@dataclass(frozen=True, kw_only=True)
class QuantityRow:
    """One profile, or one setting, against what it is compared with."""

    profile: str
    label: str  # how the report calls the profile
    effect: Effect
    spread: Spread
    base: Spread | None = None  # of a turned table: the control of its place
    floor: float | None = None  # of a turned table: the noise floor of its place

    @property
    def printed(self) -> str:
        """The effect as printed: its ratio, ~ or with ?."""
        return text.effect(self.effect.ratio, self.effect.outcome)


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One quantity of a table, such as the throughput, with a row for each profile."""

    name: str
    group: str  # "main", "interactions", "profiles", or as the name
    label: str
    unit: str
    better: str  # "higher" or "lower"
    blocks: int
    control: str  # what the ratios are to
    control_row: Spread | None  # None where what they are to has no median
    noise_floor: float | None  # as a ratio above 1, like the next one
    smallest: float | None  # effect that could have been shown
    rows: list[QuantityRow]


@dataclass(frozen=True, kw_only=True)
class NamedTable(AnalysedTable):
    """A table of the analysis, with its names on the page and the quantities that are shown of it."""

    title: str
    short: str  # without what is the same for all tables
    notes: list[str]
    medians: dict[str, Medians]  # {metric: ...}, the control first
    quantities: list[Quantity]  # the main one first
    packets: str = ""  # what packets explain: small datagrams a second, counts of the kernel


class PlainRow(TypedDict):
    """A row as printed."""

    cells: list[str]
    css: NotRequired[str]


class PlainTable(TypedDict):
    """A table as printed; ``text`` are the heads of columns that hold words."""

    head: list[str]
    text: list[str]
    rows: list[PlainRow]
    title: NotRequired[str]
    caption: NotRequired[str]
    folded: NotRequired[bool]


def plain_table(
    head: Sequence[str], rows: Iterable[Iterable[str]], text_columns: Sequence[str] | None = None
) -> PlainTable:
    """Return a table of these cells. ``text_columns`` are the heads of columns with text; without
    this argument all columns have text.
    """
    return {
        "head": list(head),
        "text": list(head if text_columns is None else text_columns),
        "rows": [{"cells": list(cells)} for cells in rows],
    }


class Panel(TypedDict):
    """What one figure shows; ``summary`` says it in words."""

    title: str
    summary: str
    caption: NotRequired[str]
    numbers: NotRequired[PlainTable]


class CpuRow(TypedDict):
    """What a profile's CPUs were busy with, at each end."""

    label: str
    kinds: dict[str, Shares]  # {end: ...}


class CpuPanel(Panel):
    """CPU time by kind."""

    rows: list[CpuRow]
    ends: list[str]
    kinds: list[str]


class HeatRow(TypedDict):
    """The share of softirq of each CPU, at each end, with one profile."""

    label: str
    shares: dict[str, list[float]]  # {end: ...}, in the order of the panel's CPUs


class HeatPanel(Panel):
    """Softirq time by CPU."""

    rows: list[HeatRow]
    ends: list[str]
    cpus: dict[str, list[int]]  # {end: ...}
    most: int  # %, the end of the scale


class TimeMark(NamedTuple):
    """A trial at its time, or a block: its median, and the quartiles ``low`` and ``high``."""

    time: float
    value: float
    low: float | None = None
    high: float | None = None


class TimePanel(Panel):
    """Trials over time, singly, or by block where they are many."""

    control: list[TimeMark]
    others: list[TimeMark]
    left_out: list[TimeMark]
    time_unit: str
    control_name: str
    unit: str


class SpreadRow(TypedDict):
    """The trials of one profile."""

    label: str
    values: list[float]


class SpreadPanel(Panel):
    """How the trials of each profile are spread; ``sentences`` name those in two groups."""

    unit: str
    sentences: list[str]
    rows: list[SpreadRow]


class LatencyRow(TypedDict):
    """Percentiles of a profile's requests in us: p50, p90, p99, p99.9."""

    label: str
    unloaded: list[float]
    loaded: list[float]


class LatencyPanel(Panel):
    """Requests without streams and during streams."""

    rows: list[LatencyRow]


class ParetoPoint(TypedDict):
    """A profile's throughput and its cost; on the ``frontier``, none is better in both."""

    label: str
    value: float
    cost: float
    control: bool
    frontier: bool


class ParetoPanel(Panel):
    """Throughput against CPU cost."""

    points: list[ParetoPoint]
    unit: str
    cost_unit: str


class LevelLine(TypedDict):
    """What each level of the first setting gives at one level of the second."""

    label: str
    values: list[float]


class InteractionPanel(Panel):
    """Two settings that act together."""

    factor: str
    levels: list[str]
    lines: list[LevelLine]
    control: str


class Trend(TypedDict):
    """A quantity over many campaigns, a mean and an interval of each."""

    unit: str
    means: list[float]
    low: list[float | None]
    high: list[float | None]
