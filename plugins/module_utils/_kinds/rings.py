# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The length of the descriptor rings, in packets (``ethtool -G``). Pure."""

from __future__ import annotations

from .._ethtool.settings import parse_rings
from .kind import Expressed, number
from .listed import Sections

LINK_FILE = {
    "rx": "RxBufferSize",
    "rx-mini": "RxMiniBufferSize",
    "rx-jumbo": "RxJumboBufferSize",
    "tx": "TxBufferSize",
}


class Rings(Sections):
    """The length of the descriptor rings."""

    name = group = "rings"
    about = "sets the length of the descriptor rings, in packets"
    availability = "`ethtool -G`; most hardware drivers"
    settings = ["rx", "tx"]
    read_option = "-g"
    set_option = "-G"

    parse = staticmethod(parse_rings)
    value = staticmethod(number)

    def link_file_key(self, setting: str, value: int) -> Expressed:
        # 0 means "the maximum" to systemd
        return (LINK_FILE[setting], str(value)) if setting in LINK_FILE and value else None

    def connection_property(self, setting: str, value: int) -> Expressed:
        return (f"ethtool.ring-{setting}", str(value)) if setting in LINK_FILE else None


RINGS = Rings()
