# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison of campaigns as JUnit XML: a suite a campaign, a case an effect of a metric and
table.
"""

from __future__ import annotations

from xml.etree import ElementTree

from .._exports.junit import add_case, document
from .._statistics.rules import FEWEST_BLOCKS
from .compare import is_tested, rows_of
from .rows import (
    WORDS,
    Comparison,
    EffectRow,
    MetricRows,
    TableRows,
)


def _case(suite: ElementTree.Element, table: TableRows, metric: MetricRows, row: EffectRow) -> None:
    end = f" {metric['end']}" if metric["end"] else ""
    interval = f"{row['low']} to {row['high']}" if row["low"] is not None else "no interval"
    text = f"ratio to the baseline's effect {row['ratio']} ({interval}), {row['n_baseline']} and {row['n']} blocks"
    kind = "" if is_tested(row) else "skipped"
    if row["regression"]:
        kind = "regression"
    more = {
        "skipped": f": {FEWEST_BLOCKS} blocks of each are needed",
        "": f": {WORDS.get(row['verdict'], row['verdict'])}",
    }.get(kind, "")
    add_case(
        suite, table["id"], f"{metric['label']}{end}, effect of {row['profile']}", text + more, kind
    )


def junit(comparison: Comparison) -> str:
    """Return the XML text of a comparison."""
    root = ElementTree.Element("testsuites", name=f"offload.lab against {comparison['baseline']}")
    for other in comparison["compared"]:
        suite = ElementTree.SubElement(root, "testsuite", name=other["campaign"])
        for _campaign, table, metric, row in rows_of([other]):
            _case(suite, table, metric, row)
    return document(root)
