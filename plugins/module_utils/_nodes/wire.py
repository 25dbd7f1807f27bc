# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A network card in user space: a tap in a node, another one beyond it, and what carries packets
between them, which keeps the contract of offloads or breaks it.

The process of a card is in the node's network namespace, and ends with the node.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import time
from typing import Iterable, Mapping, NamedTuple, Tuple

from .._base import packet
from .._host import daemons, netns
from . import faults
from .faults import Fault
from .node import DEVICE, fabric, home, lab_of, port_of

# linux/if_tun.h
TUNSETIFF = 0x400454CA
TUNSETOFFLOAD = 0x400454D0
TUNSETVNETHDRSZ = 0x400454D8
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000
CHECKSUM = 0x01
TSO4 = 0x02
TSO6 = 0x04
USO4 = 0x20
USO6 = 0x40
TUNNEL = 0x80
TUNNEL_CHECKSUM = 0x100
# What a device offers, the newest kernels first: 6.17 has tunnels, 6.2 has UDP.
OFFERS = (
    CHECKSUM | TSO4 | TSO6 | USO4 | USO6 | TUNNEL | TUNNEL_CHECKSUM,
    CHECKSUM | TSO4 | TSO6 | USO4 | USO6,
    CHECKSUM | TSO4 | TSO6,
)
# linux/sockios.h, linux/ethtool.h
SIOCETHTOOL = 0x8946
ETHTOOL_GGRO = 0x2B
LARGEST = 70000  # bytes of a packet
BURST = 64  # packets of one device before the other has its turn
FRESH = 0.05  # s for which what is known of GRO holds
LatePacket = Tuple[float, int, bytes]  # when it is due, its number, and it


class Tap(NamedTuple):
    """A device: the file of its packets, and a socket in its network namespace."""

    name: str
    file: int
    control: socket.socket


def open_tap(name: str, namespace: str | None) -> Tap:
    """Make a tap in a network namespace, or attach to the existing one."""
    request = struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
    with netns.inside(namespace):
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, TUNSETIFF, request)
        control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(file, TUNSETVNETHDRSZ, struct.pack("i", packet.HEADER.size))
    for offers in OFFERS:
        with contextlib.suppress(OSError):
            fcntl.ioctl(file, TUNSETOFFLOAD, offers)
            break
    return Tap(name, file, control)


def has_gro(tap: Tap) -> bool:
    """Return whether GRO is on; False where the device has gone."""
    value = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_GGRO, 0))
    request = struct.pack("16sP16x", tap.name.encode(), ctypes.addressof(value))
    try:
        fcntl.ioctl(tap.control, SIOCETHTOOL, request)
    except OSError:
        return False
    return bool(struct.unpack("II", value.raw[:8])[1])


class Wire:
    """Carry packets between the tap of a node and the one beyond it.

    A fault strikes what the node sends; one that needs GRO strikes what the node receives.
    """

    def __init__(self, near: Tap, far: Tap, fault: Fault | None, seed: int = 1) -> None:
        self.near = near
        self.far = far
        self.fault = fault
        self.chance = random.Random(seed)
        self.late: list[LatePacket] = []
        self.number = 0
        self.gro, self.gro_until = False, 0.0

    def carry(self, end: int | None = None) -> None:
        """Carry until something can be read from the file ``end``, without one for ever."""
        near = self.near.file
        there = self.far.file
        files = [near, there] + ([] if end is None else [end])
        while True:
            patience = max(0, self.late[0][0] - time.monotonic()) if self.late else None
            ready = select.select(files, [], [], patience)[0]
            if end in ready:
                return
            if near in ready:
                self._move(near, there, inwards=False)
            if there in ready:
                self._move(there, near, inwards=True)
            self._deliver_late()

    def _struck_way(self, inwards: bool) -> bool:
        """Return whether the fault may strike what goes this way now."""
        if self.fault is None or inwards != self.fault.needs_gro:
            return False
        if not self.fault.needs_gro:
            return True
        now = time.monotonic()
        if now > self.gro_until:
            self.gro, self.gro_until = has_gro(self.near), now + FRESH
        return self.gro

    def _move(self, source: int, target: int, inwards: bool) -> None:
        struck = self._struck_way(inwards)
        for _packet in range(BURST):
            try:
                raw = os.read(source, LARGEST)
            except OSError as error:
                if error.errno == errno.EBADFD:  # the device was deleted
                    raise
                return  # nothing more, or the device is down
            if struck and self.fault and self.fault.strikes(raw, self.chance):
                self._strike(self.fault, raw, target)
            else:
                put(target, raw)

    def _strike(self, fault: Fault, raw: bytes, target: int) -> None:
        for delay, part in fault.kind(raw, self.chance):
            if delay:
                self.number += 1
                heapq.heappush(self.late, (time.monotonic() + delay, self.number, part))
            else:
                put(target, part)

    def _deliver_late(self) -> None:
        target = self.near.file if self.fault and self.fault.needs_gro else self.far.file
        while self.late and self.late[0][0] <= time.monotonic():
            put(target, heapq.heappop(self.late)[2])


def put(target: int, raw: bytes) -> None:
    """Give a packet to a device; one that is down, or has no room, loses it."""
    with contextlib.suppress(OSError):
        os.write(target, raw)


def _state_file(node: str) -> str:
    return f"{home(node)}/nic.json"


def running(node: str) -> str:
    """Return the fault with which a node's card runs; empty where none does."""
    state = daemons.read(_state_file(node))
    return str(state["fault"]) if state else ""


def stop(nodes: Iterable[str]) -> None:
    """End the cards of nodes that have one."""
    for path in map(_state_file, nodes):
        daemons.stop(filter(None, [daemons.read(path)]))
        daemons.forget(path)


def start_all(nics: Mapping[str, str]) -> None:
    """Start the cards that have a fault."""
    for node, fault in nics.items():
        if fault:
            start(node, fault)


def start(node: str, fault: str) -> None:
    """Start the card of a node whose two taps are there."""
    near = open_tap(DEVICE, node)
    far = open_tap(port_of(node), fabric(lab_of(node)))
    files = [near.file, near.control.fileno(), far.file, far.control.fileno()]
    wire = Wire(near, far, faults.parse(fault))
    with netns.inside(node):
        pid = daemons.detach(wire.carry, files)
    daemons.write(_state_file(node), pid, {"fault": fault})
