# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interrupt moderation (``ethtool -C``): microseconds, or mappings of settings. Pure."""

from __future__ import annotations

from typing import Any

from .._ethtool.settings import parse_coalesce
from .kind import SWITCH, KindState, number
from .listed import Listed, unsupported


def number_or_switch(level: str) -> bool | int:
    """Return a number, or the bool of ``off`` or ``on``."""
    return SWITCH[level] if level in SWITCH else number(level)


class Coalesce(Listed):
    """How long a card waits before it interrupts."""

    name = group = "coalesce"
    about = "sets how long a card waits before it interrupts"
    availability = "`ethtool -C`; most hardware drivers"
    settings = ["rx-usecs"]
    read_option = "-c"
    set_option = "-C"

    parse = staticmethod(parse_coalesce)
    value = staticmethod(number_or_switch)

    def state(self, listing: Any, reason: str | None) -> KindState:
        return {"supported": True, "current": listing} if listing else unsupported(reason)


COALESCE = Coalesce()
