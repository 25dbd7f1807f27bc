# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds whose listing by ethtool has two sections, the maximums and the present numbers: queues and
descriptor rings. Pure.
"""

from __future__ import annotations

from typing import Any, Mapping

from .._ethtool.settings import parse_channels, parse_rings
from .kind import Expressed, KindState, number
from .listed import Listed, unsupported


class Sections(Listed):
    """A kind whose listing has two sections: the maximums and what is set now."""

    link_file: Mapping[str, str]  # what systemd calls each setting

    def state(self, listing: Any, reason: str | None) -> KindState:
        if listing and listing["current"]:
            return {"supported": True, **listing}
        return unsupported(reason)

    def link_file_key(self, setting: str, value: int) -> Expressed:
        # 0 means "the maximum" to systemd
        return (
            (self.link_file[setting], str(value)) if setting in self.link_file and value else None
        )


class Channels(Sections):
    """The number of queues."""

    name = group = "channels"
    about = "sets the number of queues"
    availability = "`ethtool -L`; drivers with several queues"
    takes = "numbers"
    settings = ["combined"]
    read_option = "-l"
    set_option = "-L"

    link_file = {
        "rx": "RxChannels",
        "tx": "TxChannels",
        "other": "OtherChannels",
        "combined": "CombinedChannels",
    }

    parse = staticmethod(parse_channels)
    value = staticmethod(number)


CHANNELS = Channels()


class Rings(Sections):
    """The length of the descriptor rings."""

    name = group = "rings"
    about = "sets the length of the descriptor rings, in packets"
    availability = "`ethtool -G`; most hardware drivers"
    takes = "numbers"
    settings = ["rx", "tx"]
    read_option = "-g"
    set_option = "-G"

    link_file = {
        "rx": "RxBufferSize",
        "rx-mini": "RxMiniBufferSize",
        "rx-jumbo": "RxJumboBufferSize",
        "tx": "TxBufferSize",
    }

    parse = staticmethod(parse_rings)
    value = staticmethod(number)

    def connection_property(self, setting: str, value: int) -> Expressed:
        return (f"ethtool.ring-{setting}", str(value)) if setting in self.link_file else None


RINGS = Rings()
