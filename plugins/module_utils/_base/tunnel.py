# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The header of a tunnel between an IP header and the frame inside: VXLAN (RFC 7348), Geneve (RFC
8926) and GRE (RFC 2890). Pure.
"""

from __future__ import annotations

import struct
from typing import Collection, NamedTuple

from .network import GENEVE_PORT, VXLAN_PORTS

PROTOCOL_UDP = 17
PROTOCOL_GRE = 47
UDP_HEADER = 8  # bytes, as are those below
HEADER = 8  # of VXLAN, and of Geneve without options
ETHERNET_INSIDE = 0x6558  # the protocol of Geneve and GRE that carries whole frames
VNI_IS_GIVEN = 0x08  # a flag of VXLAN
OPTIONS_LENGTH = 0x3F  # of Geneve, in words of 4 bytes
GRE_CHECKSUM = 0x8000
GRE_KEY = 0x2000
GRE_SEQUENCE = 0x1000
GRE_VERSION = 0x0007


class TunnelHeader(NamedTuple):
    """The header of a tunnel."""

    name: str
    vni: int | None  # the key of GRE, 0 where it has none; None where VXLAN gives none
    checksum: bool  # whether the outer packet has one
    frame: int | None  # where the Ethernet frame inside begins; None for what carries none


def tunnel_at(
    raw: bytes, protocol: int, payload: int, vxlan_ports: Collection[int] = VXLAN_PORTS
) -> TunnelHeader | None:
    """Return the tunnel's header in an IP packet whose payload begins at ``payload``; None without
    one, or where it is not whole.
    """
    try:
        if protocol == PROTOCOL_GRE:
            return _gre(raw, payload)
        if protocol == PROTOCOL_UDP:
            return _over_udp(raw, payload, vxlan_ports)
    except struct.error:
        pass
    return None


def _over_udp(raw: bytes, payload: int, vxlan_ports: Collection[int]) -> TunnelHeader | None:
    port, _length, checksum = struct.unpack_from("!HHH", raw, payload + 2)
    start = payload + UDP_HEADER
    if port in vxlan_ports:
        flags, word = struct.unpack_from("!B3xI", raw, start)
        vni = word >> 8 if flags & VNI_IS_GIVEN else None
        return TunnelHeader("vxlan", vni, checksum != 0, start + HEADER)
    if port == GENEVE_PORT:
        first, inside, word = struct.unpack_from("!BxHI", raw, start)
        frame = start + HEADER + 4 * (first & OPTIONS_LENGTH)
        return TunnelHeader(
            "geneve", word >> 8, checksum != 0, frame if inside == ETHERNET_INSIDE else None
        )
    return None


def _gre(raw: bytes, payload: int) -> TunnelHeader | None:
    flags, inside = struct.unpack_from("!HH", raw, payload)
    if flags & GRE_VERSION:
        return None
    offset = payload + 4
    key = 0
    if flags & GRE_CHECKSUM:
        offset += 4
    if flags & GRE_KEY:
        key = struct.unpack_from("!I", raw, offset)[0]
        offset += 4
    if flags & GRE_SEQUENCE:
        offset += 4
    frame = offset if inside == ETHERNET_INSIDE else None
    return TunnelHeader("gre", key, bool(flags & GRE_CHECKSUM), frame)
