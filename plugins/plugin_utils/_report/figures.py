# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of the page: an interval for each effect, and the sections of figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from .._campaign.nouns import Plan
from .._figures import choices, effects, latency, machine, trials
from .._figures.marks import Figure
from .._figures.nouns import NamedTable, Panel, SpreadPanel
from .._trials.digest import Digest
from .nouns import FigureSection, PageFigure, PageTable, PrintedQuantity

MOST_TABLES = 16  # with figures; a campaign with more has its numbers in the tables alone
Shown = TypeVar("Shown", bound=Panel)


def with_forests(tables: Sequence[PageTable]) -> list[PageTable]:
    """Return the tables of effects with a figure of each quantity."""
    drawn = [_with_forests(table) for table in tables[:MOST_TABLES]]
    return [*drawn, *tables[MOST_TABLES:]]


def _with_forests(table: PageTable) -> PageTable:
    quantities = [
        replace(quantity, drawing=_forest(table.title, quantity)) for quantity in table.quantities
    ]
    return table._replace(quantities=quantities)


def _forest(title: str, quantity: PrintedQuantity) -> Figure | None:
    if not any(row.effect.ratio for row in quantity.rows):
        return None
    return effects.forest(quantity, f"{title}: {quantity.label}", quantity.summary)


def _section(
    ident: str,
    title: str,
    paragraphs: list[str],
    shown: Sequence[Shown],
    draw: Callable[[Shown, str], Figure],
) -> FigureSection:
    figures = [
        _page_figure(panel, f"{ident}-{number}", draw(panel, panel["title"]))
        for number, panel in enumerate(shown, 1)
    ]
    return FigureSection(ident, title, paragraphs, figures)


def _page_figure(panel: Panel, ident: str, drawing: Figure) -> PageFigure:
    return PageFigure(
        heading=panel["title"],
        caption=panel.get("caption", ""),
        numbers=panel.get("numbers"),
        ident=ident,
        drawing=drawing,
    )


def sections(
    tables: Sequence[NamedTable], plan: Plan, digest: Digest, groups: Sequence[SpreadPanel]
) -> list[FigureSection]:
    """Return the sections that have a figure; ``groups`` are the panels of trials in two groups."""
    drawn = tables[:MOST_TABLES]
    control = plan["control"]
    levels = {name: profile["levels"] for name, profile in plan["profiles"].items()}
    candidates = [
        _section(
            "interactions",
            "Settings that act together",
            choices.INTERACTION_TEXT,
            choices.interaction_panels(drawn, levels, control),
            choices.interaction,
        ),
        _section(
            "pareto",
            "Throughput against CPU cost",
            choices.PARETO_TEXT,
            choices.pareto_panels(drawn, control),
            choices.pareto,
        ),
        _section(
            "spread",
            "Trials in two groups",
            trials.SPREAD_TEXT,
            groups,
            trials.spread,
        ),
        _section(
            "latency",
            "Latency under load",
            latency.TEXT,
            latency.latency_panels(drawn, plan, digest),
            latency.under_load,
        ),
        _section(
            "cpu", "CPU by kind", machine.CPU_TEXT, machine.cpu_panels(drawn, plan), machine.cpu
        ),
        _section(
            "softirq",
            "Softirq by CPU",
            machine.HEAT_TEXT,
            machine.heat_panels(drawn, plan, digest),
            machine.heat,
        ),
        _section(
            "time",
            "Trials over time",
            trials.TIME_TEXT,
            trials.time_panels(drawn, plan, digest),
            trials.over_time,
        ),
    ]
    return [section for section in candidates if section.figures]
