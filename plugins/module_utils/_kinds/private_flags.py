# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private flags: switches that a driver has for itself (``ethtool --set-priv-flags``). Pure."""

from __future__ import annotations

import re
from typing import Any

from .kind import KindState, switch
from .listed import Listed, unsupported

HEADER = re.compile(r"^Private flags for (\S+):$")
FLAG = re.compile(r"^(\S(?:.*?\S)?)\s*: (on|off)$")


def parse_private_flags(text: str) -> dict[str, dict[str, bool]]:
    """Return ``{device: {flag: bool}}`` of ``ethtool --show-priv-flags``."""
    devices: dict[str, dict[str, bool]] = {}
    values: dict[str, bool] = {}
    for line in text.split("\n"):
        header = HEADER.match(line.strip())
        flag = FLAG.match(line.strip())
        if header:
            values = devices.setdefault(header.group(1), {})
        elif flag:
            values[flag.group(1)] = flag.group(2) == "on"
    return devices


class PrivateFlags(Listed):
    """The switches of a driver."""

    name = group = "private_flags"
    about = "switches what a driver has for itself, by the driver's own names"
    availability = (
        "`ethtool --show-priv-flags`; mlx5, i40e, ice and others; veth and virtio have none"
    )
    levels = ["off", "on"]
    read_option = "--show-priv-flags"
    set_option = "--set-priv-flags"

    parse = staticmethod(parse_private_flags)
    value = staticmethod(switch)

    def setting_name(self, name: str) -> str:
        return name

    def state(self, listing: Any, reason: str | None) -> KindState:
        return {"supported": True, "current": listing} if listing else unsupported(reason)


PRIVATE_FLAGS = PrivateFlags()
