# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts in Markdown, as GitHub and GitLab show it. Pure."""

from __future__ import annotations

import re

from .texts import printable

# What is markup within a line; an underscore is none within a name.
MARKUP = re.compile(r"[\\`*\[\]]|(?<=:)/(?=/)")
BEGINS = re.compile(r"[#>]|[-+] |~~~|===")  # a line that is no paragraph


def escape(text: object) -> str:
    """Return a text as one line of a paragraph that shows it as it is."""
    line = printable(str(text)).replace("&", "&amp;").replace("<", "&lt;")
    begin = "\\" if BEGINS.match(line) else ""
    return begin + MARKUP.sub(r"\\\g<0>", line)


def cell(text: object) -> str:
    """Return a text as a cell of a table."""
    line = printable(str(text)).replace("&", "&amp;").replace("<", "&lt;")
    return MARKUP.sub(r"\\\g<0>", line).replace("|", "\\|")


def code(text: object) -> str:
    """Return a text as code within a line."""
    return f"`{printable(str(text)).replace('`', '')}`"
