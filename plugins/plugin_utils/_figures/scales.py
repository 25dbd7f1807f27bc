# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scales of figures: from values to pixels, with ticks that are round and few."""

from __future__ import annotations

import math
from typing import Iterable, NamedTuple

from .._statistics import text
from .marks import Figure, line

NICE = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100)


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
    places = [step**exponent for exponent in range(-power, power + 1)]
    return [ratio for ratio in places if low <= ratio <= high]


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
