# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BIG TCP: how large the pieces of data may be that segmentation cuts and that GRO merges, in bytes.
Pure.

``ip link`` lists and sets them. The pair for IPv4 came with iproute2 6.3 and Linux 6.3, the others
are older; what a host's ip does not list is not supported there. The kernel sets the value for IPv4
along with the other one where that is 65536 or less.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .kind import KindState, Reader, number
from .listed import Listed, rows_of, unsupported

# What ip lists, and what bounds it.
SIZES = {
    "gso_max_size": "tso_max_size",
    "gro_max_size": None,
    "gso_ipv4_max_size": "tso_max_size",
    "gro_ipv4_max_size": None,
}
MOST = 8 * 65535  # GRO_MAX_SIZE of the kernel


class BigTcp(Listed):
    """The largest pieces of segmentation and of GRO."""

    name = group = "big_tcp"
    about = (
        "bounds the pieces that segmentation cuts and GRO merges, in bytes; above 65536: BIG TCP"
    )
    availability = "`ip -d link`; Linux 6.0 (IPv6), 6.3 and iproute2 6.3 (the pair for IPv4)"
    takes = "numbers, bytes"
    also = (
        "gso_ipv4_max_size",
        "gro_ipv4_max_size",
    )
    settings = ["gso_max_size", "gro_max_size"]
    program = "ip"

    value = staticmethod(number)

    def setting_name(self, name: str) -> str:
        return name

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        text, reason = reader.read_output(["ip", "-d", "-j", "link", "show"], netns)
        links = {str(row.get("ifname")): row for row in rows_of(text)}
        return {name: self.state(links.get(name), reason) for name in devices}

    def state(self, listing: Any, reason: str | None) -> KindState:
        listed = listing or {}
        current = {name: _size(listed.get(name)) for name in SIZES}
        if not any(current.values()):
            return unsupported(reason or "ip does not list the sizes of segmentation and GRO")
        missing = "this host's ip or kernel does not list it"
        bounds = {
            name: min(_size(listed.get(bound)) or MOST, MOST) if bound else MOST
            for name, bound in SIZES.items()
        }
        return {
            "supported": True,
            "current": current,
            "maximum": bounds,
            "reasons": {name: missing for name, size in current.items() if size is None},
        }

    def steps(self, change: Mapping[str, Any], name: str) -> list[list[str]]:
        settings: list[str] = []
        for item in SIZES:
            if item in change:
                settings += [item, str(change[item])]
        return [["ip", "link", "set", "dev", name, *settings]] if settings else []


def _size(value: Any) -> int | None:
    """Return a size that ip lists, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


BIG_TCP = BigTcp()
