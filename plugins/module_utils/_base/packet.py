# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A packet as a tap delivers it: a ``struct virtio_net_hdr`` says what the kernel has left to the
device, then comes the Ethernet frame (linux/virtio_net.h). In it may be the header of a tunnel: VXLAN
(RFC 7348), Geneve (RFC 8926) or GRE (RFC 2890). Pure.
"""

from __future__ import annotations

import struct
from typing import Collection, NamedTuple

from .network import GENEVE_PORT, VXLAN_PORTS

PROTOCOL_GRE = 47
UDP_HEADER = 8  # bytes, as are those below
TUNNEL_HEADER = 8  # of VXLAN, and of Geneve without options
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
        return TunnelHeader("vxlan", vni, checksum != 0, start + TUNNEL_HEADER)
    if port == GENEVE_PORT:
        first, inside, word = struct.unpack_from("!BxHI", raw, start)
        frame = start + TUNNEL_HEADER + 4 * (first & OPTIONS_LENGTH)
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


HEADER = struct.Struct("<BBHHHH14x")  # flags, gso_type, hdr_len, gso_size, csum_start, csum_offset
FRAME = HEADER.size  # where the Ethernet frame begins
ETHERNET = 14  # bytes
NO_OFFLOAD = bytes(HEADER.size)
NEEDS_CHECKSUM = 1  # a flag: left to the device
# gso_type, without the bits below
TCP4 = 1
TCP6 = 4
UDP = 5
GSO_MASK = 0x1F  # the rest says ECN, and a tunnel over IPv4 or IPv6
IPV4 = 0x0800
IPV6 = 0x86DD
VLAN_TAGS = (0x8100, 0x88A8)
PROTOCOL_TCP = 6
PROTOCOL_UDP = 17
FIN_AND_PUSH = 0x09
CWR = 0x80


class Ip(NamedTuple):
    """An IP header: where it is, and what it carries."""

    start: int
    version: int
    protocol: int  # 0 for a fragment that is not the first
    payload: int  # where it begins


class Layers(NamedTuple):
    """What is in a packet, by its place in the bytes; the innermost packet of a tunnel."""

    ip: Ip
    payload: int  # of TCP or UDP, else of IP
    tunnel: Ip | None  # the outer packet


def relies_on_checksum(raw: bytes) -> bool:
    """Return whether the device has to make the checksum."""
    return bool(raw[0] & NEEDS_CHECKSUM)


def gso_kind(raw: bytes) -> int:
    """Return what the device has to cut: ``TCP4``, ``TCP6``, ``UDP``, or 0 for nothing."""
    return raw[1] & GSO_MASK


def segment_size(raw: bytes) -> int:
    """Return the bytes of payload that the kernel asks for in each segment."""
    return int(HEADER.unpack_from(raw)[3])


def word(raw: bytes, offset: int) -> int:
    """Return 16 bits."""
    return raw[offset] << 8 | raw[offset + 1]


def _ip_at(raw: bytes, start: int, kind: int) -> Ip | None:
    if kind == IPV4 and len(raw) >= start + 20:
        later_fragment = word(raw, start + 6) & 0x1FFF
        protocol = 0 if later_fragment else raw[start + 9]
        return Ip(start, 4, protocol, start + 4 * (raw[start] & 15))
    if kind == IPV6 and len(raw) >= start + 40:
        return Ip(start, 6, raw[start + 6], start + 40)
    return None


def _behind_transport(raw: bytes, ip: Ip) -> int:
    if ip.protocol == PROTOCOL_TCP and len(raw) >= ip.payload + 20:
        return ip.payload + 4 * (raw[ip.payload + 12] >> 4)
    if ip.protocol == PROTOCOL_UDP:
        return ip.payload + 8
    return ip.payload


def _in_frame(raw: bytes, frame: int) -> Ip | None:
    """Return the IP header in an Ethernet frame, behind its VLAN tags."""
    offset = frame + ETHERNET - 2
    while len(raw) >= offset + 6 and word(raw, offset) in VLAN_TAGS:
        offset += 4
    return _ip_at(raw, offset + 2, word(raw, offset)) if len(raw) >= offset + 2 else None


def layers(raw: bytes, vxlan_ports: Collection[int] = VXLAN_PORTS) -> Layers | None:
    """Return what is in a packet; None for one that is not IP."""
    outer = _in_frame(raw, FRAME)
    if outer is None:
        return None
    tunnel = tunnel_at(raw, outer.protocol, outer.payload, vxlan_ports)
    if tunnel is None or tunnel.frame is None or len(raw) < tunnel.frame + ETHERNET:
        return Layers(outer, _behind_transport(raw, outer), None)
    inner = _in_frame(raw, tunnel.frame)
    if inner is None:
        return Layers(outer, _behind_transport(raw, outer), None)
    return Layers(inner, _behind_transport(raw, inner), outer)


# Checksums


def ones_sum(data: bytes) -> int:
    """Return the one's complement sum of 16-bit words (RFC 1071), 0 to 0xfffe."""
    return int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF


def checksum(data: bytes) -> int:
    """Return the checksum of bytes whose checksum field is zero, or holds a part of the sum; never
    0, which means "none" in UDP.
    """
    return 0xFFFF - ones_sum(data)


def put(raw: bytes, offset: int, value: int) -> bytes:
    """Return the packet with 16 bits replaced."""
    return raw[:offset] + struct.pack(">H", value & 0xFFFF) + raw[offset + 2 :]


def said(raw: bytes, flags: int) -> bytes:
    """Return the packet with these flags, and nothing left to the device."""
    return bytes([flags]) + NO_OFFLOAD[1:] + raw[FRAME:]


def checksum_place(ip: Ip) -> int | None:
    """Return where the checksum of TCP or UDP is."""
    offset = {PROTOCOL_TCP: 16, PROTOCOL_UDP: 6}.get(ip.protocol)
    return None if offset is None else ip.payload + offset


def pseudo_header(raw: bytes, ip: Ip, length: int) -> bytes:
    """Return what the checksum of TCP or UDP covers besides its ``length`` bytes."""
    size = 8 if ip.version == 4 else 32
    addresses = raw[ip.payload - size : ip.payload] if ip.version == 6 else raw[ip.start + 12 :][:8]
    return addresses + struct.pack(">II", ip.protocol, length)


def summed(raw: bytes, headers: Layers, upto: int | None = None) -> bytes:
    """Return the packet with the checksum of TCP or UDP, and nothing left to the device.

    ``upto`` ends the range that the checksum is made over; None is the whole packet.
    """
    checksum_at = checksum_place(headers.ip)
    if checksum_at is None:
        return said(raw, 0)
    cleared = put(raw, checksum_at, 0)
    pseudo = pseudo_header(raw, headers.ip, len(raw) - headers.ip.payload)
    value = checksum(pseudo + cleared[headers.ip.payload : upto])
    return said(put(raw, checksum_at, value), 0)


def trusted(raw: bytes, headers: Layers) -> bytes:
    """Return the packet as one whose checksum is still to be made: the kernel that receives it so
    from a tap believes its content.
    """
    checksum_at = checksum_place(headers.ip)
    if checksum_at is None:
        return said(raw, 0)
    pseudo = pseudo_header(raw, headers.ip, len(raw) - headers.ip.payload)
    begin = headers.ip.payload
    header = HEADER.pack(NEEDS_CHECKSUM, 0, 0, 0, begin - FRAME, checksum_at - begin)
    return header + put(raw, checksum_at, ones_sum(pseudo))[FRAME:]


# Lengths and segments


def resized(raw: bytes, headers: Layers) -> bytes:
    """Return the packet with the lengths of its headers as they are, and IPv4's checksums."""
    raw = _with_length(raw, headers.ip)
    if headers.tunnel is None:
        return raw
    if headers.tunnel.protocol == PROTOCOL_UDP and word(raw, headers.tunnel.payload + 6):
        raw = put(raw, headers.tunnel.payload + 6, 0)  # without an outer checksum (RFC 7348)
    return _with_length(raw, headers.tunnel)


def _with_length(raw: bytes, ip: Ip) -> bytes:
    if ip.protocol == PROTOCOL_UDP:
        raw = put(raw, ip.payload + 4, len(raw) - ip.payload)
    if ip.version == 6:
        return put(raw, ip.start + 4, len(raw) - ip.payload)
    raw = put(put(raw, ip.start + 2, len(raw) - ip.start), ip.start + 10, 0)
    return put(raw, ip.start + 10, checksum(raw[ip.start : ip.payload]))


def segments(raw: bytes) -> list[bytes]:
    """Return the segments of a super-packet, or the packet itself, all with their checksums."""
    headers = layers(raw)
    if headers is None:
        return [raw]
    size = segment_size(raw)
    length = len(raw) - headers.payload
    if not gso_kind(raw) or not 0 < size < length:
        return [summed(raw, headers) if relies_on_checksum(raw) else raw]
    return [_segment(raw, headers, start, size) for start in range(0, length, size)]


def _segment(raw: bytes, headers: Layers, start: int, size: int) -> bytes:
    begin = headers.payload + start
    part = raw[: headers.payload] + raw[begin : begin + size]
    if headers.ip.version == 4:
        part = put(part, headers.ip.start + 4, word(raw, headers.ip.start + 4) + start // size)
    if headers.ip.protocol == PROTOCOL_TCP:
        part = _tcp_segment(part, headers.ip.payload, start, begin + size >= len(raw))
    return summed(resized(part, headers), headers)


def _tcp_segment(part: bytes, tcp: int, start: int, last: bool) -> bytes:
    number = (int.from_bytes(part[tcp + 4 : tcp + 8], "big") + start) % 2**32
    flags = part[tcp + 13]
    if not last:
        flags &= ~FIN_AND_PUSH
    if start:
        flags &= ~CWR
    head = part[: tcp + 4] + struct.pack(">I", number) + part[tcp + 8 : tcp + 13]
    return head + bytes([flags]) + part[tcp + 14 :]
