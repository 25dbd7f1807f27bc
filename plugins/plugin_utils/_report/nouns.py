# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns of a report: what it takes from an analysis, and what its page says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

from .._figures.marks import Figure
from .._figures.nouns import NamedTable, PlainTable, Quantity


class Sentence(TypedDict):
    """A sentence with its sign: better, worse, same, unknown or note; ``command`` is what to run,
    or nothing.
    """

    tone: str
    text: str
    command: str


class PrintedSpread(TypedDict):
    """A median and its middle half as printed."""

    median: str
    spread: str


class Cells(PrintedSpread):
    """A row of effects as printed."""

    label: str
    outcome: str
    control: bool  # the row is the control's own
    effect: str
    interval: str
    p: str
    base: PrintedSpread | None  # of a turned table: the control of its place


@dataclass(frozen=True, kw_only=True)
class PrintedQuantity(Quantity):
    """A quantity of a table with what the page says of it."""

    summary: str  # what its figure says, in words
    turned: bool  # a row for each place
    caption: str
    at_odds: str
    ident: str  # on the page
    table_rows: list[Cells]
    drawing: Figure | None = None  # None where there is nothing to draw, or too many tables


class PageTable(NamedTuple):
    """A table of effects on the page."""

    id: str
    title: str
    notes: list[str]
    quantities: list[PrintedQuantity]


class MatrixCell(NamedTuple):
    """An effect of the overview."""

    outcome: str
    text: str


class MatrixRow(NamedTuple):
    """A profile, or a place, and its effects."""

    label: str
    cells: list[MatrixCell]


class Span(NamedTuple):
    """A cell of the head over ``span`` columns."""

    text: str
    span: int


class MatrixHead(NamedTuple):
    """A row of the head."""

    label: str
    cells: list[Span]


class Matrix(NamedTuple):
    """An overview: profiles by places."""

    title: str
    caption: str
    flat: str  # names the profiles without a difference, which have no row
    head: list[MatrixHead]
    rows: list[MatrixRow]


class Recommended(NamedTuple):
    """What to set."""

    set: str  # empty where nothing is recommended
    confirmed: bool
    notes: list[str]
    table: PlainTable  # against the control
    against: PlainTable | None  # against the other sets of the confirmation


class Study(NamedTuple):
    """The medians of a campaign that repeats a published study, in its units."""

    note: str
    tables: list[PlainTable]


class SearchSection(NamedTuple):
    """How a search went."""

    text: list[str]
    table: PlainTable
    visited: list[PlainTable]  # what each set measured


class PageFigure(NamedTuple):
    """A figure on the page."""

    heading: str
    caption: str
    numbers: PlainTable | None
    ident: str
    drawing: Figure


class FigureSection(NamedTuple):
    """A section of figures, with what explains them."""

    id: str
    title: str
    text: list[str]
    figures: list[PageFigure]


class DeviceEvidence(NamedTuple):
    """What a setting was seen to do on a device."""

    factor: str
    device: str
    finding: str
    evidence: str


class SettingEvidence(NamedTuple):
    """What the settings were seen to do."""

    notes: list[str]
    rows: list[DeviceEvidence]
    folded: bool


class MeasuredOn(NamedTuple):
    """The conditions of a campaign."""

    notes: list[str]
    tables: list[PlainTable]


class MarkedTrials(NamedTuple):
    """Trials that failed, were left out or marked: by guard, by error, and the first ones singly."""

    summary: str
    tables: list[PlainTable]
    trials: PlainTable | None


class Repeat(NamedTuple):
    """How to run the same campaign again."""

    note: str
    command: str


class RunningCampaign(NamedTuple):
    """What is said of a campaign while it runs."""

    reload: int  # s, after which the page in a browser reloads
    line: str
    answer: list[Sentence]
    standing: list[Sentence]  # comparison by comparison


class Fact(NamedTuple):
    """A figure of the campaign."""

    label: str
    value: str


class Details(NamedTuple):
    """Sentences below the answer."""

    title: str
    lines: list[Sentence]


@dataclass(frozen=True)
class CampaignReport:
    """A report. Console, Markdown and HTML are templates of it: what they show is all here."""

    name: str
    question: str
    running: RunningCampaign | None
    answer: list[Sentence]
    error_rate: str
    details: Details
    caveats: list[str]
    facts: list[Fact]
    recommended: Recommended
    overview: list[Matrix]
    leaders: PlainTable | None
    study: Study | None
    search: SearchSection | None
    tables: list[NamedTable]  # that have something to compare
    effects: list[PageTable]  # the same, as printed on the page
    reading: str  # how to read a ratio and a figure
    paired: str  # which values a ratio compares
    figures: list[FigureSection]
    failures: PlainTable | None
    evidence: SettingEvidence
    conditions: MeasuredOn
    marked: MarkedTrials
    repeat: Repeat
    files: tuple[Fact, ...]
    footer: str

    @property
    def headline(self) -> str:
        """The answer in a line; a command that it announces is not in it."""
        return " ".join(re.sub(":$", ".", item["text"]) for item in self.answer[:2])
