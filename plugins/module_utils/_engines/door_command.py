# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the command line of :mod:`.door`."""

from __future__ import annotations

from typing import ContextManager

from .._host import script
from . import door

DESCRIPTOR = 197


def argv(address: str, port: int, count: int, program: str) -> list[str]:
    """Return the command line of a door, in front of a program, at some ports."""
    return [*script.argv(DESCRIPTOR), address, str(port), str(count), program]


def descriptors() -> ContextManager[tuple[int, ...]]:
    """Hold the script open, for processes that are started meanwhile; give what they inherit."""
    return script.held(door, DESCRIPTOR)
