# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page over campaigns, and the page of a history: HTML, Markdown and the console's sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypedDict

from .._figures import effects as figures
from .._figures import marks
from .._figures.nouns import PlainTable, Trend, plain_table
from .._report import html
from .._report.nouns import PageFigure, Sentence
from .._report.phrases import line
from .._statistics import text
from .._untrusted.markdown import escape
from .._untrusted.markdown import table as markdown_table
from .rows import History, HistoryChange, Series

MOST = 40  # rows of a table and figures of a page; history.json has all
ABOUT = (
    "A dot is a campaign, its line the 95 % interval of its blocks. A vertical line is a change that was shown in "
    "this quantity."
)


class Titled(TypedDict):
    """The parts of a quantity's title."""

    table: str
    label: str
    profile: str
    kind: str  # value or effect


class DrawnSeries(Titled, Trend):
    """The parts of a quantity's figure."""

    id: str


def title_of(series: Titled | Series) -> str:
    """Return the title of a quantity."""
    what = series["profile"] if series["kind"] == "value" else f"effect of {series['profile']}"
    return f"{series['table']}, {series['label']}, {what}"


def _headline(change: HistoryChange) -> str:
    when = f" ({change['created'][:10]})" if change["created"] else ""
    return (
        f"Since campaign {change['number']}, {change['campaign']}{when}: "
        f"{text.count(len(change['steps']), 'quantity', 'quantities')} changed, p {text.p_value(change['p'])}"
    )


def answer(history: History) -> list[Sentence]:
    """Return the answer, a sentence a change."""
    sentences = []
    titles = {series["id"]: title_of(series) for series in history["series"]}
    for change in history["changes"]:
        most = change["steps"][0]
        interval = text.interval(most["low"], most["high"])
        sentence = (
            f"{_headline(change)}; most of all {titles[most['series']]}: {text.change(most['ratio'])} "
            f"({interval})."
        )
        sentences.append(line(most["verdict"], sentence))
    if not sentences:
        sentences.append(line("unknown", _no_change(history)))
    return sentences


def _no_change(history: History) -> str:
    """Return why no change is named."""
    campaigns = len(history["campaigns"])
    if campaigns < history["fewest"]:
        return f"Too few campaigns: a change can be shown from {history['fewest']} on."
    return (
        f"No change was shown in {text.count(campaigns, 'campaign')}: whether there is one that matters "
        "is not known."
    )


def table_of(
    title: str, head: list[str], rows: list[list[str]], data: str = "history.json"
) -> PlainTable:
    """Return a table of the page with its first rows; the file ``data`` has all rows."""
    caption = f"The first {MOST} of {len(rows)}; {data} has all." if len(rows) > MOST else ""
    return {**plain_table(head, rows[:MOST]), "title": title, "caption": caption, "folded": False}


def tables(history: History) -> list[PlainTable]:
    """Return the tables of the page: each change with its quantities and manifests, the versions,
    the campaigns.
    """
    titles = {series["id"]: title_of(series) for series in history["series"]}
    by_change: list[PlainTable] = []
    for change in history["changes"]:
        by_change += [_change_table(change, titles), _manifest_table(change)]
    if history["versions"]:
        by_change.append(_version_table(history, titles))
    return [*by_change, _campaign_table(history)]


def _change_table(change: HistoryChange, titles: dict[str, str]) -> PlainTable:
    """Return the quantities that changed."""
    head = ["Quantity", "After ÷ before", "95 % interval", "Outcome"]
    rows = [
        [
            titles[step["series"]],
            text.ratio(step["ratio"]),
            text.interval(step["low"], step["high"]),
            step["verdict"],
        ]
        for step in change["steps"]
    ]
    return table_of(_headline(change), head, rows)


def _manifest_table(change: HistoryChange) -> PlainTable:
    """Return the differences of the manifests before and after a change."""
    title = f"What changed in the manifests from {change['before']} to {change['campaign']}"
    head = ["Node", "Setting", change["before"], change["campaign"]]
    rows = []
    for row in change["manifest"]:
        values = [value or text.NONE for value in row["values"]]
        rows.append([row["node"], row["name"], *values])
    return table_of(title, head, rows or [["", "Nothing that the manifests record.", "", ""]])


def _version_table(history: History, titles: dict[str, str]) -> PlainTable:
    """Return the control's values under each version."""
    head = ["What", "Version", "Campaigns", "Quantity", "÷ first version"]
    rows = [
        [
            row["what"],
            row["version"],
            str(row["campaigns"]),
            titles[row["series"]],
            text.ratio(row["ratio"]),
        ]
        for row in history["versions"]
    ]
    return table_of("The control by version", head, rows)


def _campaign_table(history: History) -> PlainTable:
    """Return the campaigns with the versions that they ran on."""
    campaigns = history["campaigns"]
    names = sorted(set(chain.from_iterable(campaign["versions"] for campaign in campaigns)))
    rows = []
    for number, campaign in enumerate(campaigns, 1):
        versions = [campaign["versions"].get(name, text.NONE) for name in names]
        planned = campaign["created"] or text.NONE
        rows.append([str(number), campaign["name"], planned, str(campaign["blocks"]), *versions])
    return table_of("The campaigns", ["Number", "Campaign", "Planned", "Blocks", *names], rows)


def drawings_of(
    drawn: Sequence[DrawnSeries], changed: Mapping[str, dict[int, str]], axis: str = "campaign"
) -> list[PageFigure]:
    """Return the figures of quantities: first the changed ones, then the control's values, then
    effects.

    ``changed`` is ``{id: {index of the first after a change: outcome}}``.
    """
    ordered = sorted(
        drawn, key=lambda series: (series["id"] not in changed, series["kind"] != "value")
    )
    return [
        PageFigure(
            heading=title_of(series),
            caption="",
            numbers=None,
            ident=f"trend-{number}",
            drawing=figures.trend(series, changed.get(series["id"], {}), title_of(series), axis),
        )
        for number, series in enumerate(ordered[:MOST], 1)
    ]


def _changed(history: History) -> dict[str, dict[int, str]]:
    """Return the changes of each quantity: ``{id: {index: outcome}}``."""
    changed: dict[str, dict[int, str]] = {}
    for change in history["changes"]:
        for step in change["steps"]:
            changed.setdefault(step["series"], {})[change["number"] - 1] = step["verdict"]
    return changed


class Page(NamedTuple):
    """The texts and tables of a page over campaigns."""

    name: str
    question: str
    answer: list[Sentence]
    note: str
    tables: list[PlainTable]
    figures: Sequence[PageFigure] = ()
    about: str = ""  # the figures
    more: str = ""  # which figures are left out


def html_of(page: Page) -> str:
    """Return a page as HTML."""
    template = html.environment().get_template("history.html.j2")
    return str(template.render(**page._asdict(), colours=marks.COLOURS))


def markdown_of(page: Page) -> str:
    """Return a page as Markdown."""
    answers = [f"- {escape(item['text'])}" for item in page.answer]
    lines = [f"# {escape(text.sentence(page.name))}", *answers, escape(page.note)]
    for table in page.tables:
        marks = ["---"] * len(table["head"])
        rows = [row["cells"] for row in table["rows"]]
        lines += [f"## {escape(table['title'])}", markdown_table(table["head"], marks, rows)]
    return "\n\n".join(lines) + "\n"


def _page(history: History) -> Page:
    undrawn = len(history["series"]) - MOST
    return Page(
        "history",
        "What changed, and since when?",
        answer(history),
        f"{history['note']}.",
        tables(history),
        drawings_of(history["series"], _changed(history)),
        ABOUT,
        f"{undrawn} more are in history.json." if undrawn > 0 else "",
    )


def json_of(content: Mapping[str, object]) -> str:
    """Return the text of a file such as history.json."""
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n"


def documents_of(page: Page, content: Mapping[str, object]) -> dict[str, str]:
    """Return ``{file name: text}`` of a page and of the content that it shows."""
    return {
        f"{page.name}.json": json_of(content),
        f"{page.name}.html": html_of(page),
        f"{page.name}.md": markdown_of(page),
    }


def documents(history: History) -> dict[str, str]:
    """Return ``{file name: text}`` of a history."""
    return documents_of(_page(history), history)
