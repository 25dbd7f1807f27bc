# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the figures of latency under load show, from the digest of the trials."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .._campaign.nouns import Plan
from .._statistics import text
from .._trials.digest import PERCENTILES, Digest, LoadedLatency
from .nouns import LatencyPanel, LatencyRow, NamedTable, PlainRow
from .panels import table_key

MOST_ROWS = 16  # profiles in one figure
TEXT = [
    "How long a request takes before the streams begin, and beside them: what the streams put into queues, each "
    "request waits for. Medians over the trials of each percentile, on a logarithmic scale."
]
SHOWN_AS = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9"}


def under_load(tables: Sequence[NamedTable], plan: Plan, digest: Digest) -> list[LatencyPanel]:
    """Return a panel for each table with requests beside streams."""
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
        seen = digest.latencies.get((table_key(table), profile))
        if seen:
            rows.append(_row(label, seen))
    return rows


def _row(label: str, seen: list[LoadedLatency]) -> LatencyRow:
    return {
        "label": label,
        "unloaded": _medians([one.unloaded for one in seen]),
        "loaded": _medians([one.loaded for one in seen]),
    }


def _medians(trials: list[list[float]]) -> list[float]:
    """Return the median of each percentile."""
    return [median(values) for values in zip(*trials)]


def _panel(table: NamedTable, rows: list[LatencyRow]) -> LatencyPanel:
    first = rows[0]
    cells: list[PlainRow] = []
    for row in rows:
        for name, values in (("no", row["unloaded"]), ("yes", row["loaded"])):
            cells.append({"cells": [row["label"], name, *map(text.number, values)]})
    return {
        "title": table.title,
        "rows": rows,
        "summary": f"Latency of requests without and beside streams, {text.count(len(rows), 'profile')}. With "
        f"{first['label']} 99 % take at most {text.number(first['unloaded'][2])} µs without streams, and "
        f"{text.number(first['loaded'][2])} µs beside them.",
        "numbers": {
            "head": ["Profile", "Streams", *(f"{SHOWN_AS[name]}, µs" for name in PERCENTILES)],
            "text": ["Profile", "Streams"],
            "rows": cells,
        },
    }
