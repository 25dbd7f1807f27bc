# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that kernels dropped, what the reasons mean, and which of them name a fault. Pure.

Source: include/net/dropreason-core.h. Reasons that a healthy host has, too, are not in the table:
closed sockets, old acknowledgements, packets for others. Nothing is said about them.

A kernel counts the drops of all its traffic. Wrong checksums are also counted by network namespace:
others' are left out. Any other reason explains what is broken only where it is more frequent under
profiles in trouble than under clean ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...module_utils._observe.reading import DROP_REASON
from .nouns import NOTHING, Trial

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


# In trials

# The kernel counts these drops by network namespace, too, and an end has the counters of its own ones.
OWN_COUNTERS = {
    "TCP_CSUM": ("TcpInCsumErrors",),
    "UDP_CSUM": ("UdpInCsumErrors", "Udp6InCsumErrors"),
}


def _own(reason: str, count: int, counters: dict[str, int]) -> int:
    """Return how many of the kernel's drops are the end's own, as far as that is known."""
    names = OWN_COUNTERS.get(reason)
    return min(count, sum(counters.get(name, 0) for name in names)) if names else count


def _of_end(counters: dict[str, int]) -> dict[str, int]:
    """Return the packets by reason and place: ``{"TCP_CSUM tcp_v4_rcv": 5}``."""
    packets: dict[str, int] = {}
    for name, count in counters.items():
        beginning, _space, drop = name.partition(" ")
        reason, _space, place = drop.partition(" ")
        if beginning != DROP_REASON or not meaning_of(reason, place):
            continue
        counted = _own(reason, count, counters)
        if counted:
            packets[drop] = counted
    return packets


def dropped_of(trial: Trial) -> dict[str, int]:
    """Return the packets by node, reason and place, with spaces in between.

    Ends with the same drops share a kernel, and it is not known at which of them packets were lost.
    """
    packets: dict[str, int] = {}
    for node, drops in _by_node(trial).items():
        packets.update({f"{node} {drop}": count for drop, count in drops.items()})
    return packets


def _by_node(trial: Trial) -> dict[str, dict[str, int]]:
    """Return the drops by node, or by the nodes that share a kernel."""
    nodes = dict(trial)
    by_node: dict[str, dict[str, int]] = {}
    for end, seen in sorted((trial.get("damage") or NOTHING).items()):
        drops = _of_end(seen.get("counters") or {})
        same = next((node for node, others in by_node.items() if others == drops), "")
        name = str(nodes.get(end) or end)
        if drops and same:
            by_node[f"{same} or {name}"] = by_node.pop(same)
        elif drops:
            by_node[name] = drops
    return by_node


def in_words(key: str) -> str:
    """Return a key of :func:`dropped_of` in words."""
    node, reason, place = key.rsplit(" ", 2)
    meaning = meaning_of(reason, place)
    where = f" in {place}" if place else ""
    why = f", reason {reason}" if reason not in UNNAMED else ""
    return f"Packets were lost at {node}{where}{why}" + (f" ({meaning.text})" if meaning else "")
