# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Energy-Efficient Ethernet: whether a link sleeps while it is idle (``ethtool --set-eee``). Pure.

The link modes that are advertised for it are neither set nor restored.
"""

from __future__ import annotations

import re
from typing import Any

from .kind import SWITCH, KindState, number
from .listed import Listed, unsupported

HEADER = re.compile(r"^EEE [Ss]ettings for (\S+):$")
STATUS = re.compile(r"^EEE status: (enabled|disabled)\b")
TX_LPI = re.compile(r"^Tx LPI: (?:(disabled)|([0-9]{1,10}) [(\[]us[)\]])", re.ASCII)


def parse_eee(text: str) -> dict[str, dict[str, Any]]:
    """Return ``{device: {"eee", "tx-lpi", "tx-timer"}}`` of ``ethtool --show-eee``.

    ``tx-timer``, in microseconds, is None where idle sending does not sleep; a device that does not
    support it has nothing.
    """
    devices: dict[str, dict[str, Any]] = {}
    values: dict[str, Any] = {}
    for line in (line.strip() for line in text.split("\n")):
        header = HEADER.match(line)
        status = STATUS.match(line)
        lpi = TX_LPI.match(line)
        if header:
            values = devices.setdefault(header.group(1), {})
        elif status:
            values["eee"] = status.group(1) == "enabled"
        elif lpi and "eee" in values:
            values["tx-lpi"] = lpi.group(1) is None
            values["tx-timer"] = None if lpi.group(1) else int(lpi.group(2))
    return devices


def number_or_switch(level: str) -> bool | int:
    """Return a number, or the bool of ``off`` or ``on``."""
    return SWITCH[level] if level in SWITCH else number(level)


class Eee(Listed):
    """Energy-Efficient Ethernet."""

    name = group = "eee"
    about = "lets an idle link sleep, which saves power and costs time when packets come"
    availability = "`ethtool --show-eee`; copper cards; veth and virtio have none"
    settings = ["eee"]
    levels = ["off", "on"]
    read_option = "--show-eee"
    set_option = "--set-eee"

    parse = staticmethod(parse_eee)
    value = staticmethod(number_or_switch)

    def state(self, listing: Any, reason: str | None) -> KindState:
        if not listing:
            return unsupported(reason)
        off = {"tx-timer": "tx-lpi is off"} if listing.get("tx-timer") is None else {}
        return {"supported": True, "current": listing, "reasons": off}


EEE = Eee()
