# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel's reasons of dropped packets mean, and which of them name a fault.

Source: include/net/dropreason-core.h. Reasons that a healthy host has, too, are not in the table:
closed sockets, old acknowledgements, packets for others. Nothing is said about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

CHECKSUM = "checksum"
OFFLOAD = "offload"
PATH = "path"


class Meaning(NamedTuple):
    """What a reason says."""

    kind: str
    text: str


class Lost(NamedTuple):
    """Packets that were lost for a reason that names a fault."""

    reason: str
    place: str
    packets: int
    meaning: Meaning


REASONS = {
    "TCP_CSUM": Meaning(CHECKSUM, "wrong TCP checksum"),
    "UDP_CSUM": Meaning(CHECKSUM, "wrong UDP checksum"),
    "IP_CSUM": Meaning(CHECKSUM, "wrong IP checksum"),
    "ICMP_CSUM": Meaning(CHECKSUM, "wrong ICMP checksum"),
    "SKB_CSUM": Meaning(CHECKSUM, "a checksum that the kernel could not compute"),
    "SKB_GSO_SEG": Meaning(OFFLOAD, "a packet that the kernel could not cut"),
    "DEV_HDR": Meaning(OFFLOAD, "a broken header from a device"),
    "HDR_TRUNC": Meaning(OFFLOAD, "a header that is cut off"),
    "PKT_TOO_SMALL": Meaning(OFFLOAD, "a packet shorter than its headers say"),
    "IP_INHDR": Meaning(OFFLOAD, "a broken IP header"),
    "PKT_TOO_BIG": Meaning(PATH, "a packet above the MTU of the next device"),
    "NETFILTER_DROP": Meaning(PATH, "a rule of nftables or iptables"),
    "IP_RPFILTER": Meaning(PATH, "the reverse path filter: the way back is another one"),
    "SOCKET_RCVBUFF": Meaning(PATH, "a full receive buffer of a socket"),
    "SOCKET_BACKLOG": Meaning(PATH, "a full backlog of a socket"),
    "PROTO_MEM": Meaning(PATH, "the memory limit of a protocol"),
    "CPU_BACKLOG": Meaning(PATH, "a full backlog of a CPU"),
    "FULL_RING": Meaning(PATH, "a full ring of a device"),
    "NOMEM": Meaning(PATH, "no memory"),
    "QDISC_DROP": Meaning(PATH, "a full queueing discipline"),
    "QDISC_OVERLIMIT": Meaning(PATH, "a full queueing discipline"),
    "QDISC_CONGESTED": Meaning(PATH, "a full queueing discipline"),
    "TC_EGRESS": Meaning(PATH, "a filter of tc"),
    "TC_INGRESS": Meaning(PATH, "a filter of tc"),
    "XDP": Meaning(PATH, "a program of XDP"),
    "BPF_CGROUP_EGRESS": Meaning(PATH, "a BPF program of a cgroup"),
    "SECURITY_HOOK": Meaning(PATH, "a security module"),
    "NEIGH_FAILED": Meaning(PATH, "no answer of the neighbour (ARP)"),
    "NEIGH_QUEUEFULL": Meaning(PATH, "no answer of the neighbour (ARP)"),
    "IP_OUTNOROUTES": Meaning(PATH, "no route"),
    "IP_INNOROUTES": Meaning(PATH, "no route"),
    "DEV_READY": Meaning(PATH, "a device that is down"),
    "VXLAN_VNI_NOT_FOUND": Meaning(PATH, "a VNI that the host does not have"),
    "VXLAN_INVALID_HDR": Meaning(OFFLOAD, "a broken VXLAN header"),
}
UNNAMED = ("NOT_SPECIFIED", "")
# Without a reason the function says it: the peer of a veth has a smaller MTU, or is down.
PLACES = {
    name: Meaning(PATH, "a packet above the MTU of the veth's peer, or a peer that is down")
    for name in ("__dev_forward_skb2", "__dev_forward_skb", "veth_xmit")
}


def meaning_of(reason: str, place: str) -> Meaning | None:
    """Return what a drop means, or None where a healthy host has such drops, too."""
    return PLACES.get(place) if reason in UNNAMED else REASONS.get(reason)


def lost(drops: Iterable[Mapping[str, Any]]) -> list[Lost]:
    """Return the drops that name a fault, in their order."""
    rows = []
    for drop in drops:
        reason, place = str(drop["reason"]), str(drop["place"])
        meaning = meaning_of(reason, place)
        if meaning:
            rows.append(Lost(reason, place, int(drop["count"]), meaning))
    return rows


def phrase(row: Lost, total: int) -> str:
    """Return a drop in words: ``412 of 412 in tcp_v4_rcv, reason TCP_CSUM (wrong TCP checksum)``."""
    place = f" in {row.place}" if row.place else ""
    reason = f", reason {row.reason}" if row.reason not in UNNAMED else ""
    return f"{row.packets} of {total}{place}{reason} ({row.meaning.text})"
