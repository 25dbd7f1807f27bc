# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single trials: over time, and how those of each profile are spread."""

from __future__ import annotations

from itertools import chain
from typing import Any

from . import marks, scales
from .marks import WIDTH, Figure

HEIGHT, TOP, LEFT, RIGHT = 190, 24, 50, 14
BOTTOM = HEIGHT - 42
SPREAD_ROW = 24
LOOKS = {"others": "h-same", "control": "f-better"}


def over_time(panel: dict[str, Any], title: str) -> Figure:
    """Draw trials over time: control and others, or each block's median and middle half; left out
    ones as crosses.
    """
    figure = Figure(title, panel["summary"], HEIGHT)
    left_out = panel["left_out"]
    points = [*panel["others"], *panel["control"], *left_out]
    times = [point[0] for point in points]
    most = max(chain.from_iterable(point[1:] for point in points))
    pad = 0.02 * max(max(times) - min(times), 1e-6)
    up = scales.Scale(0.0, (most or 1.0) * 1.06, BOTTOM, TOP)
    right = scales.Scale(min(times) - pad, max(times) + pad, LEFT, WIDTH - RIGHT)
    scales.upwards(figure, up, LEFT, WIDTH - RIGHT, scales.labelled(scales.even_ticks(up.high, 4)))
    ticks = [place for place in scales.even_ticks(max(times), 6) if place >= right.low]
    scales.across(figure, right, BOTTOM, scales.labelled(ticks))
    for name, look in LOOKS.items():
        middles = panel[name]
        if panel["summarised"]:
            figure.shape(f"s-{look[2:]}", [_half(block, right, up) for block in panel[name]])
            middles = [(at, middle) for at, _low, middle, _high in panel[name]]
        draw = marks.square if name == "control" else marks.circle
        figure.shape(look, [draw(right.at(at), up.at(value), 2.2) for at, value in middles])
    figure.shape(
        "s-worse", [marks.cross(right.at(at), up.at(value), 2.6) for at, value in left_out]
    )
    figure.words(
        (WIDTH / 2, HEIGHT - 12),
        f"{panel['time_unit']} since the first trial",
        "small muted",
        "middle",
    )
    items = [
        (panel["unit"] + ":", "", ""),
        (marks.short(panel["control_name"], 14), "f-better", "small square"),
        ("others", "h-same", "circle"),
    ]
    marks.legend(figure, items + [("left out", "s-worse", "cross")] * bool(left_out))
    return figure


def _half(block: tuple[float, float, float, float], right: scales.Scale, up: scales.Scale) -> str:
    """Return the line over the middle half of a block."""
    at, low, _middle, high = block
    return marks.line((right.at(at), up.at(low)), (right.at(at), up.at(high)))


def spread(panel: dict[str, Any], title: str) -> Figure:
    """Draw the trials of each profile along one line each, so that two modes are seen as two."""
    names = [row["label"] for row in panel["rows"]]
    left, bottom = marks.label_width(names, 160), 14 + SPREAD_ROW * len(names)
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
