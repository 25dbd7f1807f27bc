# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JUnit XML, for a pipeline.

The elements are those that Jenkins and GitLab read: testcase, failure, skipped.
"""

from __future__ import annotations

from xml.etree import ElementTree

from .._analysis.integrity import CLEAN, is_broken
from .._analysis.result import AnalysedTable, Analysis, PathFinding
from .._untrusted.texts import printable


def add_case(suite: ElementTree.Element, where: str, name: str, text: str, kind: str = "") -> None:
    """Add a case; ``kind`` is empty where it passed, ``skipped``, or the type of a failure."""
    case = ElementTree.SubElement(suite, "testcase", classname=where.replace("/", "."), name=name)
    if kind == "skipped":
        ElementTree.SubElement(case, "skipped", message=text)
    elif kind:
        ElementTree.SubElement(case, "failure", message=text, type=kind)
    else:
        ElementTree.SubElement(case, "system-out").text = text


def _clean(root: ElementTree.Element) -> None:
    """Replace characters that XML 1.0 does not have."""
    for element in root.iter():
        element.text = printable(element.text) if element.text else element.text
        for name, value in element.items():
            element.set(name, printable(value))


def document(root: ElementTree.Element) -> str:
    """Return the text of ``testsuites``, with what each suite counts."""
    _clean(root)
    for suite in root:
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
        suite.set("tests", str(len(suite)))
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _effects(suite: ElementTree.Element, table: AnalysedTable) -> None:
    """Add a case a comparison.

    A worse profile is an answer of the campaign, not a failure of it.
    """
    for metric in table.comparisons:
        end = f" {metric.end}" if metric.end else ""
        for row in metric.rows:
            interval = f"{row.low} to {row.high}" if row.low is not None else "no interval"
            state = row.state or "for information"
            text = f"ratio to the control {row.ratio} ({interval}), {row.n} block{'s' * (row.n != 1)}: {state}"
            needs = f", {row.needs.text} would settle it" if row.needs else ""
            add_case(
                suite,
                table.id,
                f"{metric.label}{end}, effect of {row.profile}",
                text + needs,
                "skipped" if row.state == "unknown" else "",
            )


def _payload(suite: ElementTree.Element, row: PathFinding) -> None:
    """Add a case for the payload of a path: it fails where it is broken, and is skipped where that
    is not known.
    """
    kind = row.verdict if is_broken(row.verdict) else "skipped"
    add_case(
        suite,
        f"payload/{row.path}",
        f"payload over {row.path} at MTU {row.mtu}",
        row.text,
        "" if row.verdict == CLEAN else kind,
    )


def campaign(analysis: Analysis) -> str:
    """Return an analysis as JUnit XML: it fails where the campaign is unfinished, a profile fails
    more, or the payload of a path is broken.
    """
    root = ElementTree.Element("testsuites", name=f"offload.lab {analysis.campaign}")
    suite = ElementTree.SubElement(root, "testsuite", name=analysis.campaign)
    unfinished = analysis.unfinished
    add_case(
        suite,
        "campaign",
        "finished",
        unfinished.text if unfinished else "all visits were measured",
        "unfinished" if unfinished else "",
    )
    for row in analysis.failures:
        text = f"{row.failed} of {row.trials} trials failed or received nothing"
        add_case(
            suite,
            "campaign",
            f"failures of {row.profile}",
            text,
            "fails more" if row.shown or row.forbids else "",
        )
    for finding in analysis.payload.paths if analysis.payload else ():
        _payload(suite, finding)
    for table in analysis.claimed:
        _effects(suite, table)
    return document(root)
