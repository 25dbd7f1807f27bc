# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the checksums of a frame that arrived are right: in IPv4, TCP and UDP (RFC 1071), of
the packet in a tunnel and of the one around it. Pure.
"""

from __future__ import annotations

from typing import Iterable, Literal, NamedTuple, TypedDict

from .._base import packet
from .._base.packet import Ip

State = Literal["right", "wrong", "unfilled"]
WORST_LAST: tuple[State, ...] = ("right", "unfilled", "wrong")
IN_FRAGMENTS = 0x3FFF  # of IPv4: more fragments follow, and where this one belongs


class Frame(NamedTuple):
    """A whole frame that arrived, and whether the device said that its checksum is right."""

    raw: bytes
    vouched: bool


class Checksums(TypedDict):
    """How many frames that arrived have which checksum; each is counted once."""

    right: int
    vouched: int  # wrong, and the device said that it is right
    unfilled: int  # only what the sender's kernel leaves for its device to complete
    wrong: int  # wrong in another way, and the device did not vouch for it


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
