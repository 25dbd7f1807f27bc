# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Latency under load: the percentiles of requests without streams and during streams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from statistics import median

from .._campaign.nouns import Plan
from .._statistics import text
from .._trials.digest import PERCENTILES, Digest, LoadedLatency
from . import marks
from .machine import table_key
from .marks import WIDTH, Figure
from .nouns import LatencyPanel, LatencyRow, NamedTable, plain_table

ROW = 30
TOP = 24
RIGHT = 14
LANE = 6  # pixels that a lane is above or below the middle of its row
STEPS = (1, 2, 5)
MOST_TICKS = 6
MOST_ROWS = 16  # profiles in one figure
TEXT = [
    "How long a request takes before the streams begin, and while they run: each request waits for what the streams "
    "put into queues. Medians over the trials of each percentile, on a logarithmic scale."
]
SHOWN_AS = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}


def under_load(panel: LatencyPanel, title: str) -> Figure:
    """Draw a row for each profile: p50, p90, p99 and p99.9 without streams above the same during
    streams.
    """
    names = [row["label"] for row in panel["rows"]]
    label_width = marks.label_width(names, 160)
    bottom = TOP + ROW * len(names)
    figure = Figure(title, panel["summary"], bottom + 40)
    values = list(chain.from_iterable(row["unloaded"] + row["loaded"] for row in panel["rows"]))
    scale = marks.Scale(min(values) / 1.1, max(values) * 1.1, label_width, WIDTH - RIGHT, True)
    middles = [TOP + ROW * (index + 0.5) for index in range(len(names))]
    for row, middle in zip(panel["rows"], middles):
        _lane(figure, [scale.at(value) for value in row["unloaded"]], middle - LANE, "same")
        _lane(figure, [scale.at(value) for value in row["loaded"]], middle + LANE, "worse")
    marks.row_labels(figure, names, label_width - 5, middles)
    marks.across(figure, scale, bottom, marks.labelled(ticks(scale)))
    figure.words(
        ((label_width + WIDTH - RIGHT) / 2, figure.height - 10),
        "µs: p50, p90, p99, p99.9",
        "small muted",
        "middle",
    )
    marks.legend(
        figure,
        [("without streams", "h-same", "circle"), ("during streams", "f-worse", "small square")],
    )
    return figure


def _lane(figure: Figure, places: list[float], height: float, colour: str) -> None:
    """Draw percentiles as marks on a line."""
    figure.shape(f"s-{colour}", [marks.line((places[0], height), (places[-1], height))])
    if colour == "same":
        figure.shape(
            "h-same", [marks.circle(x_of_percentile, height, 2.6) for x_of_percentile in places]
        )
    else:
        figure.shape(
            f"f-{colour}",
            [marks.square(x_of_percentile, height, 2.4) for x_of_percentile in places],
        )


def ticks(scale: marks.Scale) -> list[float]:
    """Return round places on a logarithmic scale: 1, 2 and 5 of each power of ten, or fewer."""
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    places: list[float] = []
    for power in powers:
        places += [step * 10.0**power for step in STEPS]
    held = [tick for tick in places if scale.holds(tick)]
    return (
        held
        if len(held) <= MOST_TICKS
        else [10.0**power for power in powers if scale.holds(10.0**power)]
    )


def latency_panels(tables: Sequence[NamedTable], plan: Plan, digest: Digest) -> list[LatencyPanel]:
    """Return a panel for each table with requests during streams."""
    panels = []
    for table in tables:
        rows = _rows(table, plan["control"], digest)
        if rows:
            panels.append(_panel(table, rows))
    return panels


def _rows(table: NamedTable, control: str, digest: Digest) -> list[LatencyRow]:
    """Return a row for each profile, the control first."""
    compared = table.quantities[0].rows[: MOST_ROWS - 1]
    labels = {control: control, **{row.profile: row.label for row in compared}}
    rows: list[LatencyRow] = []
    for profile, label in labels.items():
        latencies = digest.latencies.get((table_key(table), profile))
        if latencies:
            rows.append(_row(label, latencies))
    return rows


def _row(label: str, latencies: list[LoadedLatency]) -> LatencyRow:
    return {
        "label": label,
        "unloaded": _medians([latency.unloaded for latency in latencies]),
        "loaded": _medians([latency.loaded for latency in latencies]),
    }


def _medians(trials: list[list[float]]) -> list[float]:
    """Return the median of each percentile."""
    return [median(values) for values in zip(*trials)]


def _panel(table: NamedTable, rows: list[LatencyRow]) -> LatencyPanel:
    first = rows[0]
    cells: list[list[str]] = []
    for row in rows:
        for name, values in (("no", row["unloaded"]), ("yes", row["loaded"])):
            cells.append([row["label"], name, *map(text.number, values)])
    head = ["Profile", "Streams", *(f"{SHOWN_AS[name]}, µs" for name in PERCENTILES)]
    return {
        "title": table.title,
        "rows": rows,
        "summary": f"Latency of requests without streams and during streams, {text.count(len(rows), 'profile')}. With "
        f"{first['label']} 99 % take at most {text.number(first['unloaded'][2])} µs without streams, and "
        f"{text.number(first['loaded'][2])} µs during streams.",
        "numbers": plain_table(head, cells, head[:2]),
    }
