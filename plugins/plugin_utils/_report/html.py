# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html: the page with its figures, through the template; one file, no network, the same
bytes each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...module_utils._base.errors import LabError
from .._campaign.nouns import Plan
from .._figures import (
    choice_panels,
    choices,
    effects,
    machine,
    marks,
    panels,
    trial_panels,
)
from .._figures import numbers as text
from .._figures import trials as trial_figures
from .._figures.marks import Figure
from .._trials.digest import Digest

if TYPE_CHECKING:
    import jinja2

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
MOST_TABLES = 16  # with figures; a campaign with more has its numbers in the tables alone


def environment() -> jinja2.Environment:
    """Return the Jinja2 environment of the report; everything is escaped that is not said to be
    safe.
    """
    try:
        import jinja2  # noqa: PLC0415
    except ImportError:
        raise LabError(
            "the Python package Jinja2 is missing on the controller",
            "report",
            "Install it with: pip install Jinja2",
        )
    new = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    new.finalize = _keep_units_together
    new.filters["capfirst"] = text.sentence
    return new


def _keep_units_together(value: Any) -> Any:
    """A number and its per cent sign stay on one line."""
    return value.replace(" %", "\u00a0%") if isinstance(value, str) and " %" in value else value


def _with_figures(table: dict[str, Any], draw: bool) -> dict[str, Any]:
    title = table["title"]
    return dict(
        table,
        quantities=[
            dict(
                quantity,
                drawing=effects.forest(quantity, f"{title}: {quantity['label']}")
                if draw and any(row["ratio"] for row in quantity["rows"])
                else None,
            )
            for quantity in table["quantities"]
        ],
    )


def _section(
    ident: str,
    title: str,
    paragraphs: Any,
    found: list[dict[str, Any]],
    draw: Callable[[dict[str, Any], str], Figure],
) -> dict[str, Any]:
    return {
        "id": ident,
        "title": title,
        "text": paragraphs,
        "figures": [
            {
                "heading": panel["title"],
                "caption": panel.get("caption", ""),
                "numbers": panel.get("numbers"),
                "ident": f"{ident}-{number}",
                "drawing": draw(panel, panel["title"]),
            }
            for number, panel in enumerate(found, 1)
        ],
    }


def render(page: dict[str, Any], plan: Plan, digest: Digest) -> str:
    """Return the page as HTML."""
    template = environment().get_template("report.html.j2")
    drawn = [table for table in page["tables"] if table["quantities"]][:MOST_TABLES]
    blocks = [
        _with_figures(table, number < MOST_TABLES) for number, table in enumerate(page["blocks"])
    ]
    control = plan["control"]
    levels = {name: profile["levels"] for name, profile in plan["profiles"].items()}
    sections = [
        _section(
            "interactions",
            "Settings that act together",
            choice_panels.INTERACTION_TEXT,
            choice_panels.interactions(drawn, levels, control),
            choices.interaction,
        ),
        _section(
            "pareto",
            "Throughput against CPU cost",
            choice_panels.PARETO_TEXT,
            choice_panels.pareto(drawn, control),
            choices.pareto,
        ),
        _section(
            "spread",
            "Trials in two groups",
            trial_panels.SPREAD_TEXT,
            page["groups"],
            trial_figures.spread,
        ),
        _section("cpu", "CPU by kind", panels.CPU_TEXT, panels.cpu(drawn, plan), machine.cpu),
        _section(
            "softirq",
            "Softirq by CPU",
            panels.HEAT_TEXT,
            panels.heat(drawn, plan, digest),
            machine.heat,
        ),
        _section(
            "time",
            "Trials over time",
            trial_panels.TIME_TEXT,
            trial_panels.over_time(drawn, plan, digest),
            trial_figures.over_time,
        ),
    ]
    sections = [section for section in sections if section["figures"]]
    links = [("settings", "Settings")] + ([("study", "As in the study")] if page["study"] else [])
    links += [("search", "The search")] if page["search"] else []
    links += [("effects", "Effects")]
    links += [(section["id"], section["title"]) for section in sections]
    links += [("failures", "Failures")] if page["failures"] else []
    links += [
        ("evidence", "Evidence"),
        ("conditions", "Conditions"),
        ("marked", "Marked trials"),
        ("repeat", "Repeat it"),
        ("numbers", "Numbers"),
    ]
    return template.render(
        dict(page, blocks=blocks, figure_sections=sections, sections=links, colours=marks.COLOURS)
    )
