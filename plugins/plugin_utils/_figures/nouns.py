# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns that a report and its figures share: tables of effects, and what each figure shows.

A table of effects is made by report/view.py. Of a search it is one of its confirmation, once there
is one: what it visited before claims nothing.
"""

from __future__ import annotations

from typing import NamedTuple, NotRequired, TypedDict

from .._analysis.nouns import Estimate, FailedIn, Spread
from .._statistics.states import Needs

Medians = dict[str, float]  # {profile: median}
MaybeMedians = dict[str, "float | None"]  # None where nothing was measured
Shares = dict[str, float]  # {kind of CPU time: %}


class StatedEffect(Estimate):
    """An effect, and the state of its comparison: better, worse, same or unknown."""

    verdict: str


class QuantityRow(Spread, StatedEffect):
    """One profile, or one setting, against what it is compared with."""

    profile: str
    label: str  # how the report calls the profile
    p: float | None
    needs: Needs | None
    blocks: list[float | None] | None  # the ratio of each block
    base: NotRequired[Spread | None]  # of a turned table: the control of its place
    floor: NotRequired[float | None]  # of a turned table: the noise floor of its place


class Quantity(TypedDict):
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


class PicturedQuantity(Quantity):
    """A quantity with what its figure says, in words."""

    summary: str


class EffectTable(TypedDict):
    """What was compared over one path, at one MTU, with one workload."""

    id: str
    pair: str | None  # None where there is one alone
    path: str
    mtu: int
    workload: str
    test: str  # as netperf names it
    saturated: bool  # a CPU was busy all the time
    failures: list[FailedIn]
    notes: list[str]
    cpu: dict[str, dict[str, MaybeMedians]]  # {end: {kind: %}}
    medians: dict[str, Medians]  # {metric: ...}, the control first
    quantities: list[Quantity]  # the main one first


class NamedTable(EffectTable):
    """A table with its names on the page."""

    title: str
    short: str  # without what is the same for all tables
    packets: NotRequired[str]  # of small datagrams: the medians in packets a second


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
    """Requests without and beside streams."""

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
