# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a figure is made of: paths and words in pixels, each with a class that report.css colours.

A figure is data; the page's template draws it as SVG (templates/figure.j2). Shapes of one class are
one path, so that a figure of a thousand trials is a few elements.

Scales of figures: from values to pixels, with ticks that are round and few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Iterable, NamedTuple

from .._statistics import text

WIDTH = 400  # pixels: two figures side by side on a screen or on paper, one on a phone
LETTER = 6.5  # pixels that a letter of a label takes on average, in a wide font
ROW = 19
LEGEND_TOP = 11
COLOURS = (
    "ink",
    "muted",
    "line",
    "band",
    "paper",
    "better",
    "worse",
    "same",
    "user",
    "system",
    "softirq",
    "irq",
    "steal",
    "iowait",
    "busy",
    *(f"heat{step}" for step in range(9)),
)
NICE = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100)


class Shape(NamedTuple):
    """A path: ``data`` as in SVG, ``css`` its classes."""

    css: str
    data: str


class Words(NamedTuple):
    """A text whose middle line is at ``y``; ``anchor`` is start, middle or end."""

    css: str
    x: str
    y: str
    anchor: str
    text: str


@dataclass
class Figure:
    """One figure; ``summary`` says in words what it shows."""

    title: str
    summary: str
    height: float
    width: float = WIDTH
    marks: list[Shape | Words] = field(default_factory=list)

    def shape(self, css: str, parts: Iterable[str]) -> None:
        """Draw parts as one path; nothing where there are none."""
        data = "".join(parts)
        if data:
            self.marks.append(Shape(css, data))

    def words(
        self, position: tuple[float, float], text: str, css: str = "", anchor: str = "start"
    ) -> None:
        """Write a text at a place."""
        x, y = position
        self.marks.append(Words(css, pixels(x), pixels(y), anchor, text))


def pixels(value: float) -> str:
    """Return a coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def line(*points: tuple[float, float]) -> str:
    """Return the path through points."""
    return "M" + "L".join(f"{pixels(x)} {pixels(y)}" for x, y in points)


def box(x_left: float, top: float, x_right: float, bottom: float) -> str:
    """Return the path of a box."""
    return f"M{pixels(x_left)} {pixels(top)}H{pixels(x_right)}V{pixels(bottom)}H{pixels(x_left)}Z"


def dot(x: float, y: float) -> str:
    """Return a path of no length, which a round line end makes a dot."""
    return f"M{pixels(x)} {pixels(y)}h0"


def circle(x: float, y: float, radius: float) -> str:
    """Return the path of a circle."""
    half = pixels(radius)
    diameter = pixels(2 * radius)
    return f"M{pixels(x - radius)} {pixels(y)}a{half} {half} 0 1 0 {diameter} 0a{half} {half} 0 1 0-{diameter} 0"


def square(x: float, y: float, half: float) -> str:
    """Return the path of a square around its middle."""
    return box(x - half, y - half, x + half, y + half)


def diamond(x: float, y: float, half: float) -> str:
    """Return the path of a diamond around its middle."""
    return line((x - half, y), (x, y - half), (x + half, y), (x, y + half)) + "Z"


def cross(x: float, y: float, half: float) -> str:
    """Return the path of a cross around its middle."""
    return line((x - half, y - half), (x + half, y + half)) + line(
        (x - half, y + half), (x + half, y - half)
    )


def short(name: str, most: int) -> str:
    """Return a name that loses its middle where it is longer than ``most`` letters, or the end of
    each of its parts.
    """
    parts = name.split(",")
    if len(name) > most and len(parts) > 1:
        room = max(3, (most - len(parts) + 1) // len(parts))
        return ",".join(part if len(part) <= room else part[: room - 1] + "…" for part in parts)
    return (
        name if len(name) <= most else name[: most // 2] + "…" + name[len(name) - most // 2 + 1 :]
    )


def label_width(names: Iterable[str], most: float = 205) -> float:
    """Return the room that row labels take, in pixels."""
    return min(most, 12 + LETTER * max(len(name) for name in names))


def row_labels(
    figure: Figure, names: Iterable[str], right: float, middles: Iterable[float]
) -> None:
    """Write row labels that end at ``right``."""
    for name, middle in zip(names, middles):
        figure.words((right, middle), short(name, int((right - 4) / LETTER)), anchor="end")


def legend(figure: Figure, items: Iterable[tuple[str, str, str]]) -> None:
    """Write a legend in one line; ``items`` are (word, classes, form): square, dot, circle, cross,
    line or nothing.
    """
    x_left = 8.0
    forms = {
        "square": lambda x: square(x, LEGEND_TOP, 5),
        "small square": lambda x: square(x, LEGEND_TOP, 2.5),
        "circle": lambda x: circle(x, LEGEND_TOP, 2.6),
        "cross": lambda x: cross(x, LEGEND_TOP, 3),
        "line": lambda x: line((x - 6, LEGEND_TOP), (x + 6, LEGEND_TOP)),
        "dot": lambda x: dot(x, LEGEND_TOP),
    }
    for word, css, form in items:
        if form:
            figure.shape(css, [forms[form](x_left + 5)])
        figure.words((x_left + (14 if form else 0), LEGEND_TOP), word, "small muted")
        x_left += 24 + 6 * len(word)


class Scale(NamedTuple):
    """``low`` is drawn at the pixel ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of a value; what is beyond an end is at it."""
        low = self.low
        high = self.high
        clamped = min(max(value, self.low), self.high)
        if self.logarithmic:
            low = math.log(low)
            high = math.log(high)
            clamped = math.log(clamped)
        return self.start + (self.end - self.start) * (clamped - low) / ((high - low) or 1.0)

    def holds(self, value: float) -> bool:
        """Return whether a value is between the ends."""
        return self.low <= value <= self.high


def ratio_ticks(low: float, high: float) -> list[float]:
    """Return ticks for a logarithmic ratio axis from ``low`` to ``high``: 1 and few round ratios at
    equal steps.
    """
    span = max(math.log(high), -math.log(low), 1e-6)
    step = next((nice for nice in NICE if span / math.log(nice) <= 3.2), NICE[-1])
    power = int(span / math.log(step)) + 1
    ratios = [step**exponent for exponent in range(-power, power + 1)]
    return [ratio for ratio in ratios if low <= ratio <= high]


def even_ticks(most: float, about: int) -> list[float]:
    """Return round ticks from 0 to ``most``, about as many as wished."""
    raw = max(most, 1e-9) / about
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * nice for nice in (1, 2, 5, 10) if unit * nice >= raw * 0.999)
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def tick_label(value: float) -> str:
    """Return a tick's label."""
    return text.number(value) if value % 1 else f"{value:,.0f}"


def labelled(places: Iterable[float]) -> list[tuple[float, str]]:
    """Return ticks with their labels."""
    return [(tick, tick_label(tick)) for tick in places]


def ratio_scale(values: Iterable[float], start: float, end: float) -> Scale:
    """Return a logarithmic scale that holds ratios and 1, with a little room."""
    logs = [math.log(value) for value in values] + [0.0]
    pad = max(0.06 * (max(logs) - min(logs)), 0.004)
    return Scale(math.exp(min(logs) - pad), math.exp(max(logs) + pad), start, end, logarithmic=True)


def across(figure: Figure, scale: Scale, bottom: float, ticks: Iterable[tuple[float, str]]) -> None:
    """Draw an axis from left to right at ``bottom``, with labels under it."""
    ticks = list(ticks)
    figure.shape(
        "s-muted",
        [
            line((scale.start, bottom), (scale.end, bottom)),
            *(
                line((scale.at(tick), bottom), (scale.at(tick), bottom + 3))
                for tick, _label in ticks
            ),
        ],
    )
    for tick, label in ticks:
        figure.words((scale.at(tick), bottom + 11), label, "small muted", "middle")


def upwards(
    figure: Figure, scale: Scale, x_left: float, x_right: float, ticks: Iterable[tuple[float, str]]
) -> None:
    """Draw an axis from bottom to top at ``x_left``, with lines to ``x_right``."""
    ticks = list(ticks)
    figure.shape(
        "s-line",
        [line((x_left, scale.at(tick)), (x_right, scale.at(tick))) for tick, _label in ticks],
    )
    for tick, label in ticks:
        figure.words((x_left - 5, scale.at(tick)), label, "small muted", "end")


def ratio_axis(figure: Figure, scale: Scale, bottom: float) -> None:
    """Draw an axis of ratios."""
    places = ratio_ticks(scale.low, scale.high)
    digits = 3 if places and max(abs(math.log(tick)) for tick in places) < 0.03 else 2
    across(figure, scale, bottom, [(tick, f"{tick:.{digits}f}") for tick in places])
