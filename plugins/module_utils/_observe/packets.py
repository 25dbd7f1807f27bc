# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure reading of captured packets: their real length, the way they went, what the tunnel wrapped
around them, and whether their checksums are right (RFC 1071).

Format: packet(7) for the auxiliary data.
"""

from __future__ import annotations

import struct
from typing import Iterable, Literal, NamedTuple, Sequence

from .._base import packet
from .._base.network import VXLAN_PORT
from .._base.packet import Ip, tunnel_at
from .reading import MAIN_SHARE, Checksums, Direction, Summary

State = Literal["right", "wrong", "unfilled"]
WORST_LAST: tuple[State, ...] = ("right", "unfilled", "wrong")
IN_FRAGMENTS = 0x3FFF  # of IPv4: more fragments follow, and where this one belongs


class Frame(NamedTuple):
    """A whole frame that arrived, and whether the device said that its checksum is right."""

    raw: bytes
    vouched: bool


def _of_transport(raw: bytes, ip: Ip) -> State | None:
    """Return the state of the checksum of TCP or UDP; None where there is none."""
    offset = packet.checksum_place(ip)
    if offset is None or len(raw) < offset + 2:
        return None
    stored = packet.word(raw, offset)
    if ip.protocol == packet.PROTOCOL_UDP and stored == 0:
        return None
    pseudo = packet.pseudo_header(raw, ip, len(raw) - ip.payload)
    if packet.ones_sum(pseudo + raw[ip.payload :]) == 0:
        return "right"
    # net/ipv4/tcp_ipv4.c, __tcp_v4_send_check: the kernel leaves the sum of the pseudo header.
    return "unfilled" if stored == packet.ones_sum(pseudo) else "wrong"


def _of_ip(raw: bytes, ip: Ip) -> State | None:
    """Return the state of the checksums of one IP packet; None for what cannot be judged, such as a
    fragment, or a packet that is cut.
    """
    if ip.version == 6:
        end = ip.payload + packet.word(raw, ip.start + 4)
        return _of_transport(raw[:end], ip) if end <= len(raw) else None
    end = ip.start + packet.word(raw, ip.start + 2)
    if end > len(raw) or packet.word(raw, ip.start + 6) & IN_FRAGMENTS:
        return None
    if packet.ones_sum(raw[ip.start : ip.payload]):
        return "wrong"
    return _of_transport(raw[:end], ip)


def states(raw: bytes, vxlan_port: int) -> list[State | None]:
    """Return the states of the checksums of an Ethernet frame's IP packets, the outermost first;
    None for what cannot be judged.
    """
    tap_packet = packet.NO_OFFLOAD + raw
    headers = packet.layers(tap_packet, (vxlan_port,))
    if headers is None:
        return []
    around = [headers.tunnel] if headers.tunnel else []
    return [_of_ip(tap_packet, ip) for ip in [*around, headers.ip]]


def counted(frames: Iterable[Frame], vxlan_port: int) -> Checksums:
    """Return how many frames have which checksum.

    A device vouches for the outermost checksum (linux/skbuff.h, csum_level); what it means for the
    one in a tunnel is not known, so that is never called vouched for.
    """
    counts: Checksums = {"right": 0, "vouched": 0, "unfilled": 0, "wrong": 0}
    for frame in frames:
        layer_states = states(frame.raw, vxlan_port)
        checked = [state for state in layer_states if state]
        outermost = layer_states[0] if layer_states else None
        if frame.vouched and outermost in ("unfilled", "wrong"):
            counts["vouched"] += 1
        elif checked:
            counts[max(checked, key=WORST_LAST.index)] += 1
    return counts


OUTGOING = 4  # PACKET_OUTGOING of packet(7)
STATUS_CSUM_NOT_READY = 1 << 3  # TP_STATUS_CSUMNOTREADY: the device is to fill in the checksum
STATUS_CSUM_VALID = 1 << 7  # TP_STATUS_CSUM_VALID: the device has checked it
ETHERNET = 14
VLAN_TAGS = (0x8100, 0x88A8)
IPV4 = 0x0800
IPV6 = 0x86DD
UDP = 17
TRAFFIC = 100000  # bytes in a sample that are certainly the stream's, not the probe's own talk


Way = Literal["out", "in"]
WAYS: tuple[Way, ...] = ("out", "in")


class Packet(NamedTuple):
    """What the head of one packet shows; ``not_ready`` and ``valid`` are the state of its checksum."""

    length: int  # real bytes less the Ethernet header
    outgoing: bool
    not_ready: bool
    valid: bool
    protocol: int | None
    udp_port: int | None
    vni: int | None
    outer_csum: bool | None


def are_streams(sent: int, received: int, both_ways: bool) -> bool:
    """Return whether these bytes are a stream's, or of one stream in each direction."""
    if both_ways:
        return min(sent, received) >= max(TRAFFIC, MAIN_SHARE * (sent + received))
    return sent + received >= TRAFFIC


def _network_header(head: bytes) -> tuple[int, int]:
    """Return (offset of the network header, EtherType), looking through VLAN tags."""
    offset = ETHERNET
    kind = struct.unpack_from("!H", head, 12)[0]
    while kind in VLAN_TAGS:
        kind = struct.unpack_from("!H", head, offset + 2)[0]
        offset += 4
    return offset, kind


def _transport(head: bytes) -> tuple[int | None, int]:
    """Return (protocol, offset of the transport header), or (None, 0) for what is neither IPv4 nor
    IPv6.
    """
    offset, kind = _network_header(head)
    if kind == IPV4:
        header_words = struct.unpack_from("!B", head, offset)[0] & 15
        return struct.unpack_from("!B", head, offset + 9)[0], offset + 4 * header_words
    if kind == IPV6:
        return struct.unpack_from("!B", head, offset + 6)[0], offset + 40
    return None, 0


def _headers(
    head: bytes, vxlan_port: int
) -> tuple[int | None, int | None, int | None, bool | None]:
    """Return (protocol, UDP port, VNI, outer checksum there?), None for what the packet has not."""
    protocol, offset = _transport(head)
    port = struct.unpack_from("!H", head, offset + 2)[0] if protocol == UDP else None
    tunnel = tunnel_at(head, protocol, offset, (vxlan_port,)) if protocol else None
    if tunnel is None:
        return protocol, port, None, None
    return protocol, port, tunnel.vni, tunnel.checksum


def read_packet(
    head: bytes, length: int, packet_type: int, status: int, vxlan_port: int = VXLAN_PORT
) -> Packet:
    """Return the :class:`Packet` whose first bytes are ``head`` and whose real length on the device
    is ``length``.
    """
    try:
        headers = _headers(head, vxlan_port)
    except struct.error:
        headers = (None, None, None, None)
    return Packet(
        max(0, length - ETHERNET),
        packet_type == OUTGOING,
        bool(status & STATUS_CSUM_NOT_READY),
        bool(status & STATUS_CSUM_VALID),
        *headers,
    )


def share(part: float, total: float) -> float | None:
    """Return part ÷ whole, or None where there is nothing to divide."""
    return float(part) / total if total else None


def _total(packets: Iterable[Packet]) -> int:
    """Return the bytes of packets."""
    return sum(packet.length for packet in packets)


def _tunnelled(packets: Iterable[Packet]) -> list[Packet]:
    return [packet for packet in packets if packet.vni is not None]


def _direction(packets: Sequence[Packet], longest: int) -> Direction:
    """Sum up one direction; ``longest`` is the largest packet in bytes that the MTU allows on the
    wire.
    """
    size = _total(packets)
    long = [packet for packet in packets if packet.length > longest]
    return {
        "packets": len(packets),
        "bytes": size,
        "super_share": share(_total(long), size),
        "tunnel_super_share": share(_total(_tunnelled(long)), _total(_tunnelled(packets))),
        "longest": max([packet.length for packet in packets] or [0]),
        "csum_not_ready_share": share(
            _total(packet for packet in packets if packet.not_ready), size
        ),
        "csum_valid_share": share(_total(packet for packet in packets if packet.valid), size),
    }


def summarise(packets: Sequence[Packet], mtu: int) -> Summary:
    """Return what a sample shows: per direction the share of bytes in packets longer than ``mtu``,
    and the tunnel.

    ``out``: the device segments what is longer. ``in``: GRO or LRO merged it (on veth, the peer may
    have sent it so). ``vxlan`` shares are of bytes of both directions; ``vnis`` and ``outer_csum``
    are what was seen.
    """
    outer = _tunnelled(packets)
    return {
        "out": _direction([packet for packet in packets if packet.outgoing], mtu),
        "in": _direction([packet for packet in packets if not packet.outgoing], mtu),
        "vxlan_share": share(_total(outer), _total(packets)),
        "vnis": sorted({packet.vni for packet in outer if packet.vni is not None}),
        "outer_csum": sorted(
            {packet.outer_csum for packet in outer if packet.outer_csum is not None}
        ),
    }
