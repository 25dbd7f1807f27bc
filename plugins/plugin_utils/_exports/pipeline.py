# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An analysis as OpenMetrics text: metrics.prom, for Prometheus' node_exporter (its textfile
collector) and Grafana.

JUnit XML, for a pipeline.

The elements are those that Jenkins and GitLab read: testcase, failure, skipped.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from xml.etree import ElementTree

from .._analysis.blame import condition_text
from .._analysis.integrity import CLEAN, is_broken
from .._analysis.result import (
    AnalysedTable,
    Analysis,
    Comparison,
    Estimate,
    PathFinding,
    PayloadFindings,
    ProfileSpread,
)
from .._untrusted.texts import printable

Labels = dict[str, "str | int | None"]
Sample = tuple[str, Labels, float]
KNOWN_LABELS = 4096  # texts in memory together
FAMILIES = {
    "offload_lab_value": "Median of a profile, in the unit of the label",
    "offload_lab_effect_ratio": "A profile against the control",
    "offload_lab_effect_low": "Lower end of the effect's 95 % interval",
    "offload_lab_effect_high": "Upper end of the effect's 95 % interval",
    "offload_lab_effect_state": "1 for the state of a comparison: better, worse, same or unknown",
    "offload_lab_trials": "Trials of the campaign, by what became of them",
    "offload_lab_failed_share": "Share of a profile's trials that failed or received nothing",
    "offload_lab_payload_verdict": "1 for the verdict on the payload of a path: broken, clean ...",
    "offload_lab_payload_trials": "Checks of the payload of a path: clean or troubled",
    "offload_lab_payload_messages": "Messages of the payload of a path: arrived as sent, or lost or wrong",
    "offload_lab_payload_blame_p": "p of the condition that is to blame, such as tso on",
    "offload_lab_payload_bound": "Share of messages or trials that may be in trouble with a setting on",
    "offload_lab_payload_hop": "1 for the device class of an end at which a setting breaks",
    "offload_lab_payload_off": "1 for a setting to switch off on a path",
    "offload_lab_payload_cure_confirmed": "1 where fresh trials with the cure of all paths were clean",
}


def add_case(suite: ElementTree.Element, where: str, name: str, text: str, kind: str) -> None:
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


def xml_text(root: ElementTree.Element) -> str:
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


def _payload_cases(suite: ElementTree.Element, row: PathFinding) -> None:
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


def junit(analysis: Analysis) -> str:
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
        _payload_cases(suite, finding)
    for table in analysis.claimed:
        _effects(suite, table)
    return xml_text(root)


def _samples(analysis: Analysis) -> Iterator[Sample]:
    campaign: Labels = {"campaign": analysis.campaign}
    for outcome, number in vars(analysis.trials).items():
        if isinstance(number, int):
            yield "offload_lab_trials", {**campaign, "outcome": outcome}, number
    for row in analysis.failures:
        if row.share is not None:
            yield "offload_lab_failed_share", {**campaign, "profile": row.profile}, row.share
    if analysis.payload:
        yield from _payload(campaign, analysis.payload)
    for table in analysis.claimed:
        where: Labels = {
            **campaign,
            "pair": table.pair,
            "path": table.path,
            "mtu": table.mtu,
            "workload": table.workload,
        }
        for metric in table.comparisons:
            yield from _of_metric({**where, "metric": metric.metric}, metric)


def _payload(campaign: Labels, payload: PayloadFindings) -> Iterator[Sample]:
    for row in payload.paths:
        yield from _of_path({**campaign, "path": row.path, "mtu": row.mtu}, row)
    if payload.cure:
        yield "offload_lab_payload_cure_confirmed", campaign, int(payload.cure.confirmed)


def _of_path(where: Labels, row: PathFinding) -> Iterator[Sample]:
    yield "offload_lab_payload_verdict", {**where, "verdict": row.verdict}, 1
    clean = row.trials - row.troubled
    for outcome, trials in (("clean", clean), ("troubled", row.troubled)):
        yield "offload_lab_payload_trials", {**where, "outcome": outcome}, trials
    arrived = row.messages - row.lost
    for outcome, messages in (("arrived", arrived), ("lost", row.lost)):
        yield "offload_lab_payload_messages", {**where, "outcome": outcome}, messages
    yield from _of_blames(where, row)
    for bound in row.bounds:
        setting: Labels = {**where, "setting": bound.setting}
        yield "offload_lab_payload_bound", {**setting, "of": "messages"}, bound.messages
        yield "offload_lab_payload_bound", {**setting, "of": "trials"}, bound.trials


def _of_blames(where: Labels, row: PathFinding) -> Iterator[Sample]:
    """Yield what is to blame on a path, where, and what to switch off."""
    for blame in row.blames:
        labels: Labels = {**where, "condition": condition_text(blame.settings)}
        yield "offload_lab_payload_blame_p", {**labels, "kind": blame.kind}, blame.p
    for hop in itertools.chain.from_iterable(row.hops):
        at: Labels = {"side": hop.side, "devices": hop.devices}
        yield "offload_lab_payload_hop", {**where, "setting": " ".join(hop.settings), **at}, 1
    for setting in row.off:
        yield "offload_lab_payload_off", {**where, "setting": setting}, 1


def _of_metric(where: Labels, metric: Comparison) -> Iterator[Sample]:
    yield from _median(where, metric.unit, metric.control)
    for row in metric.rows:
        labels: Labels = {**where, "profile": row.profile}
        yield from _median(where, metric.unit, row)
        for family, value in _ends(row):
            if value is not None:
                yield family, labels, value
        if row.state:
            yield "offload_lab_effect_state", {**labels, "state": row.state}, 1


def _median(where: Labels, unit: str, row: ProfileSpread) -> Iterator[Sample]:
    if row.median is not None:
        labels: Labels = {**where, "profile": row.profile, "unit": unit}
        yield "offload_lab_value", labels, row.median


def _ends(row: Estimate) -> Iterator[tuple[str, float | None]]:
    """Yield what an effect's estimate and the ends of its interval are called, and their values."""
    yield "offload_lab_effect_ratio", row.ratio
    yield "offload_lab_effect_low", row.low
    yield "offload_lab_effect_high", row.high


@functools.lru_cache(maxsize=KNOWN_LABELS, typed=True)
def _label(name: str, value: str | int) -> str:
    """Return a label as text. The same few are in many samples."""
    escaped = printable(str(value)).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return f'{name}="{escaped}"'


def openmetrics(analysis: Analysis) -> str:
    """Return the text. It has no times: Prometheus uses the time of its scrape."""
    return exposition(_samples(analysis), FAMILIES)


def exposition(samples: Iterable[Sample], families: Mapping[str, str]) -> str:
    """Return samples as text; ``families`` says what each is about, in the order of the text."""
    by_family: dict[str, list[str]] = {}
    for family, labels, value in samples:
        pairs = ",".join(_label(name, text) for name, text in labels.items() if text is not None)
        by_family.setdefault(family, []).append(f"{family}{{{pairs}}} {value}")
    lines = []
    for family, about in families.items():
        if family in by_family:
            lines += [f"# TYPE {family} gauge", f"# HELP {family} {about}", *by_family[family]]
    return "\n".join([*lines, "# EOF", ""])
