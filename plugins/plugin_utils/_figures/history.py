# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A quantity over many campaigns: a mark and an interval each, and a line where something changed."""

from __future__ import annotations

import math

from . import marks, scales
from .marks import WIDTH, Figure
from .nouns import Trend

HEIGHT = 170
TOP = 22
LEFT = 50
RIGHT = 14
BOTTOM = HEIGHT - 40
MOST_TICKS = 12


def trend(series: Trend, changes: dict[int, str], title: str, axis: str = "campaign") -> Figure:
    """Draw a series; ``changes`` are ``{place of the first campaign after it: verdict}``, ``axis`` is
    what a mark is.
    """
    means = series["means"]
    ends = [
        (low or mean, high or mean) for low, mean, high in zip(series["low"], means, series["high"])
    ]
    summary = f"{title}, in {len(means)} {axis}s, from {min(means):.4g} to {max(means):.4g} {series['unit']}."
    figure = Figure(title, summary, HEIGHT)
    low = min(map(min, ends))
    high = max(map(max, ends))
    up = scales.Scale(low * 0.98, high * 1.02, BOTTOM, TOP, logarithmic=True)
    right = scales.Scale(0.4, len(means) + 0.6, LEFT, WIDTH - RIGHT)
    middle = math.exp((math.log(up.low) + math.log(up.high)) / 2)
    scales.upwards(figure, up, LEFT, WIDTH - RIGHT, scales.labelled((low, middle, high)))
    every = math.ceil(len(means) / MOST_TICKS)
    scales.across(
        figure, right, BOTTOM, [(place, str(place)) for place in range(1, len(means) + 1, every)]
    )
    for place, verdict in changes.items():
        css = verdict if verdict in ("better", "worse") else "same"
        figure.shape(
            f"s-{css}", [marks.line((right.at(place + 0.5), TOP), (right.at(place + 0.5), BOTTOM))]
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
    figure.words((WIDTH / 2, HEIGHT - 10), axis, "small muted", "middle")
    figure.words((LEFT, 10), series["unit"], "small muted")
    return figure
