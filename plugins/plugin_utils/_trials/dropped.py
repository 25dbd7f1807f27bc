# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that the kernels of both ends dropped while a trial ran, for reasons that name a fault. Pure.

A kernel counts the drops of all its traffic. Wrong checksums are also counted by network namespace:
others' are left out. Any other reason explains what is broken only where it is more frequent under
profiles in trouble than under clean ones.
"""

from __future__ import annotations

from ...module_utils._observe.drop_places import COUNTER
from .drop_reasons import UNNAMED, meaning_of
from .nouns import NOTHING, Trial

# The kernel counts these drops by network namespace, too, and an end's counters are those of its own.
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
        if beginning != COUNTER or not meaning_of(reason, place):
            continue
        own = _own(reason, count, counters)
        if own:
            packets[drop] = own
    return packets


def dropped_of(trial: Trial) -> dict[str, int]:
    """Return the packets by node, reason and place, with spaces in between.

    Ends with the same drops share a kernel, and it is not known at which of them packets were lost.
    """
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
    packets: dict[str, int] = {}
    for node, drops in by_node.items():
        packets.update({f"{node} {drop}": count for drop, count in drops.items()})
    return packets


def in_words(key: str) -> str:
    """Return a key of :func:`dropped_of` in words."""
    node, reason, place = key.rsplit(" ", 2)
    meaning = meaning_of(reason, place)
    where = f" in {place}" if place else ""
    why = f", reason {reason}" if reason not in UNNAMED else ""
    return f"Packets were lost at {node}{where}{why}" + (f" ({meaning.text})" if meaning else "")
