# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison of campaigns as JUnit XML, for a pipeline: a suite a campaign, a case an effect of a metric and table.

The elements are those that Jenkins and GitLab read: testsuites, testsuite, testcase, failure, skipped.
"""
from __future__ import annotations

from xml.etree import ElementTree

from ansible_collections.offload.lab.plugins.plugin_utils.compare.compare import FEWEST_BLOCKS, rows_of
from ansible_collections.offload.lab.plugins.plugin_utils.compare.rows import (
    Comparison,
    EffectRow,
    MetricRows,
    TableRows,
)


def _case(suite: ElementTree.Element, table: TableRows, metric: MetricRows, row: EffectRow) -> None:
    end = f" {metric['end']}" if metric["end"] else ""
    case = ElementTree.SubElement(suite, "testcase", classname=table["id"].replace("/", "."),
                                  name=f"{metric['label']}{end}, effect of {row['profile']}")
    interval = f"{row['low']} to {row['high']}" if row["low"] is not None else "no interval"
    text = f"ratio to the baseline's effect {row['ratio']} ({interval}), {row['n_baseline']} and {row['n']} blocks"
    if row["regression"]:
        ElementTree.SubElement(case, "failure", message=text, type="regression")
    elif row["verdict"] == "unknown":
        ElementTree.SubElement(case, "skipped", message=f"{text}: {FEWEST_BLOCKS} blocks of each are needed")
    else:
        ElementTree.SubElement(case, "system-out").text = f"{text}: {row['verdict']}"


def junit(comparison: Comparison) -> str:
    """Return the XML text of a comparison."""
    root = ElementTree.Element("testsuites", name=f"offload.lab against {comparison['baseline']}")
    for other in comparison["compared"]:
        suite = ElementTree.SubElement(root, "testsuite", name=other["campaign"])
        for _campaign, table, metric, row in rows_of([other]):
            _case(suite, table, metric, row)
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
        suite.set("tests", str(len(suite)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
