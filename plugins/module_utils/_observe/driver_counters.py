# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A driver's own counters, as ``ethtool -S`` shows them, without a process: what they say about
offloads.

Structures and constants: linux/ethtool.h (ethtool_drvinfo, ethtool_gstrings, ethtool_stats).
"""

from __future__ import annotations

import ctypes
import fcntl
import re
import socket
import struct
from typing import Mapping

SIOCETHTOOL = 0x8946
GDRVINFO = 0x03
GSTRINGS = 0x1B
GSTATS = 0x1D
DRVINFO_SIZE = 196
COUNT_AT = 180
STATISTICS_SET = 1
NAME_SIZE = 32
SPARE = 64  # counters; a driver may add some between two questions
# The words of drivers' counters about segmentation, merging, tunnels and checksums.
OFFLOAD = re.compile(
    r"tso|lso|gso|gro|lro|segment|vxlan|tnl|tunnel|encap|inner|csum|checksum|hw_gro", re.IGNORECASE
)


def _ask(sock: socket.socket, name: str, head: bytes, size: int) -> bytes:
    data = ctypes.create_string_buffer(head, size)
    pointer = struct.pack("P", ctypes.addressof(data))
    fcntl.ioctl(sock, SIOCETHTOOL, struct.pack("16s24s", name.encode(), pointer))
    return data.raw


def read(sock: socket.socket, name: str) -> dict[str, int]:
    """Return ``{counter: value}`` of a device in the socket's network namespace; empty for a driver
    without any.
    """
    try:
        count = struct.unpack_from(
            "I", _ask(sock, name, struct.pack("I", GDRVINFO), DRVINFO_SIZE), COUNT_AT
        )[0]
        if not count:
            return {}
        strings = _ask(
            sock, name, struct.pack("III", GSTRINGS, STATISTICS_SET, count), 12 + NAME_SIZE * count
        )
        values = _ask(sock, name, struct.pack("II", GSTATS, count), 8 + 8 * (count + SPARE))
    except OSError:
        return {}
    names = [
        strings[12 + NAME_SIZE * index :][:NAME_SIZE].split(b"\0")[0].decode("utf-8", "replace")
        for index in range(count)
    ]
    return dict(zip(names, struct.unpack_from(f"{count}Q", values, 8)))


def moved(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return ``{counter: increase}`` of those that concern offloads and went up between two
    readings.
    """
    return {
        name: after[name] - before[name]
        for name in sorted(before)
        if OFFLOAD.search(name) and after.get(name, 0) > before[name]
    }
