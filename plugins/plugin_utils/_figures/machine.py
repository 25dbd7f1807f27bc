# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the machines did: CPU time by kind, and softirq time by CPU."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import product

from .._campaign.nouns import Plan
from .._statistics import text
from .._trials.digest import ENDS, KINDS, Digest
from .._trials.digest import Table as TableKey
from . import marks
from .marks import ROW, WIDTH, Figure
from .nouns import (
    CpuPanel,
    CpuRow,
    HeatPanel,
    HeatRow,
    NamedTable,
    Shares,
    plain_table,
)

HEAT_STEPS = 9
HEAT_ROW = 16
GAP = 22
RIGHT = 14
MaybeMedians = dict[str, "float | None"]  # {profile: median}, None where nothing was measured
OfCpus = Mapping[tuple[str, str], "dict[int, float] | None"]  # {(profile, end): {CPU: %}}
MOST_ROWS = 41  # profiles in one figure
LEAST_SHOWN = 0.05  # per cent of a host; a kind with less everywhere is left out
HEAT_TOPS = (9, 18, 27, 45, 63, 90, 100)  # per cent, where the scale of a heat map may end
MOST_HEAT = 8  # heat maps; those with the most streams come first
CPU_TEXT = [
    "CPU time of a whole host while the streams ran, medians over the trials, by what it was spent on. Guest "
    "time and nice count as user."
]
HEAT_TEXT = [
    "Share of each CPU's time spent in softirq, mean over the trials: where one CPU carries the receive side, "
    "its column stands out."
]
HEAT_HEAD = ("Profile", "End", "Busiest CPU", "its softirq, %", "Mean of all, %")


def cpu(panel: CpuPanel, title: str) -> Figure:
    """Draw CPU time by kind, stacked, a bar a profile, the ends side by side; per cent of all CPUs
    of a host.
    """
    rows = panel["rows"]
    ends = panel["ends"]
    names = [row["label"] for row in rows]
    label_width = marks.label_width(names, 160)
    bottom = 26 + ROW * len(names)
    figure = Figure(title, panel["summary"], bottom + 44)
    width = (WIDTH - label_width - RIGHT - GAP * (len(ends) - 1)) / len(ends)
    most = max(map(_most, rows))
    ticks = marks.labelled(marks.even_ticks(min(most, 100.0), 3 if len(ends) > 1 else 5))
    for number, end in enumerate(ends):
        start = label_width + number * (width + GAP)
        scale = marks.Scale(0.0, max(min(most * 1.03, 100.0), 1.0), start, start + width)
        _stacks(figure, scale, panel["kinds"], [row["kinds"].get(end) or {} for row in rows])
        marks.across(figure, scale, bottom, ticks)
        figure.words(
            (start + width / 2, figure.height - 12), f"{end}, % of CPU", "small muted", "middle"
        )
    marks.row_labels(
        figure, names, label_width - 5, [26 + ROW * (index + 0.5) for index in range(len(names))]
    )
    marks.legend(figure, [(kind, f"f-{kind}", "square") for kind in panel["kinds"]])
    return figure


def _most(row: CpuRow) -> float:
    """Return the CPU time of a row's busiest end."""
    return max(sum(kinds.values()) for kinds in row["kinds"].values())


def _stacks(figure: Figure, scale: marks.Scale, kinds: list[str], uses: list[Shares]) -> None:
    """Draw the bars of one end, a kind after the other from left to right."""
    edges = [0.0] * len(uses)
    for kind in kinds:
        boxes = []
        for index, use in enumerate(uses):
            start = edges[index]
            edges[index] = edges[index] + use.get(kind, 0.0)
            if edges[index] > start:
                top = 26 + ROW * index + 3
                bottom = 26 + ROW * (index + 1) - 3
                boxes.append(marks.box(scale.at(start), top, scale.at(edges[index]), bottom))
        figure.shape(f"f-{kind}", boxes)


def heat(panel: HeatPanel, title: str) -> Figure:
    """Draw softirq time of each CPU, a row a profile, the ends above each other; per cent of each
    CPU's time.
    """
    names = [row["label"] for row in panel["rows"]]
    label_width = marks.label_width(names, 160)
    part = HEAT_ROW * len(names) + 44
    figure = Figure(title, panel["summary"], part * len(panel["ends"]) + 28)
    width = panel["most"] / HEAT_STEPS
    for number, end in enumerate(panel["ends"]):
        top = 38 + part * number
        bottom = top + HEAT_ROW * len(names)
        cpus = panel["cpus"][end]
        scale = marks.Scale(0, len(cpus), label_width, WIDTH - RIGHT)
        _heat_map(figure, scale, top, [row["shares"][end] for row in panel["rows"]], width)
        shown = range(0, len(cpus), max(1, math.ceil(len(cpus) / 16)))
        marks.across(figure, scale, bottom, [(index + 0.5, str(cpus[index])) for index in shown])
        figure.words(
            ((label_width + WIDTH - RIGHT) / 2, bottom + 26),
            f"CPU of the {end}",
            "small muted",
            "middle",
        )
        middles = [top + HEAT_ROW * (index + 0.5) for index in range(len(names))]
        marks.row_labels(figure, names, label_width - 5, middles)
    steps = [(f"{step * width:.0f}", f"f-heat{step}", "square") for step in range(HEAT_STEPS)]
    marks.legend(figure, [*steps, ("% softirq", "", "")])
    return figure


def _heat_map(
    figure: Figure, scale: marks.Scale, top: float, rows: list[list[float]], width: float
) -> None:
    """Draw the cells of one end, one colour after the other; ``width`` is the range of a colour."""
    gap = 0.5 if scale.high <= 32 else 0.1
    steps: list[list[str]] = [[] for _step in range(HEAT_STEPS)]
    for index, shares in enumerate(rows):
        upper = top + HEAT_ROW * index + 0.5
        lower = top + HEAT_ROW * (index + 1) - 0.5
        for column, share in enumerate(shares):
            step = min(HEAT_STEPS - 1, int(share / width))
            x_left = scale.at(column) + gap
            right = scale.at(column + 1) - gap
            steps[step].append(marks.box(x_left, upper, right, lower))
    for step, cells in enumerate(steps):
        figure.shape(f"f-heat{step}", cells)


def table_key(table: NamedTable) -> TableKey:
    """Return a table as the digest names it."""
    return table.path, table.mtu, table.workload


def _profiles(table: NamedTable, plan: Plan) -> dict[str, str]:
    """Return the first profiles of a table, and how the report calls each."""
    rows = table.quantities[0].rows[: MOST_ROWS - 1]
    return {plan["control"]: plan["control"], **{row.profile: row.label for row in rows}}


def cpu_panels(tables: Sequence[NamedTable], plan: Plan) -> list[CpuPanel]:
    """Return a panel a table: ``rows`` of profiles with the share of each kind at each end, in per
    cent.
    """
    panels = []
    for table in tables:
        cpu_time = _cpu_time(table, plan["control"])
        ends = [end for end in ENDS if end in cpu_time]
        rows: list[CpuRow] = []
        for profile, label in _profiles(table, plan).items():
            kinds = {end: _kinds(cpu_time[end], profile) for end in ends}
            if any(kinds.values()):
                rows.append({"label": label, "kinds": kinds})
        if rows:
            panels.append(_cpu_panel(table, rows, ends))
    return panels


def _cpu_time(table: NamedTable, control: str) -> dict[str, dict[str, MaybeMedians]]:
    """Return ``{end: {kind: {profile: median per cent}}}`` of one table."""
    by_end: dict[str, dict[str, MaybeMedians]] = {}
    for metric in table.metrics:
        if metric.metric.startswith("cpu_"):
            kind = metric.metric.rsplit("_", 1)[1]
            medians: MaybeMedians = {row.profile: row.median for row in metric.rows}
            medians[control] = metric.control.median
            by_end.setdefault(metric.end or "", {})[kind] = medians
    return by_end


def _kinds(kinds: dict[str, MaybeMedians], profile: str) -> Shares:
    """Return the shares by kind of a profile, or ``busy`` alone where nothing finer was measured.

    Medians of kinds need not add up to what a host has: a sum above 100 is brought back to it.
    """
    shown_kinds = [kind for kind in KINDS if kind in kinds] or ["busy"]
    measured = {kind: kinds[kind].get(profile) for kind in shown_kinds if kind in kinds}
    shares = {kind: share for kind, share in measured.items() if share is not None}
    total = max(sum(shares.values()), 100.0)
    return {kind: share * 100.0 / total for kind, share in shares.items()}


def _shown_kinds(rows: list[CpuRow]) -> list[str]:
    """Return the kinds on which any host spent enough time to be visible."""
    most = dict.fromkeys((*KINDS, "busy"), 0.0)
    for row in rows:
        for use in row["kinds"].values():
            for kind, share in use.items():
                most[kind] = max(most[kind], share)
    return [kind for kind, share in most.items() if share >= LEAST_SHOWN] or ["busy"]


def _cpu_panel(table: NamedTable, rows: list[CpuRow], ends: list[str]) -> CpuPanel:
    kinds = _shown_kinds(rows)
    columns = list(product(ends, kinds))
    cells: list[list[str]] = []
    for row in rows:
        shares = [text.number(row["kinds"][end].get(kind)) for end, kind in columns]
        cells.append([row["label"], *shares])
    busiest = max(rows, key=_most)
    head = ["Profile", *(f"{end} {kind}, %" for end, kind in columns)]
    return {
        "title": table.title,
        "rows": rows,
        "ends": ends,
        "kinds": kinds,
        "summary": f"CPU time by kind for {text.count(len(rows), 'profile')}. Busiest: {busiest['label']}.",
        "numbers": plain_table(head, cells, head[:1]),
    }


def heat_panels(tables: Sequence[NamedTable], plan: Plan, digest: Digest) -> list[HeatPanel]:
    """Return a panel a table: softirq per cent of each CPU at each end, a row a profile."""
    streams = _streams(plan)
    panels = []
    for table in sorted(tables, key=lambda table: -streams.get(table.workload, 1))[:MOST_HEAT]:
        labels = _profiles(table, plan)
        shares = {
            (profile, end): digest.softirq.get((table_key(table), profile, end))
            for profile, end in product(labels, ENDS)
        }
        measured = {end for (_profile, end), value in shares.items() if value}
        if measured:
            ends = [end for end in ENDS if end in measured]
            panels.append(_heat_panel(table, labels, shares, ends))
    return panels


def _streams(plan: Plan) -> dict[str, int]:
    """Return how many streams each workload has, of all tenants."""
    return {
        work["name"]: (work.get("streams") or 1) * (work.get("tenants") or 1)
        for work in plan["workloads"]
    }


def _heat_panel(
    table: NamedTable, labels: dict[str, str], shares: OfCpus, ends: list[str]
) -> HeatPanel:
    profiles = [profile for profile in labels if _measured(shares, profile, ends)]
    cpus = {end: _cpus(shares, profiles, end) for end in ends}
    rows: list[HeatRow] = []
    cells: list[list[str]] = []
    most = 0.0
    for profile in profiles:
        by_end = {end: _in_order(shares[profile, end] or {}, cpus[end]) for end in ends}
        rows.append({"label": labels[profile], "shares": by_end})
        for end, values in by_end.items():
            cells.append([labels[profile], end, *_heat_numbers(values, cpus[end])])
            most = max(most, *values)
    profiles_told = text.count(len(rows), "profile")
    cpus_told = text.count(max(map(len, cpus.values())), "CPU")
    return {
        "title": table.title,
        "rows": rows,
        "ends": ends,
        "cpus": cpus,
        "numbers": plain_table(HEAT_HEAD, cells, HEAT_HEAD[:2]),
        "most": _top(most),
        "summary": f"Heat map of softirq time, {profiles_told} by {cpus_told}.",
    }


def _measured(shares: OfCpus, profile: str, ends: list[str]) -> bool:
    """Return whether a profile's shares are known at all of the ends."""
    return all(shares[profile, end] for end in ends)


def _top(most: float) -> int:
    """Return where the scale ends."""
    return next((top for top in HEAT_TOPS if top >= most), HEAT_TOPS[-1])


def _cpus(shares: OfCpus, profiles: list[str], end: str) -> list[int]:
    """Return the CPUs of an end that have a share in any profile."""
    return sorted(set[int]().union(*(shares[profile, end] or () for profile in profiles)))


def _in_order(shares: dict[int, float], cpus: list[int]) -> list[float]:
    return [shares.get(cpu, 0.0) for cpu in cpus]


def _heat_numbers(values: list[float], cpus: list[int]) -> list[str]:
    """Return the busiest CPU, its share, and the mean of all."""
    most = max(values)
    return [
        str(cpus[values.index(most)]),
        text.number(most),
        text.number(statistics.fmean(values)),
    ]
