# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that ethtool lists: queues and descriptor rings in two sections, the maximums and the present
numbers; as names and values interrupt moderation, pause frames, Energy-Efficient Ethernet and private
flags. Pure.
"""

from __future__ import annotations

import re
from typing import Any, Mapping

from .._ethtool.settings import blocks, parse_channels, parse_coalesce, parse_rings, row_of
from .kind import SWITCH, Expressed, KindState, number, switch
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


def number_or_switch(level: str) -> bool | int:
    """Return a number, or the bool of ``off`` or ``on``."""
    return SWITCH[level] if level in SWITCH else number(level)


class Coalesce(Listed):
    """How long a card waits before it interrupts."""

    name = "coalesce"
    about = "sets how long a card waits before it interrupts"
    availability = "`ethtool -C`; most hardware drivers"
    takes = "numbers, `off`, `on`, or mappings such as `{adaptive-rx: on}`"
    settings = ["rx-usecs"]
    read_option = "-c"
    set_option = "-C"

    parse = staticmethod(parse_coalesce)
    value = staticmethod(number_or_switch)


COALESCE = Coalesce()


PAUSE_NAMES = {"Autonegotiate": "autoneg", "RX": "rx", "TX": "tx"}


def parse_pause(text: str) -> dict[str, dict[str, Any]]:
    """Return ``{device: {name: bool}}`` of ``ethtool -a``; what was negotiated is left out."""
    devices: dict[str, dict[str, Any]] = {}
    for device, line in blocks(text, "Pause"):
        values = devices.setdefault(device, {})
        row = row_of(line)
        if row and row[0] in PAUSE_NAMES and isinstance(row[1], bool):
            values[PAUSE_NAMES[row[0]]] = row[1]
    return devices


class Pause(Listed):
    """Pause frames: whether a device asks its neighbour to wait, and waits."""

    name = "pause"
    about = "lets a device ask its neighbour to wait (`tx`), and wait when it is asked (`rx`)"
    availability = "`ethtool -a`; most hardware drivers; veth and virtio have none"
    takes = "`off`, `on`"
    also = ("autoneg",)
    settings = ["rx", "tx"]
    levels = ["off", "on"]
    read_option = "-a"
    set_option = "-A"

    parse = staticmethod(parse_pause)
    value = staticmethod(switch)


PAUSE = Pause()


EEE_HEADER = re.compile(r"^EEE [Ss]ettings for (\S+):$")
EEE_STATUS = re.compile(r"^EEE status: (enabled|disabled)\b")
TX_LPI = re.compile(r"^Tx LPI: (?:(disabled)|([0-9]{1,10}) [(\[]us[)\]])", re.ASCII)


def parse_eee(text: str) -> dict[str, dict[str, Any]]:
    """Return ``{device: {"eee", "tx-lpi", "tx-timer"}}`` of ``ethtool --show-eee``.

    ``tx-timer``, in microseconds, is None where idle sending does not sleep; a device that does not
    support it has nothing.
    """
    devices: dict[str, dict[str, Any]] = {}
    values: dict[str, Any] = {}
    for line in (line.strip() for line in text.split("\n")):
        header = EEE_HEADER.match(line)
        status = EEE_STATUS.match(line)
        lpi = TX_LPI.match(line)
        if header:
            values = devices.setdefault(header.group(1), {})
        elif status:
            values["eee"] = status.group(1) == "enabled"
        elif lpi and "eee" in values:
            values["tx-lpi"] = lpi.group(1) is None
            values["tx-timer"] = None if lpi.group(1) else int(lpi.group(2))
    return devices


class Eee(Listed):
    """Energy-Efficient Ethernet: whether a link sleeps while it is idle.

    The link modes that are advertised for it are neither set nor restored.
    """

    name = "eee"
    about = "lets an idle link sleep, which saves power and costs time when packets come"
    availability = "`ethtool --show-eee`; copper cards; veth and virtio have none"
    takes = "`off`, `on`, or a number for `tx-timer`"
    also = (
        "tx-lpi",
        "tx-timer",
    )
    settings = ["eee"]
    levels = ["off", "on"]
    read_option = "--show-eee"
    set_option = "--set-eee"

    parse = staticmethod(parse_eee)
    value = staticmethod(number_or_switch)

    def state(self, listing: Any, reason: str | None) -> KindState:
        state = super().state(listing, reason)
        if state["supported"]:
            never = listing.get("tx-timer") is None
            state["reasons"] = {"tx-timer": "tx-lpi is off"} if never else {}
        return state


EEE = Eee()


FLAGS_HEADER = re.compile(r"^Private flags for (\S+):$")
FLAG = re.compile(r"^(\S(?:.*?\S)?)\s*: (on|off)$")


def parse_private_flags(text: str) -> dict[str, dict[str, bool]]:
    """Return ``{device: {flag: bool}}`` of ``ethtool --show-priv-flags``."""
    devices: dict[str, dict[str, bool]] = {}
    values: dict[str, bool] = {}
    for line in text.split("\n"):
        header = FLAGS_HEADER.match(line.strip())
        flag = FLAG.match(line.strip())
        if header:
            values = devices.setdefault(header.group(1), {})
        elif flag:
            values[flag.group(1)] = flag.group(2) == "on"
    return devices


class PrivateFlags(Listed):
    """Private flags: switches that a driver has for itself."""

    name = "private_flags"
    about = "switches what a driver has for itself, by the driver's own names"
    availability = (
        "`ethtool --show-priv-flags`; mlx5, i40e, ice and others; veth and virtio have none"
    )
    takes = "`off`, `on`"
    levels = ["off", "on"]
    read_option = "--show-priv-flags"
    set_option = "--set-priv-flags"

    parse = staticmethod(parse_private_flags)
    value = staticmethod(switch)

    def setting_name(self, name: str) -> str:
        return name


PRIVATE_FLAGS = PrivateFlags()
