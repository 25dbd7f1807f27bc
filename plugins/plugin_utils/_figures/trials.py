# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single trials: over time, and the spread of each profile's trials."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from .._campaign.nouns import Plan
from .._statistics import text
from .._trials.digest import Digest, TrialPoint
from . import marks
from .machine import table_key
from .marks import WIDTH, Figure
from .nouns import NamedTable, SpreadPanel, TimeMark, TimePanel, plain_table

HEIGHT = 190
TOP = 24
LEFT = 50
RIGHT = 14
BOTTOM = HEIGHT - 42
SPREAD_ROW = 24
Groups = tuple[list[float], list[float]]
MOST_POINTS = 600  # trials drawn one by one; above that, blocks are
MOST_SPREAD_ROWS = 16
TIME_TEXT = [
    "Each trial at the time it started; crosses are trials that failed or were left out. A slope that all "
    "profiles share is drift of the machine; comparisons are made inside blocks, so drift does not affect "
    "them."
]
BLOCKS_TEXT = "A line spans the middle half of a block's trials, the mark is their median."
SPREAD_TEXT = [
    "Where the trials of a profile fall into two groups, neither a mean nor a median describes them: look "
    "for what differs between the groups (which CPU took the interrupts, where a queue landed) before "
    "choosing a setting."
]
FEWEST_TRIALS = 12  # of a profile; with fewer, two groups cannot be separated from chance
SMALLEST_GROUP = 0.2
APART = 5.5  # how far apart the middles of two groups are, in standard deviations inside the groups
FARTHER_THAN = 1.15  # and as a ratio: closer groups mislead nobody


def over_time(panel: TimePanel, title: str) -> Figure:
    """Draw trials over time: control and others, or each block's median and middle half; left out
    ones as crosses.
    """
    figure = Figure(title, panel["summary"], HEIGHT)
    points = [*panel["others"], *panel["control"], *panel["left_out"]]
    right, up = _scales(points)
    last = max(point.time for point in points)
    marks.upwards(figure, up, LEFT, WIDTH - RIGHT, marks.labelled(marks.even_ticks(up.high, 4)))
    marks.across(figure, right, BOTTOM, marks.labelled(_time_ticks(right, last)))
    _middles(figure, panel["others"], "same", right, up)
    _middles(figure, panel["control"], "better", right, up)
    crosses = [
        marks.cross(right.at(point.time), up.at(point.value), 2.6) for point in panel["left_out"]
    ]
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


def _scales(points: list[TimeMark]) -> tuple[marks.Scale, marks.Scale]:
    """Return the scales of the times and of the values."""
    times = [point.time for point in points]
    most = max(max(point.value, point.high or 0.0) for point in points)
    pad = 0.02 * max(max(times) - min(times), 1e-6)
    right = marks.Scale(min(times) - pad, max(times) + pad, LEFT, WIDTH - RIGHT)
    return right, marks.Scale(0.0, (most or 1.0) * 1.06, BOTTOM, TOP)


def _time_ticks(right: marks.Scale, last: float) -> list[float]:
    return [tick for tick in marks.even_ticks(last, 6) if right.holds(tick)]


def _middles(
    figure: Figure, points: list[TimeMark], colour: str, right: marks.Scale, up: marks.Scale
) -> None:
    """Draw the control's marks filled and square, others hollow and round; of a block a line over
    its middle half, too.
    """
    is_control = colour == "better"
    draw = marks.square if is_control else marks.circle
    halves = []
    for point in points:
        if point.low is not None and point.high is not None:
            x = right.at(point.time)
            halves.append(marks.line((x, up.at(point.low)), (x, up.at(point.high))))
    figure.shape(f"s-{colour}", halves)
    middles = [draw(right.at(point.time), up.at(point.value), 2.2) for point in points]
    figure.shape(f"f-{colour}" if is_control else f"h-{colour}", middles)


def spread(panel: SpreadPanel, title: str) -> Figure:
    """Draw the trials of each profile along one line each, so that two modes are seen as two."""
    names = [row["label"] for row in panel["rows"]]
    label_width = marks.label_width(names, 160)
    bottom = 14 + SPREAD_ROW * len(names)
    figure = Figure(title, panel["summary"], bottom + 40)
    most = max(max(row["values"]) for row in panel["rows"])
    scale = marks.Scale(0.0, most * 1.03, label_width, WIDTH - RIGHT)
    for index, row in enumerate(panel["rows"]):
        middle = 14 + SPREAD_ROW * (index + 0.5)
        figure.shape("s-line", [marks.line((label_width, middle), (WIDTH - RIGHT, middle))])
        figure.shape(
            f"h-{'better' if index == 0 else 'same'}",
            [
                marks.circle(scale.at(value), middle + 4 * (number % 3 - 1), 2.4)
                for number, value in enumerate(row["values"])
            ],
        )
    marks.row_labels(
        figure,
        names,
        label_width - 5,
        [14 + SPREAD_ROW * (index + 0.5) for index in range(len(names))],
    )
    marks.across(figure, scale, bottom, marks.labelled(marks.even_ticks(scale.high, 4)))
    figure.words(
        ((label_width + WIDTH - RIGHT) / 2, figure.height - 10),
        panel["unit"],
        "small muted",
        "middle",
    )
    return figure


def time_panels(tables: Sequence[NamedTable], plan: Plan, digest: Digest) -> list[TimePanel]:
    """Return a panel a table: the control's trials, the others' and those left out; blocks where
    there are many.
    """
    panels = []
    for table in tables:
        points = digest.points.get(table_key(table))
        if points:
            panels.append(_time_panel(table, plan["control"], points, digest.first or 0.0))
    return panels


class TimeUnit(NamedTuple):
    """A unit of time, and from which length on it is used; both in seconds."""

    least: float
    name: str
    seconds: float


UNITS = (TimeUnit(7200, "h", 3600.0), TimeUnit(180, "min", 60.0), TimeUnit(0, "s", 1.0))


def _time_panel(
    table: NamedTable, control: str, points: list[TrialPoint], start: float
) -> TimePanel:
    unit = _unit(points, start)
    used, left_out = _parted(points, lambda point: point.used)
    used = [point for point in used if point.value is not None]
    of_control, others = _parted(used, lambda point: point.profile == control)
    many = len(points) > MOST_POINTS
    draw = _blocks if many else _singly
    quantity = table.quantities[0]
    return {
        "title": table.title,
        "control": draw(of_control, start, unit.seconds),
        "others": draw(others, start, unit.seconds),
        "left_out": _singly(left_out[:MOST_POINTS], start, unit.seconds),
        "time_unit": unit.name,
        "control_name": control,
        "unit": f"{quantity.label}, {quantity.unit}",
        "caption": BLOCKS_TEXT if many else "",
        "summary": f"{quantity.label} of {text.count(len(used), 'trial')} over time, and {len(left_out)} left out.",
        "numbers": plain_table(
            ["Block", f"{control}: median, {quantity.unit}"], _block_medians(of_control), []
        ),
    }


def _unit(points: list[TrialPoint], start: float) -> TimeUnit:
    length = max(point.started for point in points) - start
    return next(unit for unit in UNITS if length >= unit.least)


def _parted(
    points: list[TrialPoint], belongs: Callable[[TrialPoint], bool]
) -> tuple[list[TrialPoint], list[TrialPoint]]:
    """Return the points that belong, and the others."""
    inside: list[TrialPoint] = []
    outside: list[TrialPoint] = []
    for point in points:
        (inside if belongs(point) else outside).append(point)
    return inside, outside


def _singly(points: list[TrialPoint], start: float, scale: float) -> list[TimeMark]:
    """Return a mark for each trial; what has no value is at 0."""
    return [TimeMark((point.started - start) / scale, point.value or 0.0) for point in points]


def _by_block(points: list[TrialPoint]) -> list[tuple[int, list[TrialPoint]]]:
    """Return the points of each block, in the order of blocks."""
    blocks: dict[int, list[TrialPoint]] = {}
    for point in points:
        blocks.setdefault(point.block, []).append(point)
    return sorted(blocks.items())


def _values(points: list[TrialPoint]) -> list[float]:
    return sorted(point.value for point in points if point.value is not None)


def _block_medians(points: list[TrialPoint]) -> list[list[str]]:
    return [
        [str(block), text.number(median(_values(members)))] for block, members in _by_block(points)
    ]


def _blocks(points: list[TrialPoint], start: float, scale: float) -> list[TimeMark]:
    """Return a mark for each block, at the median of its times."""
    block_marks = []
    for _block, members in _by_block(points):
        values = _values(members)
        time = median((point.started - start) / scale for point in members)
        low = values[len(values) // 4]
        high = values[(3 * len(values)) // 4]
        block_marks.append(TimeMark(time, median(values), low, high))
    return block_marks


def two_groups(values: list[float]) -> Groups | None:
    """Return values above 0 as two groups that lie far apart, or None: the split with the least
    scatter inside.
    """
    logs = sorted(math.log(value) for value in values if value > 0)
    fewest = max(2, math.ceil(SMALLEST_GROUP * len(logs)))
    if len(logs) < FEWEST_TRIALS:
        return None
    below = _squares(logs)
    above = _squares(logs[::-1])[::-1]
    places = range(fewest, len(logs) - fewest + 1)
    split = min(places, key=lambda split: below[split] + above[split])
    low = logs[:split]
    high = logs[split:]
    inside = math.sqrt((below[split] + above[split]) / (len(logs) - 2))
    apart = statistics.fmean(high) - statistics.fmean(low)
    if apart < math.log(FARTHER_THAN) or apart < APART * inside:
        return None
    return [math.exp(value) for value in low], [math.exp(value) for value in high]


def _squares(values: list[float]) -> list[float]:
    """Return the sum of squared deviations of the first 0, 1, 2 and more values (Welford 1962)."""
    sums = [0.0]
    mean = 0.0
    for count, value in enumerate(values, 1):
        away = value - mean
        mean += away / count
        sums.append(sums[-1] + away * (value - mean))
    return sums


def spread_panels(tables: Sequence[NamedTable], plan: Plan, digest: Digest) -> list[SpreadPanel]:
    """Return a panel for each table in which a profile's trials fall into two groups."""
    panels = []
    for table in tables:
        values: dict[str, list[float]] = {plan["control"]: []}
        for point in digest.points.get(table_key(table), ()):
            if point.used and point.value:
                values.setdefault(point.profile, []).append(point.value)
        groups = {profile: two_groups(profile_values) for profile, profile_values in values.items()}
        if any(groups.values()):
            panels.append(_spread_panel(table, values, groups))
    return panels


def _spread_panel(
    table: NamedTable, values: dict[str, list[float]], groups: dict[str, Groups | None]
) -> SpreadPanel:
    quantity = table.quantities[0]
    control = next(iter(values))
    shown = sorted(values, key=lambda profile: (profile != control, groups[profile] is None))[
        :MOST_SPREAD_ROWS
    ]
    sentences = [
        f"{profile}: {len(split[0])} of {len(values[profile])} trials near {text.number(median(split[0]))}, "
        f"the others near {text.number(median(split[1]))} {quantity.unit}"
        for profile, split in groups.items()
        if split
    ]
    sentence = f"{'. '.join(sentences[:4])}."
    return {
        "title": table.title,
        "unit": f"{quantity.label}, {quantity.unit}",
        "sentences": sentences,
        "rows": [
            {"label": profile, "values": values[profile]} for profile in shown if values[profile]
        ],
        "caption": sentence,
        "summary": f"Single trials by profile. {sentence}",
    }
