# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts in Markdown, as GitHub and GitLab show it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .texts import lines, printable

# What is markup within a line; an underscore is none within a name.
MARKUP = re.compile(r"[\\`*\[\]]|(?<=:)/(?=/)")
BEGINS = re.compile(r"[#>]|[-+] |~~~|===")  # a line that is no paragraph


def escape(text: object) -> str:
    """Return a text as one line of a paragraph that shows it unchanged."""
    line = printable(str(text)).replace("&", "&amp;").replace("<", "&lt;")
    begin = "\\" if BEGINS.match(line) else ""
    return begin + MARKUP.sub(r"\\\g<0>", line)


def cell(text: object) -> str:
    """Return a text as a cell of a table."""
    line = printable(str(text)).replace("&", "&amp;").replace("<", "&lt;")
    return MARKUP.sub(r"\\\g<0>", line).replace("|", "\\|")


def table(head: Iterable[str], marks: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table; ``marks`` say on which side each column stands."""
    rows_of_cells = [map(cell, head), marks, *(map(cell, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in rows_of_cells)


def block(text: object) -> str:
    """Return the lines of a text as they may stand between two fences."""
    return "\n".join(lines(str(text))).replace("```", "")


def code(text: object) -> str:
    """Return a text as code within a line."""
    return f"`{printable(str(text)).replace('`', '')}`"
