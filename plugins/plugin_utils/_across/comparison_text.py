# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A comparison as comparison.json, comparison.md, junit.xml and lines of the console."""

from __future__ import annotations

from xml.etree import ElementTree

from .._exports.pipeline import add_case, xml_text
from .._statistics.rules import FEWEST_BLOCKS
from .._statistics.text import count, effect, interval, number, ratio
from .._untrusted.markdown import cell, escape
from .compare import is_tested, rows_of
from .page import json_of
from .rows import (
    WORDS,
    CampaignComparison,
    ComparedCampaign,
    EffectRow,
    MetricRows,
    TableRows,
    ValueRow,
)

EFFECT_HEAD = "where, what, profile, ratio of the effects, 95 % interval, blocks, outcome"
VALUE_HEAD = "where, what, profile, baseline, here, ratio, blocks"
MOST_LINES = 60  # of manifest differences; comparison.json has all


def _cells(*cells: str) -> str:
    return f"| {' | '.join(map(cell, cells))} |"


def _name(metric: MetricRows) -> str:
    return f"{metric['label']} {metric['end']}" if metric["end"] else metric["label"]


def _effect_line(table: TableRows, metric: MetricRows, row: EffectRow) -> str:
    outcome = WORDS.get(row["verdict"], row["verdict"])
    line = _cells(
        table["id"],
        _name(metric),
        row["profile"],
        effect(row["ratio"], row["verdict"]),
        interval(row["low"], row["high"]),
        f"{row['n_baseline']}, {row['n']}",
        outcome,
    )
    return f"{line.removesuffix(' |')} **regression** |" if row["regression"] else line


def _value_line(table: TableRows, metric: MetricRows, row: ValueRow) -> str:
    return _cells(
        table["id"],
        f"{_name(metric)}, {metric['unit']}",
        row["profile"],
        number(row["baseline"]),
        number(row["value"]),
        ratio(row["ratio"]),
        f"{row['n_baseline']}, {row['n']}",
    )


def _table(head: str, lines: list[str]) -> str:
    names = head.split(", ")
    return "\n".join([_cells(*names), _cells(*["---"] * len(names)), *lines])


def _effects(other: ComparedCampaign) -> list[str]:
    lines = [_effect_line(table, metric, row) for _campaign, table, metric, row in rows_of([other])]
    return (
        [f"## {escape(other['campaign'])}: effects against the control", _table(EFFECT_HEAD, lines)]
        if lines
        else []
    )


def _values(other: ComparedCampaign) -> list[str]:
    lines = []
    for table in other["tables"]:
        for metric in table["metrics"]:
            lines += [_value_line(table, metric, row) for row in metric["values"]]
    return [f"## {escape(other['campaign'])}: values, for information", _table(VALUE_HEAD, lines)]


def _manifest(comparison: CampaignComparison) -> list[str]:
    lines = []
    for row in comparison["manifest"]:
        values = " → ".join(str(value) for value in row["values"])
        difference = f"{row['node']} {row['name']}: {values}"
        lines.append(f"- {escape(difference)}")
    cut = [f"- and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return ["## What differs in the manifests", "\n".join(lines[:MOST_LINES] + cut or ["Nothing."])]


def markdown(comparison: CampaignComparison) -> str:
    """Return a comparison as Markdown; ``~`` is no difference that matters, ``?`` is not known."""
    parts = [
        f"# Against {escape(comparison['baseline'])}",
        *map(escape, summary_lines(comparison)),
        f"{comparison['note']}.",
    ]
    parts.append(
        "5 % is the chance of any false difference among all effects of this comparison (Welch's t on "
        "logarithms, Holm's correction). ~, same: no difference that matters, because the interval lies "
        f"within ± {comparison['matters_percent']:g} %. ?: not known."
    )
    for other in comparison["compared"]:
        parts += [*_effects(other), *_values(other)]
    return "\n\n".join([*parts, *_manifest(comparison)]) + "\n"


def _counted(rows: list[EffectRow]) -> list[str]:
    """Return how many effects differ, are not known and are not tested, in words."""
    different = sum(row["significant"] for row in rows)
    tested = [row for row in rows if is_tested(row)]
    unknown = sum(row["verdict"] == "unknown" for row in tested)
    untested = len(rows) - len(tested)
    verb = "differs" if 1 in (different, len(rows)) else "differ"
    counts = [f"{different} of {count(len(rows), 'effect')} {verb}"]
    if unknown:
        counts.append(f"{unknown} not known")
    if untested:
        counts.append(f"{untested} not tested, {FEWEST_BLOCKS} blocks of each are needed")
    return counts


def summary_lines(comparison: CampaignComparison) -> list[str]:
    """Return a sentence a campaign: how many effects differ, are not known, and are regressions."""
    lines = []
    for other in comparison["compared"]:
        rows = [row for *_where, row in rows_of([other])]
        counts = _counted(rows)
        if comparison["threshold"] is not None:
            regressions = sum(row["regression"] for row in rows) or "none"
            counts.append(f"worse by more than {100 * comparison['threshold']:g} %: {regressions}")
        lines.append(f"{other['campaign']} against {comparison['baseline']}: {'; '.join(counts)}.")
    return lines


def console(comparison: CampaignComparison) -> list[str]:
    """Return the lines that a console shows: a summary, the effects that differ, and what fails."""
    lines = []
    for other, summary in zip(comparison["compared"], summary_lines(comparison)):
        lines.append(summary)
        lines += [
            f"  {table['id']}, {_name(metric)}, effect of {row['profile']}: {ratio(row['ratio'])} of the "
            f"baseline's ({interval(row['low'], row['high'])}), {row['verdict']}"
            for _campaign, table, metric, row in rows_of([other])
            if row["significant"]
        ]
    return lines + [f"regression: {failure}" for failure in comparison["failures"]]


def documents(comparison: CampaignComparison) -> dict[str, str]:
    """Return ``{file name: text}`` of a comparison."""
    return {
        "comparison.json": json_of(comparison),
        "comparison.md": markdown(comparison),
        "junit.xml": junit(comparison),
    }


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


def junit(comparison: CampaignComparison) -> str:
    """Return the XML text of a comparison."""
    root = ElementTree.Element("testsuites", name=f"offload.lab against {comparison['baseline']}")
    for other in comparison["compared"]:
        suite = ElementTree.SubElement(root, "testsuite", name=other["campaign"])
        for _campaign, table, metric, row in rows_of([other]):
            _case(suite, table, metric, row)
    return xml_text(root)
