# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison of campaigns as JUnit XML, for a pipeline: a suite a campaign, a case a profile, metric and table.

The elements are those that Jenkins and GitLab read: testsuites, testsuite, testcase, failure, skipped.
"""
from __future__ import annotations

from xml.etree import ElementTree


def _case(suite, table, metric, row):
    end = f" {metric['end']}" if metric["end"] else ""
    case = ElementTree.SubElement(suite, "testcase", classname=table["id"].replace("/", "."),
                                  name=f"{metric['label']}{end}, {row['profile']} ({row['kind']})")
    interval = f"{row['low']} to {row['high']}" if row["low"] is not None else "no interval"
    text = f"ratio to the baseline {row['ratio']} ({interval}), {row['n_baseline']} and {row['n']} blocks"
    if row["regression"]:
        ElementTree.SubElement(case, "failure", message=text, type="regression")
    elif row["verdict"] == "unknown":
        ElementTree.SubElement(case, "skipped", message=f"{text}: six blocks are needed")
    else:
        ElementTree.SubElement(case, "system-out").text = f"{text}: {row['verdict']}"


def junit(comparison):
    """Return the XML text of a comparison that :func:`_compare.compare` returned."""
    root = ElementTree.Element("testsuites", name=f"offload.lab against {comparison['baseline']}")
    for other in comparison["compared"]:
        suite = ElementTree.SubElement(root, "testsuite", name=other["campaign"])
        for table in other["tables"]:
            for metric in table["metrics"]:
                for row in metric["rows"]:
                    _case(suite, table, metric, row)
        for name in ("failure", "skipped"):
            suite.set(name + "s" if name == "failure" else name, str(len(suite.findall(f"testcase/{name}"))))
        suite.set("tests", str(len(suite)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
