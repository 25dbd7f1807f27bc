# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of the packets that two nodes sent each other."""

from __future__ import annotations

from typing import TypedDict


class Passed(TypedDict):
    """The packets that passed a device on their way out and in."""

    device: str
    out: int
    back: int


class Exchange(TypedDict):
    """What became of a path: what its other end answered, and of datagrams where something was not."""

    path: str
    peer: str
    ping: bool
    tcp: bool
    sent: int  # datagrams, 0 where ping and TCP pass
    arrived: int
    devices: list[Passed]  # from the end to the wire
