# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command lines of :mod:`.traffic`."""

from __future__ import annotations

from typing import ContextManager

from ..._host import script
from .. import wire
from . import traffic

TEST = "PAYLOAD"
DESCRIPTOR = 199
SCRIPT = script.argv(DESCRIPTOR)


def serve_argv(address: str, port: int) -> list[str]:
    """Return the command line of a server."""
    return [*SCRIPT, "serve", address, str(port)]


def check_argv(
    address: str, port: int, seconds: int, rate_mbps: float, local: str | None
) -> list[str]:
    """Return the command line of a check; ``port`` is the server's, a rate of 0 is no limit."""
    there = [address, str(port), str(seconds), f"{rate_mbps:g}"]
    return [*SCRIPT, "check", *there, *([local] if local else [])]


def text() -> str:
    """Return the script that both ends run."""
    return script.text_of(wire, traffic)


def descriptors() -> ContextManager[tuple[int, ...]]:
    """Hold the script open, for processes that are started meanwhile; give what they inherit."""
    return script.held(text(), DESCRIPTOR)
