# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a figure is made of: paths and words in pixels, each with a class that report.css colours.

A figure is data; the page's template draws it as SVG (templates/figure.j2). Shapes of one class are
one path, so that a figure of a thousand trials is a few elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, NamedTuple

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
