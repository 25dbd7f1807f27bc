# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pause frames: whether a device asks its neighbour to wait, and waits (``ethtool -A``). Pure."""

from __future__ import annotations

from typing import Any

from .._ethtool.settings import blocks, row_of
from .kind import KindState, switch
from .listed import Listed, unsupported

NAMES = {"Autonegotiate": "autoneg", "RX": "rx", "TX": "tx"}


def parse_pause(text: str) -> dict[str, dict[str, Any]]:
    """Return ``{device: {name: bool}}`` of ``ethtool -a``; what was negotiated is left out."""
    devices: dict[str, dict[str, Any]] = {}
    for device, line in blocks(text, "Pause"):
        values = devices.setdefault(device, {})
        row = row_of(line)
        if row and row[0] in NAMES and isinstance(row[1], bool):
            values[NAMES[row[0]]] = row[1]
    return devices


class Pause(Listed):
    """Pause frames of Ethernet."""

    name = group = "pause"
    about = "lets a device ask its neighbour to wait (`tx`), and wait when it is asked (`rx`)"
    availability = "`ethtool -a`; most hardware drivers; veth and virtio have none"
    settings = ["rx", "tx"]
    levels = ["off", "on"]
    read_option = "-a"
    set_option = "-A"

    parse = staticmethod(parse_pause)
    value = staticmethod(switch)

    def state(self, listing: Any, reason: str | None) -> KindState:
        return {"supported": True, "current": listing} if listing else unsupported(reason)


PAUSE = Pause()
