# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report without figures, two templates of it: report.txt, for a console of 100 columns, and
report.md, which fits a merge request.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import NamedTuple

from .._analysis.result import Estimate
from .._figures.nouns import NamedTable, PlainTable, QuantityRow, plain_table
from .._statistics import text
from .._untrusted.markdown import table as markdown_table
from . import html
from .issue import Issue
from .nouns import CampaignReport, DeviceEvidence, Sentence
from .phrases import SHOWN, rows_of

CONSOLE_LINES = 60  # of the table; a larger campaign shows the largest effects of each table
MARKDOWN_ROWS = 60
NAME = 37  # columns for a profile or place in the console
WIDTHS = (8, 17, 6, 14, 11)  # of median, middle half, ratio, interval and service demand
SIGNS = {"better": "▲ ", "worse": "▼ ", "same": "~ ", "unknown": "? ", "note": ""}
HEAD = (
    "where",
    "profile",
    "median, control → profile",
    "middle half",
    "ratio",
    "95 % interval",
    "p",
    "service demand",
)


class ShownRows(NamedTuple):
    """The rows of a table's main quantity that are shown, and how many are not."""

    rows: list[QuantityRow]
    hidden: int


class ConsoleTable(NamedTuple):
    """A table in the console, line by line."""

    lines: list[str]
    hidden: str  # the number of profiles that are not shown, or an empty text


class Compared(NamedTuple):
    """The comparison in Markdown: a table, where there is anything to compare, and what it means."""

    table: PlainTable | None
    note: str


def _size(row: QuantityRow) -> float:
    return -text.distance(row.effect.ratio) if row.effect.outcome in SHOWN else 0.0


def chosen(table: NamedTable, most: int) -> ShownRows:
    """Return all rows of a table's main quantity in their order, or the ``most`` largest effects."""
    rows = table.quantities[0].rows
    if len(rows) <= most:
        return ShownRows(rows, 0)
    return ShownRows(sorted(rows, key=_size)[:most], len(rows) - most)


def _demands(table: NamedTable, profile: str | None) -> str:
    """Return the ratios of service demand at the ends, ``0.58 / 0.61``."""
    ratios = []
    for quantity in table.quantities:
        if quantity.group.startswith("service_demand"):
            row = next((row for row in quantity.rows if row.profile == profile), None)
            ratios.append(text.NONE if row is None else row.printed)
    return " / ".join(ratios)


def _columns(*cells: str) -> str:
    """Return a line of the console: name, median, middle half, ratio, interval, service demand."""
    rest = " ".join(f"{cell:>{width}}" for cell, width in zip(cells[1:], WIDTHS))
    return f"  {cells[0][:NAME]:<{NAME}} {rest}".rstrip()


def _heads(table: NamedTable) -> list[str]:
    """Return the head; a long title is on a line of its own."""
    quantity = table.quantities[0]
    demand = "demand" if _demands(table, None) else ""
    heads = (quantity.unit, "middle half", "ratio", "95 % interval", demand)
    if len(table.title) > NAME:
        return [table.title, _columns("", *heads)]
    return [_columns(table.title, *heads)[2:]]


def _console_table(table: NamedTable, most: int) -> ConsoleTable:
    quantity = table.quantities[0]
    lines = _heads(table)
    control = quantity.control_row
    if control:
        spread = text.spread(control.q1, control.q3)
        lines.append(_columns(quantity.control, text.number(control.median), spread, "1"))
    rows, hidden = chosen(table, most)
    for row in rows:
        median = text.number(row.spread.median)
        spread = text.spread(row.spread.q1, row.spread.q3)
        demands = _demands(table, row.profile)
        cells = row.label, median, spread, row.printed, _interval(row.effect), demands
        lines.append(_columns(*cells))
    lines += textwrap.wrap(table.packets, 96, initial_indent="  ", subsequent_indent="  ")
    return ConsoleTable(lines, text.count(hidden, "profile") if hidden else "")


def _untested(tables: Iterable[NamedTable]) -> bool:
    return any(row.row.printed.endswith(text.UNTESTED) for row in rows_of(tables))


def _wrapped(item: Sentence) -> str:
    """Return a sentence of the answer as lines; a command stays whole, to be copied."""
    sentence = f"{SIGNS[item['tone']] or '- '}{item['text']}".replace(" %", "\u00a0%")
    lines = textwrap.wrap(
        sentence, 98, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    if item["command"]:
        lines.append(f"  {item['command']}")
    return "\n".join(lines).replace("\u00a0", " ")


def console(report: CampaignReport) -> str:
    """Return the answer, a paragraph a sentence, and the comparison as text of at most 100 columns."""
    tables = report.tables
    most = max(1, CONSOLE_LINES // len(tables) - 3) if tables else 0
    return _render(
        "report.txt.j2",
        report,
        compared=[_console_table(table, most) for table in tables],
        untested=_untested(tables),
        has_demands=any(_demands(table, None) for table in tables),
    )


def _markdown_table(table: PlainTable) -> str:
    """Return a table in Markdown; numbers are on the right."""
    marks = ["---" if head in table["text"] else "---:" for head in table["head"]]
    return markdown_table(table["head"], marks, [row["cells"] for row in table["rows"]])


def _interval(row: Estimate) -> str:
    return text.interval(row.low, row.high) if row.low else ""


def _medians(table: NamedTable, row: QuantityRow) -> str:
    """Return the median of a profile, after the control's median if there is one."""
    if row.spread.median is None:
        return ""
    quantity = table.quantities[0]
    median = f"{text.number(row.spread.median)} {quantity.unit}"
    control = quantity.control_row
    return f"{text.number(control.median)} → {median}" if control else median


def _row(table: NamedTable, row: QuantityRow) -> list[str]:
    return [
        table.short,
        row.label,
        _medians(table, row),
        text.spread(row.spread.q1, row.spread.q3),
        row.printed,
        _interval(row.effect),
        text.p_value(row.effect.p_report),
        _demands(table, row.profile),
    ]


def _without_empty_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> PlainTable:
    used = [any(column) for column in zip(*rows)]
    kept = list(compress(head, used))
    return plain_table(kept, [compress(cells, used) for cells in rows], kept[:2])


def _compared(tables: Sequence[NamedTable], paired: str) -> Compared:
    """Return the comparison and what it means: all rows, or the largest effects of each table."""
    if not tables:
        return Compared(
            None, "There is nothing to compare: no trial of this campaign gave a result."
        )
    most = max(1, MARKDOWN_ROWS // len(tables))
    rows = []
    hidden = 0
    for table in tables:
        shown = chosen(table, most)
        rows += [_row(table, row) for row in shown.rows]
        hidden += shown.hidden
    if not rows:
        return Compared(
            None, "There is nothing to compare: no device accepts the settings of the profiles."
        )
    table_shown = _without_empty_columns(HEAD, rows)
    untested = ", ? that it is not known" if _untested(tables) else ""
    notes = [
        f"Ratio to {tables[0].quantities[0].control}, {paired}; ~ means no difference that "
        f"matters{untested}; p is corrected for the whole report."
    ]
    if "service demand" in table_shown["head"]:
        notes.append("Service demand: its ratio at client / server; less is better.")
    notes += [f"{table.short}: {table.packets}" for table in tables if table.packets]
    if hidden:
        notes.append(f"{text.count(hidden, 'smaller effect')} not shown here.")
    return Compared(table_shown, " ".join(notes))


def _findings(rows: Sequence[DeviceEvidence]) -> PlainTable:
    return plain_table(["factor", "device", "finding", "evidence"], rows)


def markdown(report: CampaignReport) -> str:
    """Return report.md: the answer, the table, the conditions, and where the rest is."""
    return _render_markdown(
        "report.md.j2",
        vars(report),
        compared=_compared(report.tables, report.paired),
        findings=_findings(report.evidence.rows),
    )


def issue_text(issue: Issue) -> str:
    """Return issue.md."""
    return _render_markdown("issue.md.j2", issue._asdict())


def _render_markdown(name: str, values: Mapping[str, object], **other: object) -> str:
    """Return a template of the report as Markdown: what it shows is escaped but for what a filter
    has made.
    """
    environment, markup = html.markdown_environment()
    environment.filters.update(
        sign=lambda item: markup(SIGNS[item["tone"]]),
        table=lambda table: markup(_markdown_table(table)),
    )
    return environment.get_template(name).render(values, **other)


def _render(name: str, report: CampaignReport, **other: object) -> str:
    """Return a template of the report as text."""
    environment = html.environment(is_page=False)
    environment.filters.update(
        wrapped=_wrapped,
        lines=lambda sentence: "\n".join(textwrap.wrap(sentence, 98)),
    )
    return environment.get_template(name).render(vars(report), **other)
