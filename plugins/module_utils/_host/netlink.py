# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of netlink: requests to the kernel, and its answers. Pure, but for the socket.

Also a driver's statistics of its queues that mean the same for each driver: family netdev, Linux 6.9 or
later. Numbers: include/uapi/linux/netlink.h, genetlink.h and netdev.h; Documentation/netlink/specs/netdev.yaml.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from typing import Iterator

ROUTE = 0
GENERIC_FAMILIES = 16
CONTROL = 16
GET_FAMILY = 3
FAMILY_ID = 1
FAMILY_NAME = 2
REQUEST = 1
ACKNOWLEDGE = 4
DUMP = 0x300
ERROR = 2
DONE = 3
NESTED = 0x8000
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
GENERIC = struct.Struct("=BBH")  # command, version, reserved
ATTRIBUTE = struct.Struct("=HH")  # length, type
STATUS = struct.Struct("=i")
BUFFER = 1 << 16
PATIENCE = 1.0  # s; the kernel answers immediately
QSTATS_GET = 12
IFINDEX = 1
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


@contextlib.contextmanager
def opened(protocol: int) -> Iterator[socket.socket]:
    """Open a socket of this network namespace."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as sock:
        sock.settimeout(PATIENCE)
        yield sock


def send(sock: socket.socket, kind: int, flags: int, content: bytes) -> None:
    """Send one request."""
    size = HEADER.size + len(content)
    sock.send(HEADER.pack(size, kind, REQUEST | flags, 1, 0) + content)


def listed(sock: socket.socket, kind: int, content: bytes) -> Iterator[bytes]:
    """Ask for all of a kind and give the content of each answer; none where the kernel refuses."""
    send(sock, kind, DUMP, content)
    while True:
        for answered, answer in messages(sock.recv(BUFFER)):
            if answered in (ERROR, DONE):
                return
            yield answer


def ask(
    sock: socket.socket, family: int, command: int, flags: int, content: bytes = b""
) -> Iterator[bytes]:
    """Send a request to a generic family and give the attributes of each answer."""
    send(sock, family, flags, GENERIC.pack(command, 1, 0) + content)
    while True:
        for kind, answer in messages(sock.recv(BUFFER)):
            if kind in (ERROR, DONE):
                return
            yield answer[GENERIC.size :]
            if not flags & DUMP:
                return


def change(sock: socket.socket, kind: int, content: bytes) -> None:
    """Send a request that changes something; raises ``OSError`` with what the kernel answers."""
    send(sock, kind, ACKNOWLEDGE, content)
    for answered, answer in messages(sock.recv(BUFFER)):
        number = -STATUS.unpack_from(answer)[0] if answered == ERROR else 0
        if number:
            raise OSError(number, os.strerror(number))


def family(sock: socket.socket, name: str) -> int | None:
    """Return the number of a generic family, None where the kernel has none."""
    wanted = attribute(FAMILY_NAME, name.encode() + b"\0")
    for answer in ask(sock, CONTROL, GET_FAMILY, 0, wanted):
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


def queue_counters() -> dict[int, dict[str, int]]:
    """Return a driver's statistics, ``{number of a device: {counter: value}}`` of this network namespace; empty before
    Linux 6.9, and without a driver that has them.
    """
    with contextlib.suppress(OSError), opened(GENERIC_FAMILIES) as sock:
        number = family(sock, "netdev")
        if number is not None:
            answers = ask(sock, number, QSTATS_GET, DUMP)
            return dict(counters_of(answer) for answer in answers)
    return {}
