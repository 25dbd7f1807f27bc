# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two network devices with a wire between them that keeps the contract of offloads, or breaks it.

Each device is a tap whose packets carry a ``struct virtio_net_hdr`` (linux/virtio_net.h): the kernel
says with each packet which part of the checksum, and which segmentation, is left to the device.
"""

from __future__ import annotations

import fcntl
import os
import random
import select
import struct
import subprocess
import threading
from collections.abc import Callable

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0  # linux/if_tun.h
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
CHECKSUM, TSO4, TSO6 = 0x01, 0x02, 0x04
HEADER = struct.Struct("<BBHHHH")  # flags, gso_type, hdr_len, gso_size, csum_start, csum_offset
NEEDS_CHECKSUM = 1  # a flag: the checksum is left to the device
PAYLOAD_FROM = 10 + 14 + 20 + 32  # bytes: virtio header, Ethernet, IPv4, TCP with timestamps

Fault = Callable[[bytes, random.Random], "bytes | None"]  # what arrives, None for nothing


def honest(packet: bytes, _chance: random.Random) -> bytes:
    """Deliver what was sent."""
    return packet


def offloaded(packet: bytes) -> bool:
    """Return whether the packet relies on the device for its checksum."""
    return bool(HEADER.unpack_from(packet)[0] & NEEDS_CHECKSUM)


def super_packet(packet: bytes) -> bool:
    """Return whether the device has to cut the packet into segments."""
    return bool(HEADER.unpack_from(packet)[1])


def flips_a_bit(rate: float, concerns: Callable[[bytes], bool] = offloaded) -> Fault:
    """Return a device that changes one bit of the payload before it makes the checksum."""

    def fault(packet: bytes, chance: random.Random) -> bytes:
        if not concerns(packet) or len(packet) <= PAYLOAD_FROM or chance.random() >= rate:
            return packet
        place = chance.randrange(PAYLOAD_FROM, len(packet))
        return packet[:place] + bytes([packet[place] ^ 1]) + packet[place + 1 :]

    return fault


def leaves_checksums(rate: float) -> Fault:
    """Return a device that says nothing of a checksum that it should have made."""

    def fault(packet: bytes, chance: random.Random) -> bytes:
        if not offloaded(packet) or super_packet(packet) or chance.random() >= rate:
            return packet
        return HEADER.pack(0, 0, 0, 0, 0, 0) + packet[HEADER.size :]

    return fault


def loses_super_packets(rate: float) -> Fault:
    """Return a device that loses what it should cut into segments."""

    def fault(packet: bytes, chance: random.Random) -> bytes | None:
        return None if super_packet(packet) and chance.random() < rate else packet

    return fault


def loses_last_odd_byte(rate: float) -> Fault:
    """Return a device that clears the last byte of packets of odd length."""

    def fault(packet: bytes, chance: random.Random) -> bytes:
        long = len(packet) > PAYLOAD_FROM and len(packet) % 2
        if not offloaded(packet) or not long or chance.random() >= rate:
            return packet
        return packet[:-1] + b"\0"

    return fault


class Wire:
    """Two taps and what carries packets between them; ``fault`` strikes in one direction."""

    def __init__(self, names: tuple[str, str], fault: Fault = honest, seed: int = 1) -> None:
        self.names = names
        self.fault = fault
        self.chance = random.Random(seed)
        self.files = [self._tap(name) for name in names]
        self.end = os.pipe()
        self.thread = threading.Thread(target=self._carry, daemon=True)

    @staticmethod
    def _tap(name: str) -> int:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        asked = struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
        fcntl.ioctl(file, TUNSETIFF, asked)
        fcntl.ioctl(file, TUNSETOFFLOAD, CHECKSUM | TSO4 | TSO6)
        return file

    def _carry(self) -> None:
        one, other = self.files
        while True:
            for file in select.select([one, other, self.end[0]], [], [])[0]:
                if file == self.end[0]:
                    return
                self._move(file, other if file == one else one, file == one)

    def _move(self, source: int, target: int, struck: bool) -> None:
        for _packet in range(64):
            try:
                packet: bytes | None = os.read(source, 70000)
            except OSError:  # nothing more, or the device is down
                return
            if struck and packet:
                packet = self.fault(packet, self.chance)
            if packet:
                try:
                    os.write(target, packet)
                except OSError:  # the other device is down
                    return

    def __enter__(self) -> Wire:
        self.thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        os.write(self.end[1], b".")
        self.thread.join(10)
        for file in (*self.files, *self.end):
            os.close(file)


class Nodes:
    """Two namespaces with a device of the wire in each: ``a`` at 192.0.2.1, ``b`` at 192.0.2.2."""

    def __init__(self, fault: Fault = honest) -> None:
        self.spaces = ("ol-lie-a", "ol-lie-b")
        self.fault = fault

    def run(self, *argv: str) -> str:
        """Run a command, and return what it printed."""
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def ethtool(self, *words: str) -> None:
        """Set features of the first node's device."""
        self.run("ip", "netns", "exec", self.spaces[0], "ethtool", "-K", "lie0", *words)

    def __enter__(self) -> Nodes:
        self.wire = Wire(("lie0", "lie1"), self.fault).__enter__()
        for number, (space, name) in enumerate(zip(self.spaces, self.wire.names), 1):
            self.run("ip", "netns", "add", space)
            self.run("ip", "link", "set", name, "netns", space)
            self.run("ip", "-n", space, "addr", "add", f"192.0.2.{number}/24", "dev", name)
            self.run("ip", "-n", space, "link", "set", name, "up")
        return self

    def __exit__(self, *_error: object) -> None:
        self.wire.__exit__()
        for space in self.spaces:
            self.run("ip", "netns", "del", space)
