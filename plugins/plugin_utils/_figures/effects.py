# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Effects as ratios to the control: their intervals, each with the dots of its blocks. A quantity
over many campaigns: a mark and an interval each, and a line where it changed.
"""

from __future__ import annotations

import math
from itertools import chain

from . import marks
from .marks import WIDTH, Figure
from .nouns import Quantity, QuantityRow, Trend

TOP = 22
BOTTOM = 36
RIGHT = 14
ROW_WITH_DOTS = 26
MOST_DOTS = 700  # of one figure; above that, intervals alone
FARTHEST = 1.6  # how far beyond its interval, in lengths of the longest, a dot may stretch the axis
LOOKS = {
    "better": ("better", "circle", True),
    "worse": ("worse", "square", True),
    "same": ("same", "circle", False),
}


def forest(quantity: Quantity, title: str, summary: str) -> Figure:
    """Draw effects with their intervals; the band of a row is the noise floor from the A/A visits
    of its table.
    """
    rows = [row for row in quantity.rows if row.effect.ratio]
    dots = _all_dots(rows)
    step, raised = (ROW_WITH_DOTS, 4) if any(dots) else (marks.ROW, 0)
    label_width = marks.label_width(row.label for row in rows)
    bottom = TOP + step * len(rows)
    figure = Figure(title, summary, bottom + BOTTOM)
    floors = [row.floor or quantity.noise_floor for row in rows]
    scale = marks.ratio_scale(_range(rows, dots, floors), label_width, WIDTH - RIGHT)
    middles = [TOP + step * (row_index + 0.5) - raised for row_index in range(len(rows))]
    _bands(figure, scale, floors, step)
    figure.shape("s-muted", [marks.line((scale.at(1.0), TOP), (scale.at(1.0), bottom))])
    _blocks(figure, scale, dots, middles)
    _intervals(figure, scale, rows, middles)
    marks.row_labels(figure, [row.label for row in rows], label_width - 5, middles)
    marks.ratio_axis(figure, scale, bottom)
    axis = f"ratio to {quantity.control} (log scale)"
    figure.words((WIDTH / 2, figure.height - 9), marks.short(axis, 66), "small muted", "middle")
    _sides(figure, label_width, quantity.better)
    return figure


def _bands(figure: Figure, scale: marks.Scale, floors: list[float | None], step: float) -> None:
    """Draw the noise floor behind each row."""
    bands = []
    for index, floor in enumerate(floors):
        if floor:
            top = TOP + step * index
            bands.append(marks.box(scale.at(1 / floor), top, scale.at(floor), top + step))
    figure.shape("f-band", bands)


def _all_dots(rows: list[QuantityRow]) -> list[list[float]]:
    """Return the ratios of each row's blocks; of too many none are drawn."""
    dots = [_dots(row) for row in rows]
    if sum(map(len, dots)) > MOST_DOTS:
        return [[] for _row in rows]
    return dots


def _dots(row: QuantityRow) -> list[float]:
    return [value for value in row.effect.differences or () if value]


def _blocks(
    figure: Figure, scale: marks.Scale, dots: list[list[float]], middles: list[float]
) -> None:
    """Draw the blocks under each interval; one that is beyond the axis is a cross at its end."""
    inside = []
    beyond = []
    for row_dots, middle in zip(dots, middles):
        for value in row_dots:
            position = scale.at(value), middle + 10
            if scale.holds(value):
                inside.append(marks.dot(*position))
            else:
                beyond.append(marks.cross(*position, 1.8))
    figure.shape("dots s-same", inside)
    figure.shape("s-same", beyond)


def _range(
    rows: list[QuantityRow], dots: list[list[float]], floors: list[float | None]
) -> list[float]:
    """Return the ratios that the axis holds: intervals and floors, and dots that are not too far
    out.
    """
    values: list[float] = []
    for row in rows:
        values += filter(None, (row.effect.low, row.effect.ratio, row.effect.high))
    for floor in filter(None, floors):
        values += [floor, 1 / floor]
    length = max(values + [1.0]) / min(values + [1.0])
    reach = length**FARTHEST if length > 1.0 else math.inf
    low = min(values) / reach
    high = max(values) * reach
    return values + [min(max(value, low), high) for value in chain.from_iterable(dots)]


def _intervals(
    figure: Figure, scale: marks.Scale, rows: list[QuantityRow], middles: list[float]
) -> None:
    """Draw a filled circle for better, a filled square for worse, a hollow circle for same, a
    diamond for unknown.
    """
    forms: dict[tuple[str, str, bool], list[tuple[QuantityRow, float]]] = {}
    for row, middle in zip(rows, middles):
        look = LOOKS.get(row.effect.outcome, ("same", "diamond", False))
        forms.setdefault(look, []).append((row, middle))
    draw = {
        "circle": lambda x, y: marks.circle(x, y, 3.4),
        "square": lambda x, y: marks.square(x, y, 3.2),
        "diamond": lambda x, y: marks.diamond(x, y, 4),
    }
    for (colour, form, filled), members in sorted(forms.items()):
        figure.shape(
            f"wide s-{colour}",
            [
                marks.line((scale.at(row.effect.low), middle), (scale.at(row.effect.high), middle))
                for row, middle in members
                if row.effect.low and row.effect.high
            ],
        )
        figure.shape(
            f"f-{colour}" if filled else f"h-{colour}",
            [draw[form](scale.at(row.effect.ratio or 1.0), middle) for row, middle in members],
        )


def _sides(figure: Figure, start: float, better: str | None) -> None:
    """Say at the top which side is the better one."""
    good, bad = ("end", "start") if better == "higher" else ("start", "end")
    for word, side in (("better", good), ("worse", bad)):
        if side == "start":
            figure.words((start, 10), f"◂ {word}", f"small {word}", side)
        else:
            figure.words((WIDTH - RIGHT, 10), f"{word} ▸", f"small {word}", side)


TREND_HEIGHT = 170
TREND_TOP = 22
TREND_LEFT = 50
TREND_RIGHT = 14
TREND_BOTTOM = TREND_HEIGHT - 40
MOST_TICKS = 12


def trend(series: Trend, changes: dict[int, str], title: str, axis: str) -> Figure:
    """Draw a series; ``changes`` are ``{place of the first campaign after it: verdict}``, ``axis`` is
    what a mark is.
    """
    means = series["means"]
    ends = [
        (low or mean, high or mean) for low, mean, high in zip(series["low"], means, series["high"])
    ]
    summary = f"{title}, in {len(means)} {axis}s, from {min(means):.4g} to {max(means):.4g} {series['unit']}."
    figure = Figure(title, summary, TREND_HEIGHT)
    low = min(map(min, ends))
    high = max(map(max, ends))
    up = marks.Scale(low * 0.98, high * 1.02, TREND_BOTTOM, TREND_TOP, logarithmic=True)
    right = marks.Scale(0.4, len(means) + 0.6, TREND_LEFT, WIDTH - TREND_RIGHT)
    middle = math.exp((math.log(up.low) + math.log(up.high)) / 2)
    marks.upwards(figure, up, TREND_LEFT, WIDTH - TREND_RIGHT, marks.labelled((low, middle, high)))
    every = math.ceil(len(means) / MOST_TICKS)
    marks.across(
        figure,
        right,
        TREND_BOTTOM,
        [(position, str(position)) for position in range(1, len(means) + 1, every)],
    )
    for position, outcome in changes.items():
        css = outcome if outcome in ("better", "worse") else "same"
        figure.shape(
            f"s-{css}",
            [
                marks.line(
                    (right.at(position + 0.5), TREND_TOP), (right.at(position + 0.5), TREND_BOTTOM)
                )
            ],
        )
    figure.shape(
        "wide s-same",
        [
            marks.line((right.at(number), up.at(low)), (right.at(number), up.at(high)))
            for number, (low, high) in enumerate(ends, 1)
        ],
    )
    figure.shape(
        "f-better",
        [marks.circle(right.at(number), up.at(mean), 3) for number, mean in enumerate(means, 1)],
    )
    figure.words((WIDTH / 2, TREND_HEIGHT - 10), axis, "small muted", "middle")
    figure.words((TREND_LEFT, 10), series["unit"], "small muted")
    return figure
