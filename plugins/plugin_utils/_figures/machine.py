# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the machines did: CPU time by kind, and softirq time by CPU."""

from __future__ import annotations

import math

from . import marks, scales
from .marks import ROW, WIDTH, Figure
from .nouns import CpuPanel, CpuRow, HeatPanel, Shares

HEAT_STEPS = 9
HEAT_ROW = 16
GAP = 22
RIGHT = 14


def cpu(panel: CpuPanel, title: str) -> Figure:
    """Draw CPU time by kind, stacked, a bar a profile, the ends side by side; per cent of all CPUs
    of a host.
    """
    rows = panel["rows"]
    ends = panel["ends"]
    names = [row["label"] for row in rows]
    left = marks.label_width(names, 160)
    bottom = 26 + ROW * len(names)
    figure = Figure(title, panel["summary"], bottom + 44)
    width = (WIDTH - left - RIGHT - GAP * (len(ends) - 1)) / len(ends)
    most = max(map(_most, rows))
    ticks = scales.labelled(scales.even_ticks(min(most, 100.0), 3 if len(ends) > 1 else 5))
    for number, end in enumerate(ends):
        start = left + number * (width + GAP)
        scale = scales.Scale(0.0, max(min(most * 1.03, 100.0), 1.0), start, start + width)
        _stacks(figure, scale, panel["kinds"], [row["kinds"].get(end) or {} for row in rows])
        scales.across(figure, scale, bottom, ticks)
        figure.words(
            (start + width / 2, figure.height - 12), f"{end}, % of CPU", "small muted", "middle"
        )
    marks.row_labels(
        figure, names, left - 5, [26 + ROW * (place + 0.5) for place in range(len(names))]
    )
    marks.legend(figure, [(kind, f"f-{kind}", "square") for kind in panel["kinds"]])
    return figure


def _most(row: CpuRow) -> float:
    """Return the CPU time of a row's busiest end."""
    return max(sum(kinds.values()) for kinds in row["kinds"].values())


def _stacks(figure: Figure, scale: scales.Scale, kinds: list[str], uses: list[Shares]) -> None:
    """Draw the bars of one end, a kind after the other from left to right."""
    edges = [0.0] * len(uses)
    for kind in kinds:
        boxes = []
        for place, use in enumerate(uses):
            start = edges[place]
            edges[place] = edges[place] + use.get(kind, 0.0)
            if edges[place] > start:
                top = 26 + ROW * place + 3
                bottom = 26 + ROW * (place + 1) - 3
                boxes.append(marks.box(scale.at(start), top, scale.at(edges[place]), bottom))
        figure.shape(f"f-{kind}", boxes)


def heat(panel: HeatPanel, title: str) -> Figure:
    """Draw softirq time of each CPU, a row a profile, the ends above each other; per cent of each
    CPU's time.
    """
    names = [row["label"] for row in panel["rows"]]
    left = marks.label_width(names, 160)
    part = HEAT_ROW * len(names) + 44
    figure = Figure(title, panel["summary"], part * len(panel["ends"]) + 28)
    width = panel["most"] / HEAT_STEPS
    for number, end in enumerate(panel["ends"]):
        top = 38 + part * number
        bottom = top + HEAT_ROW * len(names)
        cpus = panel["cpus"][end]
        scale = scales.Scale(0, len(cpus), left, WIDTH - RIGHT)
        _heat_map(figure, scale, top, [row["shares"][end] for row in panel["rows"]], width)
        shown = range(0, len(cpus), max(1, math.ceil(len(cpus) / 16)))
        scales.across(figure, scale, bottom, [(place + 0.5, str(cpus[place])) for place in shown])
        figure.words(
            ((left + WIDTH - RIGHT) / 2, bottom + 26), f"CPU of the {end}", "small muted", "middle"
        )
        middles = [top + HEAT_ROW * (place + 0.5) for place in range(len(names))]
        marks.row_labels(figure, names, left - 5, middles)
    steps = [(f"{step * width:.0f}", f"f-heat{step}", "square") for step in range(HEAT_STEPS)]
    marks.legend(figure, [*steps, ("% softirq", "", "")])
    return figure


def _heat_map(
    figure: Figure, scale: scales.Scale, top: float, rows: list[list[float]], width: float
) -> None:
    """Draw the cells of one end, those of one colour together; ``width`` is what a colour spans."""
    gap = 0.5 if scale.high <= 32 else 0.1
    steps: list[list[str]] = [[] for _step in range(HEAT_STEPS)]
    for place, shares in enumerate(rows):
        upper = top + HEAT_ROW * place + 0.5
        lower = top + HEAT_ROW * (place + 1) - 0.5
        for column, share in enumerate(shares):
            step = min(HEAT_STEPS - 1, int(share / width))
            left = scale.at(column) + gap
            right = scale.at(column + 1) - gap
            steps[step].append(marks.box(left, upper, right, lower))
    for step, cells in enumerate(steps):
        figure.shape(f"f-heat{step}", cells)
