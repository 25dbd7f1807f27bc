# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The number of queues of a device (``ethtool -L``). Pure."""

from __future__ import annotations

from .._ethtool.settings import parse_channels
from .kind import Expressed, number
from .listed import Sections

LINK_FILE = {
    "rx": "RxChannels",
    "tx": "TxChannels",
    "other": "OtherChannels",
    "combined": "CombinedChannels",
}


class Channels(Sections):
    """The number of queues."""

    name = group = "channels"
    about = "sets the number of queues"
    availability = "`ethtool -L`; drivers with several queues"
    settings = ["combined"]
    read_option = "-l"
    set_option = "-L"

    parse = staticmethod(parse_channels)
    value = staticmethod(number)

    def link_file_key(self, setting: str, value: int) -> Expressed:
        # 0 means "the maximum" to systemd
        return (LINK_FILE[setting], str(value)) if setting in LINK_FILE and value else None


CHANNELS = Channels()
