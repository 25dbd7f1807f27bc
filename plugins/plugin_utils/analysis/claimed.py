# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tables of analysis.json may claim something. Pure."""
from __future__ import annotations

from typing import Any


def claimed(analysis: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of an analysis whose effects may be claimed: a search claims only what was confirmed."""
    confirmed = (analysis["confirmation"] or {}).get("tables")
    return confirmed if analysis["search"] and confirmed else analysis["tables"]
