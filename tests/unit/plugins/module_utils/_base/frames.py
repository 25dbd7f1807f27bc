# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets as a tap gives them, built for tests."""

from __future__ import annotations

import struct

from ansible_collections.offload.lab.plugins.module_utils._base import packet

ETHERNET = bytes(12)
TCP_HEAD = struct.pack(">HHIIBBHHH", 1000, 2000, 77, 0, 5 << 4, 0x98, 500, 0, 0)


def ipv4(protocol, content, ident=7):
    head = struct.pack(
        ">BBHHHBBH4s4s",
        *(0x45, 0, 20 + len(content), ident, 0, 64, protocol, 0),
        *(b"\xc0\x00\x02\x01", b"\xc0\x00\x02\x02"),
    )
    return struct.pack(">H", packet.IPV4) + head + content


def ipv6(protocol, content):
    head = struct.pack(">IHBB", 6 << 28, len(content), protocol, 64)
    return struct.pack(">H", packet.IPV6) + head + bytes(range(32)) + content


def udp(content, port=2000):
    return struct.pack(">HHHH", 1000, port, 8 + len(content), 0) + content


def vxlan(frame):
    return udp(bytes(8) + frame, packet.VXLAN_PORTS[0])


def sent(frame, kind=0, size=0, flags=packet.NEEDS_CHECKSUM):
    return packet.HEADER.pack(flags, kind, 0, size, 0, 0) + ETHERNET + frame


def is_right(raw):
    """Return whether the innermost checksum is right."""
    layers = packet.layers(raw)
    protocol = layers.ip.protocol
    length = len(raw) - layers.ip.payload
    size = 4 if layers.ip.version == 4 else 16
    addresses = raw[layers.ip.payload - 2 * size : layers.ip.payload]
    if layers.ip.version == 4:
        addresses = raw[layers.ip.start + 12 : layers.ip.start + 20]
    pseudo = addresses + struct.pack(">II", length, protocol)
    return packet.ones_sum(pseudo + raw[layers.ip.payload :]) == 0


FRAMES = {
    "tcp4": (lambda content: ipv4(6, TCP_HEAD + content), packet.TCP4),
    "tcp6": (lambda content: ipv6(6, TCP_HEAD + content), packet.TCP6),
    "udp4": (lambda content: ipv4(17, udp(content)), packet.UDP),
    "udp6": (lambda content: ipv6(17, udp(content)), packet.UDP),
    "tunnel": (
        lambda content: ipv4(17, vxlan(ETHERNET + ipv4(6, TCP_HEAD + content))),
        packet.TCP4 | 0x20,
    ),
}
