# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html: a template of the report; one file, no network, the same bytes each time."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...module_utils._base.errors import LabError
from .._figures import marks
from .._known_cases.known_cases import known_cases
from .._statistics import text
from .._untrusted import markdown
from .nouns import CampaignReport

if TYPE_CHECKING:
    import jinja2

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


@functools.lru_cache(maxsize=None)
def environment(*, is_page: bool = True) -> jinja2.Environment:
    """Return the Jinja2 environment of the report: of a page everything is escaped that is not said
    to be safe, of a text nothing.
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
        autoescape=is_page,
        keep_trailing_newline=not is_page,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    if is_page:
        new.finalize = _keep_units_together
    new.filters["capfirst"] = text.sentence
    return new


@functools.lru_cache(maxsize=None)
def _with_links(text: str) -> str:
    """Return a text of Markdown in which the reports of known cases can be clicked. No other address
    becomes a link.
    """
    for case in known_cases():
        text = text.replace(markdown.escape(case.link), f"<{case.link}>")
    return text


def markdown_environment() -> tuple[jinja2.Environment, Callable[[str], str]]:
    """Return the Jinja2 environment of report.md, which escapes each text that it shows, and what
    marks a text as Markdown.
    """
    plain = environment(is_page=False)
    import markupsafe  # noqa: PLC0415

    markup = markupsafe.Markup

    def shown(value: object) -> object:
        return value if isinstance(value, markup) else markup(_with_links(markdown.escape(value)))

    new = plain.overlay(autoescape=True, finalize=shown)
    new.filters = {
        **plain.filters,
        "code": lambda value: markup(markdown.code(value)),
        "block": lambda value: markup(markdown.block(value)),
    }
    return new, markup


def preload() -> None:
    """Compile the page's templates, for all later tasks too: each runs in a fork, which would compile
    them again.
    """
    with contextlib.suppress(LabError):
        environment().get_template("report.html.j2")


def _keep_units_together(value: object) -> object:
    """A number and its per cent sign stay on one line."""
    return value.replace(" %", "\u00a0%") if isinstance(value, str) and " %" in value else value


class Link(NamedTuple):
    """A link to a section of the page."""

    ident: str
    title: str


def _links(report: CampaignReport) -> list[Link]:
    """Return the sections that the page has, in their order."""
    figures = [(section.id, section.title, True) for section in report.figures]
    sections = [
        ("settings", "Settings", True),
        ("study", "As in the study", report.study),
        ("search", "The search", report.search),
        ("effects", "Effects", True),
        *figures,
        ("failures", "Failures", report.failures),
        ("evidence", "Evidence", True),
        ("conditions", "Conditions", True),
        ("marked", "Marked trials", True),
        ("repeat", "Repeat it", True),
        ("numbers", "Numbers", True),
    ]
    return [Link(ident, title) for ident, title, is_there in sections if is_there]


def render(report: CampaignReport) -> str:
    """Return the page as HTML."""
    template = environment().get_template("report.html.j2")
    return template.render(vars(report), sections=_links(report), colours=marks.COLOURS)
