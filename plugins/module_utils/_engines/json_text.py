# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what engines print as JSON, one step into it at a time."""

from __future__ import annotations

from typing import Any

from .._base.errors import ParseError


def object_of(value: object, what: str) -> dict[str, Any]:
    """Return a JSON object; raises ParseError for anything else."""
    if not isinstance(value, dict):
        raise ParseError(f"{what} is not there, or not an object", 1)
    return value
