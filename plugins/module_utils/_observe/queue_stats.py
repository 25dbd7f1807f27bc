# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A driver's statistics of its queues that mean the same for each driver, over generic netlink.

Family netdev, Linux 6.9 or later, where the driver has them. Messages and numbers:
include/uapi/linux/netlink.h, genetlink.h and netdev.h; Documentation/netlink/specs/netdev.yaml.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from typing import Iterator

NETLINK_GENERIC = 16
CONTROL = 16
GET_FAMILY = 3
FAMILY_ID = 1
FAMILY_NAME = 2
REQUEST = 1
DUMP = 0x300
ERROR = 2
DONE = 3
QSTATS_GET = 12
IFINDEX = 1
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
GENERIC = struct.Struct("=BBH")  # command, version, reserved
ATTRIBUTE = struct.Struct("=HH")  # length, type
BUFFER = 1 << 16
PATIENCE = 1.0  # s; the kernel answers immediately
# Of the attributes of a device those that tell of damage, loss and offloads.
COUNTERS = {
    12: "rx-alloc-fail",
    13: "rx-hw-drops",
    14: "rx-hw-drop-overruns",
    18: "rx-csum-bad",
    19: "rx-hw-gro-packets",
    24: "tx-hw-drops",
    25: "tx-hw-drop-errors",
    28: "tx-hw-gso-packets",
    33: "tx-stop",
}


def _padded(size: int) -> int:
    return size + -size % 4


def attribute(kind: int, value: bytes) -> bytes:
    """Return an attribute as netlink has it, padded to 4 bytes."""
    size = ATTRIBUTE.size + len(value)
    return ATTRIBUTE.pack(size, kind) + value + b"\0" * (-size % 4)


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Give the attributes of a message; what is cut off is left out."""
    while len(data) >= ATTRIBUTE.size:
        size, kind = ATTRIBUTE.unpack_from(data)
        if not ATTRIBUTE.size <= size <= len(data):
            return
        yield kind, data[ATTRIBUTE.size : size]
        data = data[_padded(size) :]


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Give ``(type, content)`` of the messages in what was received."""
    while len(data) >= HEADER.size:
        size, kind, _flags, _sequence, _port = HEADER.unpack_from(data)
        if not HEADER.size <= size <= len(data):
            return
        yield kind, data[HEADER.size : size]
        data = data[_padded(size) :]


def _ask(
    sock: socket.socket, family: int, command: int, flags: int, content: bytes = b""
) -> Iterator[bytes]:
    """Send a request and give the attributes of each answer."""
    size = HEADER.size + GENERIC.size + len(content)
    head = HEADER.pack(size, family, REQUEST | flags, 1, 0)
    sock.send(head + GENERIC.pack(command, 1, 0) + content)
    while True:
        for kind, answer in messages(sock.recv(BUFFER)):
            if kind in (ERROR, DONE):
                return
            yield answer[GENERIC.size :]
            if not flags & DUMP:
                return


def _family(sock: socket.socket) -> int | None:
    """Return the number of family netdev, None where the kernel has none."""
    name = attribute(FAMILY_NAME, b"netdev\0")
    for answer in _ask(sock, CONTROL, GET_FAMILY, 0, name):
        number = dict(attributes(answer)).get(FAMILY_ID, b"")
        if len(number) == 2:
            return int.from_bytes(number, sys.byteorder)
    return None


def counters_of(answer: bytes) -> tuple[int, dict[str, int]]:
    """Return ``(number of the device, {counter: value})`` of one answer."""
    counters = {}
    index = 0
    for kind, value in attributes(answer):
        number = int.from_bytes(value, sys.byteorder)
        if kind == IFINDEX:
            index = number
        elif kind in COUNTERS and len(value) in (4, 8):
            counters[COUNTERS[kind]] = number
    return index, counters


def read() -> dict[int, dict[str, int]]:
    """Return ``{number of a device: {counter: value}}`` of this network namespace; empty before
    Linux 6.9, and without a driver that has them.
    """
    with contextlib.suppress(OSError), socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC
    ) as sock:
        sock.settimeout(PATIENCE)
        family = _family(sock)
        if family is not None:
            return dict(counters_of(answer) for answer in _ask(sock, family, QSTATS_GET, DUMP))
    return {}
