# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ICMP echo requests (RFC 792, RFC 4443): whether addresses answer. Not every node has ping."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
from typing import Iterable, NamedTuple

from .._base.errors import LabError
from .netns import inside

HEADER = struct.Struct("!BBHHH")  # type, code, checksum, identifier, sequence number
REQUEST = {socket.AF_INET: 8, socket.AF_INET6: 128}
ANSWER = {socket.AF_INET: 0, socket.AF_INET6: 129}
PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}
DATA = b"offload.lab     "
LONGEST = 2048  # bytes that are read of a packet


class Target(NamedTuple):
    """An address, asked from a network namespace (None: the node's own)."""

    netns: str | None
    address: str


def family_of(address: str) -> socket.AddressFamily:
    """Return the family of an address."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071) of an even number of bytes."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def request(family: socket.AddressFamily, identifier: int) -> bytes:
    """Return an echo request. The kernel fills in the checksum of ICMPv6."""
    kind = REQUEST[family]
    summed = checksum(HEADER.pack(kind, 0, 0, identifier, 1) + DATA)
    return HEADER.pack(kind, 0, summed, identifier, 1) + DATA


def answers(family: socket.AddressFamily, packet: bytes, identifier: int) -> bool:
    """Return whether a packet that a raw socket has read is the answer to our request."""
    start = 0
    if family == socket.AF_INET and packet:  # a raw socket of IPv4 reads the IP header, too
        start = (packet[0] & 0x0F) * 4
    header = packet[start : start + HEADER.size]
    if len(header) < HEADER.size:
        return False
    kind, _code, _checksum, named, _number = HEADER.unpack(header)
    return bool(kind == ANSWER[family] and named == identifier)


class _Asked:
    """A request that was sent. Its socket ends with the question: it would keep a namespace
    alive that others want to remove.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.family = family_of(target.address)
        self.identifier = os.getpid() & 0xFFFF
        with inside(target.netns):
            self.socket = socket.socket(self.family, socket.SOCK_RAW, PROTOCOL[self.family])
        self.socket.setblocking(False)

    def send(self) -> None:
        """Send the request; who has no route has no answer."""
        packet = request(self.family, self.identifier)
        with contextlib.suppress(OSError):
            self.socket.sendto(packet, (self.target.address, 0))

    def is_answered(self) -> bool:
        """Read a packet and return whether it is the answer."""
        with contextlib.suppress(OSError):
            packet, sender = self.socket.recvfrom(LONGEST)
            from_target = sender[0].partition("%")[0] == self.target.address
            return from_target and answers(self.family, packet, self.identifier)
        return False


def ask(targets: Iterable[Target], seconds: float) -> set[Target]:
    """Send one request to each target, and return those that answer within ``seconds``.

    A target in a namespace that is gone does not answer.
    """
    answered: set[Target] = set()
    with contextlib.ExitStack() as stack:
        waiting: dict[int, _Asked] = {}
        for target in targets:
            with contextlib.suppress(LabError, OSError):
                request = _Asked(target)
                stack.callback(request.socket.close)
                request.send()
                waiting[request.socket.fileno()] = request
        end = time.monotonic() + seconds
        while waiting and time.monotonic() < end:
            remaining = max(0.0, end - time.monotonic())
            for descriptor in select.select(list(waiting), [], [], remaining)[0]:
                if waiting[descriptor].is_answered():
                    answered.add(waiting.pop(descriptor).target)
    return answered
