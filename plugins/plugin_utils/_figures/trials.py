# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single trials: over time, and how those of each profile are spread."""

from __future__ import annotations

from . import marks, scales
from .marks import WIDTH, Figure
from .nouns import SpreadPanel, TimeMark, TimePanel

HEIGHT = 190
TOP = 24
LEFT = 50
RIGHT = 14
BOTTOM = HEIGHT - 42
SPREAD_ROW = 24


def over_time(panel: TimePanel, title: str) -> Figure:
    """Draw trials over time: control and others, or each block's median and middle half; left out
    ones as crosses.
    """
    figure = Figure(title, panel["summary"], HEIGHT)
    points = [*panel["others"], *panel["control"], *panel["left_out"]]
    right, up = _scales(points)
    last = max(one.time for one in points)
    scales.upwards(figure, up, LEFT, WIDTH - RIGHT, scales.labelled(scales.even_ticks(up.high, 4)))
    scales.across(figure, right, BOTTOM, scales.labelled(_time_ticks(right, last)))
    _middles(figure, panel["others"], "same", right, up)
    _middles(figure, panel["control"], "better", right, up)
    crosses = [marks.cross(right.at(one.time), up.at(one.value), 2.6) for one in panel["left_out"]]
    figure.shape("s-worse", crosses)
    axis = f"{panel['time_unit']} since the first trial"
    figure.words((WIDTH / 2, HEIGHT - 12), axis, "small muted", "middle")
    items = [
        (panel["unit"] + ":", "", ""),
        (marks.short(panel["control_name"], 14), "f-better", "small square"),
        ("others", "h-same", "circle"),
    ]
    if panel["left_out"]:
        items.append(("left out", "s-worse", "cross"))
    marks.legend(figure, items)
    return figure


def _scales(points: list[TimeMark]) -> tuple[scales.Scale, scales.Scale]:
    """Return the scales of the times and of the values."""
    times = [one.time for one in points]
    most = max(max(one.value, one.high or 0.0) for one in points)
    pad = 0.02 * max(max(times) - min(times), 1e-6)
    right = scales.Scale(min(times) - pad, max(times) + pad, LEFT, WIDTH - RIGHT)
    return right, scales.Scale(0.0, (most or 1.0) * 1.06, BOTTOM, TOP)


def _time_ticks(right: scales.Scale, last: float) -> list[float]:
    return [place for place in scales.even_ticks(last, 6) if right.holds(place)]


def _middles(
    figure: Figure, points: list[TimeMark], colour: str, right: scales.Scale, up: scales.Scale
) -> None:
    """Draw the control's marks filled and square, others hollow and round; of a block a line over
    its middle half, too.
    """
    is_control = colour == "better"
    draw = marks.square if is_control else marks.circle
    halves = []
    for one in points:
        if one.low is not None and one.high is not None:
            x = right.at(one.time)
            halves.append(marks.line((x, up.at(one.low)), (x, up.at(one.high))))
    figure.shape(f"s-{colour}", halves)
    middles = [draw(right.at(one.time), up.at(one.value), 2.2) for one in points]
    figure.shape(f"f-{colour}" if is_control else f"h-{colour}", middles)


def spread(panel: SpreadPanel, title: str) -> Figure:
    """Draw the trials of each profile along one line each, so that two modes are seen as two."""
    names = [row["label"] for row in panel["rows"]]
    left = marks.label_width(names, 160)
    bottom = 14 + SPREAD_ROW * len(names)
    figure = Figure(title, panel["summary"], bottom + 40)
    most = max(max(row["values"]) for row in panel["rows"])
    scale = scales.Scale(0.0, most * 1.03, left, WIDTH - RIGHT)
    for place, row in enumerate(panel["rows"]):
        middle = 14 + SPREAD_ROW * (place + 0.5)
        figure.shape("s-line", [marks.line((left, middle), (WIDTH - RIGHT, middle))])
        figure.shape(
            f"h-{'better' if place == 0 else 'same'}",
            [
                marks.circle(scale.at(value), middle + 4 * (number % 3 - 1), 2.4)
                for number, value in enumerate(row["values"])
            ],
        )
    marks.row_labels(
        figure, names, left - 5, [14 + SPREAD_ROW * (place + 0.5) for place in range(len(names))]
    )
    scales.across(figure, scale, bottom, scales.labelled(scales.even_ticks(scale.high, 4)))
    figure.words(
        ((left + WIDTH - RIGHT) / 2, figure.height - 10), panel["unit"], "small muted", "middle"
    )
    return figure
