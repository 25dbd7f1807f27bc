# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's section "as in the study": medians in the units of the published study, one table a
path and MTU. Pure.

A campaign that repeats a study names it with ``study``; :data:`COLUMNS` says what that study
prints, :data:`BETWEEN` which of its workloads it compares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Optional

from .._analysis.campaign_verdicts import unsupported_profiles
from .._analysis.result import AnalysedTable, Analysis, Metric, ProfileEffect
from .._campaign.nouns import Plan
from .._figures.nouns import PlainTable, plain_table
from .._statistics import text
from .nouns import Study

MBPS = ("throughput", "Mbit/s", "throughput", None)
CHANGE = ("change", "%", "throughput", "percent")
GAIN = ("change", "Mbit/s", "throughput", "difference")
TIMES = ("ratio", "times", "throughput", "ratio")
RATE = ("transactions", "1/s", "transactions", None)
RATE_TIMES = ("ratio", "times", "transactions", "ratio")
DEMAND = ("service demand", "µs/KB", "service_demand", None)
DEMAND_CHANGE = ("its change", "%", "service_demand", "percent")
USER, SYSTEM, SOFTIRQ = (
    ("CPU " + kind, "%", "cpu_" + kind, None) for kind in ("user", "system", "softirq")
)
MEGABYTES = ("throughput", "MB/s", "throughput", "megabytes")
CALLS = ("receive calls", "1/s", "receive_calls", None)
MEGABYTE = 8 * 2**20 / 1e6  # Mbit; the kernel's udpgso_bench_rx prints such megabytes
# (title, unit, metric, what is printed of it: the median, or its difference to the control)
COLUMNS = {
    "hardware_offloads": (MBPS, CHANGE, USER, SYSTEM),
    "tso_ports": (MBPS, CHANGE, GAIN, DEMAND, DEMAND_CHANGE),
    "vxlan_rss": (MBPS, CHANGE, SOFTIRQ, DEMAND),
    "ovs_vxlan_offload": (MBPS, CHANGE, DEMAND, DEMAND_CHANGE),
    "vxlan_linux_bridge": (MBPS, CHANGE, DEMAND, DEMAND_CHANGE),
    "udp_gro": (MEGABYTES, CALLS, DEMAND),
    "userspace_tso": (MBPS, TIMES, DEMAND, DEMAND_CHANGE),
    "udp_forwarding": (MBPS, TIMES, DEMAND, DEMAND_CHANGE),
    "one_core": (MEGABYTES, TIMES, DEMAND, DEMAND_CHANGE),
    "big_tcp": (RATE, RATE_TIMES, DEMAND, DEMAND_CHANGE),
    "xdp_on_veth": (MBPS, TIMES, DEMAND, DEMAND_CHANGE),
    "zero_copy": (MEGABYTES, TIMES, DEMAND, DEMAND_CHANGE),
}
# A study that compares workloads: the second with the first.
BETWEEN = {
    "udp_gro": ("apart", "joined"),
    "one_core": ("udp", "udp_gso"),
    "zero_copy": ("copied", "zero_copy"),
}
ENDS = ("combined", "client", "server")
NONE = "–"
SAME = "~"
MEDIANS = (None, "megabytes")  # what is printed of a column that has medians


Column = tuple[str, str, str, Optional[str]]
Metrics = dict[str, dict[Optional[str], Metric]]  # {metric: {end: ...}}


class StudyColumn(NamedTuple):
    """A column: its title, its metric, and what is printed of it."""

    title: str
    metric: Metric
    what: str | None


def _metrics(table: AnalysedTable) -> Metrics:
    """Return {metric: {end: metric of the analysis}}; throughput has the end None."""
    by_name: Metrics = {}
    for metric in table.metrics:
        name = metric.metric
        for end in ENDS:
            name = name.replace(f"_{end}", "")
        by_name.setdefault(name, {})[metric.end] = metric
    return by_name


def _number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _signed(value: float, digits: int) -> str:
    return f"{value:+,.{digits}f}"


def _cell(column: StudyColumn, profile: str) -> str:
    """Return what is printed of one profile; the control has no change."""
    control = column.metric.control
    what = column.what
    if what in MEDIANS:
        return _number(_median(column, profile))
    row = {row.profile: row for row in column.metric.rows}.get(profile)
    if profile == control.profile or not isinstance(row, ProfileEffect) or row.median is None:
        return NONE
    if row.state == "same":
        return SAME
    return _change(row, control.median, what)


def _median(column: StudyColumn, profile: str) -> float | None:
    """Return a profile's median in the unit of a column that prints it."""
    rows = [column.metric.control, *column.metric.rows]
    median = next((row.median for row in rows if row.profile == profile), None)
    if median is None or column.what != "megabytes":
        return median
    return median / MEGABYTE


def _change(row: ProfileEffect, control: float | None, what: str | None) -> str:
    """Return a profile's difference to the control: ``ratio``, ``percent``, or in the metric's
    unit.
    """
    unknown = "?" if row.state == "unknown" else ""
    ratio = row.ratio
    if what == "ratio":
        return NONE if ratio is None else f"{ratio:.2f}{unknown}"
    if what == "percent":
        return NONE if ratio is None else _signed((ratio - 1) * 100, 1) + unknown
    median = row.median
    if control is None or median is None:
        return NONE
    return _signed(median - control, 2) + unknown


def _heads(columns: Iterable[Column], metrics: Metrics) -> list[StudyColumn]:
    """Return the columns of a table: a quantity of both ends has one for each of them."""
    heads = []
    for title, unit, name, what in columns:
        ends = metrics.get(name, {})
        for end in sorted(ends, key=lambda end: ENDS.index(end or "combined")):
            at_end = "" if end in (None, "combined") else f" {end}"
            heads.append(StudyColumn(f"{title}{at_end}, {unit}", ends[end], what))
    return heads


class StudyRow(NamedTuple):
    """A profile with one workload; ``cells`` are by their column's title."""

    workload: str
    profile: str
    cells: dict[str, str]


def _rows(
    table: AnalysedTable, heads: list[StudyColumn], control: str, impossible: Collection[str]
) -> list[StudyRow]:
    if not heads:
        return []
    rows = []
    for profile in [control, *(row.profile for row in heads[0].metric.rows)]:
        if profile in impossible:
            rows.append(StudyRow(table.workload, f"{profile}: unsupported", {}))
        else:
            cells = {column.title: _cell(column, profile) for column in heads}
            rows.append(StudyRow(table.workload, profile, cells))
    return rows


def _between(
    study: str, group: Sequence[AnalysedTable], control: str, impossible: Collection[str]
) -> list[StudyRow]:
    """Return the ratio of each median of one workload to the same median of another."""
    first, second = BETWEEN.get(study, (None, None))
    heads = {table.workload: _heads(COLUMNS[study], _metrics(table)) for table in group}
    if first not in heads or second not in heads:
        return []
    pairs = list(zip(heads[first], heads[second]))
    others = [row.profile for row in heads[first][0].metric.rows]
    rows = []
    for profile in [control, *(name for name in others if name not in impossible)]:
        cells = {column.title: _times(column, other, profile) for column, other in pairs}
        rows.append(StudyRow(f"{second} / {first}", profile, cells))
    return rows


def _times(base_column: StudyColumn, column: StudyColumn, profile: str) -> str:
    base = _median(base_column, profile)
    value = _median(column, profile)
    return f"{value / base:.3g} times" if base and value is not None else NONE


def _printed(row: StudyRow, titles: Iterable[str]) -> list[str]:
    return [row.workload, row.profile, *(row.cells.get(title, NONE) for title in titles)]


def _table(
    study: str, group: Sequence[AnalysedTable], control: str, impossible: Collection[str]
) -> PlainTable:
    rows: list[StudyRow] = []
    titles: dict[str, None] = {}
    for table in group:
        heads = _heads(COLUMNS[study], _metrics(table))
        titles.update(dict.fromkeys(column.title for column in heads))
        rows += _rows(table, heads, control, impossible)
    rows += _between(study, group, control, impossible)
    first_table = group[0]
    mtu = f"MTU {first_table.mtu}" if first_table.mtu else None
    head = ["Workload", "Profile", *titles]
    return {
        **plain_table(head, [_printed(row, titles) for row in rows], head[:2]),
        "caption": " · ".join(filter(None, (first_table.path, mtu, first_table.pair))),
    }


def section(plan: Plan, analysis: Analysis) -> Study | None:
    """Return the section of a campaign that repeats a study, or None."""
    study = plan.get("study")
    if not study:
        return None
    impossible = unsupported_profiles(analysis)
    groups: dict[tuple[str, ...], list[AnalysedTable]] = {}
    for table in analysis.tables:
        key = str(table.mtu), str(table.path), str(table.pair)
        groups.setdefault(key, []).append(table)
    tables = [_table(study, groups[key], analysis.control, impossible) for key in sorted(groups)]
    return Study(_note(plan, analysis.control, impossible), tables)


def _note(plan: Plan, control: str, impossible: dict[str, str]) -> str:
    note = (
        f"Medians of {text.count(plan['blocks'], 'block')} in the units of the study; changes are to "
        f"{control}, paired inside blocks. {SAME}: no difference that matters. ?: not known."
    )
    if plan["blocks"] < 6:
        note += " With so few blocks there is no test: a change here may be noise."
    for name, reason in (plan.get("untestable") or {}).items():
        note += f" {name} was not varied: {reason}."
    for name, reason in impossible.items():
        note += f" {name} is unsupported here: {reason}."
    return note
