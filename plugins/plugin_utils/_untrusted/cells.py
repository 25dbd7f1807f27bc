# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cells of a spreadsheet: a text is never a formula. Pure."""

from __future__ import annotations

from typing import Any

BEGINS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are their wide forms


def cell(value: Any) -> Any:
    """Return a value of a cell; a text that would be a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(BEGINS) else value
