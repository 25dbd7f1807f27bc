# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report without figures: report.md, which fits a merge request, and a table for a console of
100 columns.
"""

from __future__ import annotations

import math
import textwrap
from itertools import chain
from typing import Any, Collection, Iterable, Sequence

from .._figures import numbers as text
from .phrases import Line, rows_of

CONSOLE_LINES = 60  # of the table; a larger campaign shows the largest effects of each table
MARKDOWN_ROWS = 60
NAME = 37  # columns for a profile or place in the console
SIGNS = {"better": "▲ ", "worse": "▼ ", "same": "~ ", "unknown": "? ", "note": ""}


def _size(row: dict[str, Any]) -> float:
    return (
        -abs(math.log(row["ratio"]))
        if row["ratio"] and row["verdict"] in ("better", "worse")
        else 0.0
    )


def _demands(table: dict[str, Any], profile: str | None) -> str:
    """Return the ratios of service demand at the ends, ``0.58 / 0.61``."""
    found = []
    for quantity in table["quantities"]:
        if quantity["group"].startswith("service_demand"):
            row = next((row for row in quantity["rows"] if row["profile"] == profile), None)
            found.append(text.NONE if row is None else text.effect(row))
    return " / ".join(found)


def chosen(table: dict[str, Any], most: int) -> tuple[list[dict[str, Any]], int]:
    """Return ``(rows, left out)`` of a table's main quantity: all in their order, or the ``most``
    largest effects.
    """
    rows = table["quantities"][0]["rows"]
    if len(rows) <= most:
        return rows, 0
    return sorted(rows, key=_size)[:most], len(rows) - most


def _line(*cells: str) -> str:
    """Return a line of the console: name, median, middle half, ratio, interval, service demand."""
    widths = (8, 17, 6, 14, 11)
    rest = " ".join(f"{cell:>{width}}" for cell, width in zip(cells[1:], widths))
    return f"  {cells[0][:NAME]:<{NAME}} {rest}".rstrip()


def _group(table: dict[str, Any], most: int) -> list[str]:
    """Return the lines of one table in the console."""
    quantity = table["quantities"][0]
    demand = "demand" if _demands(table, None) else ""
    long = len(table["title"]) > NAME  # then on a line of its own
    heads = _line(
        "" if long else table["title"],
        quantity["unit"],
        "middle half",
        "ratio",
        "95 % interval",
        demand,
    )
    lines = [table["title"], heads] if long else [heads[2:]]
    control = quantity["control_row"]
    if control:
        lines.append(
            _line(
                quantity["control"],
                text.number(control["median"]),
                text.spread(control["q1"], control["q3"]),
                "1",
            )
        )
    rows, left = chosen(table, most)
    for row in rows:
        lines.append(
            _line(
                row["label"],
                text.number(row["median"]),
                text.spread(row["q1"], row["q3"]),
                text.effect(row),
                _interval(row),
                _demands(table, row["profile"]),
            )
        )
    return lines + ([f"  ... {text.count(left, 'profile')} more: see report.html"] if left else [])


def _untested(tables: Iterable[dict[str, Any]]) -> bool:
    return any(
        text.effect(row).endswith(text.UNTESTED) for _table, _quantity, row in rows_of(tables)
    )


def console(page: dict[str, Any]) -> str:
    """Return the answer, a paragraph a sentence, and the comparison as text of at most 100 columns."""
    answer = list(chain.from_iterable(map(_wrapped, page["answer"])))
    return "\n".join([*answer, "", _comparison_text(page)])


def _wrapped(item: Line) -> list[str]:
    """Return a sentence of the answer as lines; a command stays whole, to be copied."""
    words = f"{SIGNS[item['verdict']] or '- '}{item['text']}".replace(" %", "\u00a0%")
    lines = textwrap.wrap(
        words, 98, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\u00a0", " ") for line in lines] + [f"  {item['command']}"] * bool(
        item["command"]
    )


def _comparison_text(page: dict[str, Any]) -> str:
    tables = [table for table in page["tables"] if table["quantities"]]
    if not tables:
        return "Nothing to compare: no trial gave a result.\n"
    most = max(1, CONSOLE_LINES // len(tables) - 3)
    groups = ["\n".join(_group(table, most)) for table in tables]
    notes = [
        f"ratio: to {tables[0]['quantities'][0]['control']}, paired in blocks; ~: no difference that matters"
        + ("; ?: not known" if _untested(tables) else "")
    ]
    if any(_demands(table, None) for table in tables):
        notes.append(
            "demand: the same for CPU time per KB or transaction, client / server; less is better"
        )
    if page["marked"]["tables"]:
        notes += textwrap.wrap(page["marked"]["summary"], 98)
    return "\n\n".join([*groups, "\n".join(notes)]) + "\n"


def _escape(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], right: Collection[str] = ()
) -> str:
    """Return a Markdown table; ``right`` are the heads of columns of numbers."""
    marks = ["---:" if name in right else "---" for name in head]
    return "\n".join(f"| {' | '.join(map(_escape, cells))} |" for cells in [head, marks, *rows])


def _plain_table(table: dict[str, Any]) -> str:
    return markdown_table(
        table["head"],
        [row["cells"] for row in table["rows"]],
        [head for head in table["head"] if head not in table["text"]],
    )


def _interval(row: dict[str, Any]) -> str:
    return text.interval(row["low"], row["high"]) if row["low"] else ""


def _row(table: dict[str, Any], row: dict[str, Any]) -> list[str]:
    quantity = table["quantities"][0]
    medians = (
        f"{text.number(row['median'])} {quantity['unit']}" if row["median"] is not None else ""
    )
    if medians and quantity["control_row"]:
        medians = f"{text.number(quantity['control_row']['median'])} → {medians}"
    return [
        table["short"],
        row["label"],
        medians,
        text.spread(row["q1"], row["q3"]),
        text.effect(row),
        _interval(row),
        text.p_value(row["p"]),
        _demands(table, row["profile"]),
    ]


def _chosen(cells: list[str], numbers: list[int]) -> list[str]:
    return [cells[number] for number in numbers]


def _comparison(page: dict[str, Any]) -> list[str]:
    """Return the comparison and what it means: all rows, or the largest effects of each table."""
    tables = [table for table in page["tables"] if table["quantities"]]
    if not tables:
        return ["There is nothing to compare: no trial of this campaign gave a result."]
    most = max(1, MARKDOWN_ROWS // len(tables))
    kept = [(table, *chosen(table, most)) for table in tables]
    rows = []
    for table, chosen_rows, _left in kept:
        rows += [_row(table, row) for row in chosen_rows]
    if not rows:
        return ["There is nothing to compare: what the profiles set is not taken by any device."]
    head = [
        "where",
        "profile",
        "median, control → profile",
        "middle half",
        "ratio",
        "95 % interval",
        "p",
        "service demand",
    ]
    used = [number for number, cells in enumerate(zip(*rows)) if any(cells)]
    head, *rows = [_chosen(cells, used) for cells in [head, *rows]]
    untested = ", ? that it is not known" if _untested(tables) else ""
    notes = [
        f"Ratio to {tables[0]['quantities'][0]['control']}, paired inside blocks; ~ means no difference that "
        f"matters{untested}; p is corrected for the whole report."
    ]
    notes += (
        ["Service demand: its ratio at client / server; less is better."]
        if "service demand" in head
        else []
    )
    left = sum(left for _table, _rows, left in kept)
    notes += [f"{text.count(left, 'smaller effect')} not shown here."] if left else []
    return [markdown_table(head, rows, head[2:]), " ".join(notes)]


def _advice(page: dict[str, Any]) -> list[str]:
    advice = page["recommendations"]
    state = "confirmed" if advice["confirmed"] else "not confirmed"
    chosen = [f"**{advice['set']}** ({state})"] if advice["set"] else []
    table = [_plain_table(advice["table"])] if advice["table"]["rows"] else []
    if advice["against"]:
        own = advice["against"]
        table += [f"**{own['title']}**", _plain_table(own), own["caption"]]
    return [*chosen, *table, "\n".join(advice["notes"])]


def _conditions(page: dict[str, Any]) -> list[str]:
    conditions = page["conditions"]
    parts = ["\n".join(conditions["notes"])]
    parts += [
        f"**{table['title']}**\n\n{_plain_table(table)}"
        for table in conditions["tables"]
        if not table["folded"]
    ]
    return parts


def _verdicts(page: dict[str, Any]) -> list[str]:
    rows = [
        [row["factor"], row["device"], row["verdict"], row["evidence"]]
        for row in page["verdicts"]["rows"]
    ]
    table = [markdown_table(["factor", "device", "verdict", "evidence"], rows)] if rows else []
    return [*page["verdicts"]["notes"], *table]


def _code(command: str) -> str:
    return f" `{command}`" if command else ""


def markdown(page: dict[str, Any]) -> str:
    """Return report.md: the answer, the table, the conditions, and where the rest is."""
    answer = "\n".join(
        f"- {SIGNS[item['verdict']]}{item['text']}{_code(item['command'])}"
        for item in page["answer"]
    )
    details = "\n".join(f"- {SIGNS[item['verdict']]}{item['text']}" for item in page["details"])
    parts = [f"# {page['name']}", page["question"], answer, page["error_rate"]]
    parts += [f"**{page['details_title']}**", details] if details else []
    if page["caveats"]:
        parts += [
            "**What to know before relying on it**",
            "\n".join(f"- {item}" for item in page["caveats"]),
        ]
    parts.append(" · ".join(f"{label} {value}" for label, value in page["facts"]))
    if page["study"]:
        parts += ["## As in the study", page["study"]["note"]]
        parts += [
            f"**{table['caption']}**\n\n{_plain_table(table)}" for table in page["study"]["tables"]
        ]
    if page["search"]:
        parts += ["## The search", *page["search"]["text"], _plain_table(page["search"]["table"])]
    parts += [
        "## Comparison",
        *_comparison(page),
        "## Settings the evidence supports",
        *_advice(page),
    ]
    parts += ["## Failures by profile", _plain_table(page["failures"])] if page["failures"] else []
    parts += ["## Verdicts and evidence", *_verdicts(page), "## Conditions", *_conditions(page)]
    parts += ["## Trials left out, marked or failed", page["marked"]["summary"]]
    parts += [_plain_table(table) for table in page["marked"]["tables"]]
    parts += [
        "## How to repeat it",
        page["repeat"]["note"],
        f"```\n{page['repeat']['command']}\n```",
        "Figures: report.html. Numbers: trials.csv, analysis.json, trials.jsonl. All are in the results folder.",
    ]
    return "\n\n".join(parts) + "\n"
