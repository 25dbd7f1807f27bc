# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that ip and tc set: BIG TCP, how large the pieces of data may be that segmentation cuts and that
GRO merges, in bytes; and the queueing discipline at the root of a device, by its name alone. Pure.

BIG TCP: ``ip link`` lists and sets it. The pair for IPv4 came with iproute2 6.3 and Linux 6.3, the others
are older; what a host's ip does not list is not supported there. The kernel sets the value for IPv4
along with the other one where that is 65536 or less.

Queueing discipline: what the kernel chose has the handle 0 and is called ``default``: taking away what was
set brings it back as it was. What was set here has a handle of its own for each name, by which it is known
again. What somebody else has set may have classes, filters and values that its name does not tell, so it
is left alone.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.checks import shown
from .._base.errors import InputError
from .kind import KindState, Reader, Values, number
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

    def steps(self, change: Values, name: str) -> list[list[str]]:
        settings: list[str] = []
        for item in SIZES:
            if item in change:
                settings += [item, str(change[item])]
        return [["ip", "link", "set", "dev", name, *settings]] if settings else []


def _size(value: Any) -> int | None:
    """Return a size that ip lists, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


BIG_TCP = BigTcp()


DEFAULT = "default"
# The name by its handle; a name that is added comes last.
BY_HANDLE = {
    f"ff{number:x}:": name
    for number, name in enumerate(
        ["fq", "fq_codel", "pfifo_fast", "pfifo", "bfifo", "noqueue", "mq", "cake", "sfq"], start=1
    )
}
HANDLES = {name: handle for handle, name in BY_HANDLE.items()}
NAMES = [DEFAULT, *HANDLES]


def parse_roots(text: str) -> dict[str, dict[str, Any]]:
    """Return ``{device: row}`` of the roots that ``tc -j qdisc show`` lists."""
    return {str(row.get("dev")): row for row in rows_of(text) if row.get("root")}


class Qdisc(Listed):
    """The queueing discipline at the root."""

    name = group = "qdisc"
    about = "chooses the queueing discipline at the root of the device, with its default values"
    availability = "`tc qdisc`; every device; one that somebody has set is left alone"
    takes = "`default`, `fq`, `fq_codel`, `pfifo_fast`, `pfifo`, `bfifo`, `noqueue`, `mq`, `cake`, `sfq`"
    settings = ["root"]
    program = "tc"

    def value(self, level: str) -> str:
        if level in NAMES:
            return level
        raise ValueError(f"one of {', '.join(NAMES)}")

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        text, reason = reader.read_output(["tc", "-j", "qdisc", "show"], netns)
        roots = parse_roots(text)
        return {name: self.state(roots.get(name), reason) for name in devices}

    def state(self, listing: Any, reason: str | None) -> KindState:
        if not listing:
            return unsupported(reason or "tc lists no queueing discipline at its root")
        handle = listing.get("handle")
        name = listing.get("kind")
        if handle == "0:":
            return {"supported": True, "current": {"root": DEFAULT}}
        if BY_HANDLE.get(str(handle)) == name:
            return {"supported": True, "current": {"root": name}}
        return unsupported(
            f"somebody has set {name} {handle}, which its name alone does not restore"
        )

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        if value in NAMES:
            return str(value)
        raise InputError(
            f"{shown(value)} is not a queueing discipline that can be set by its name",
            f"{where} {name}",
            f"Use one of {', '.join(NAMES)}.",
        )

    def steps(self, change: Values, name: str) -> list[list[str]]:
        if "root" not in change:
            return []
        if change["root"] == DEFAULT:
            return [["tc", "qdisc", "del", "dev", name, "root"]]
        root = change["root"]
        return [["tc", "qdisc", "replace", "dev", name, "root", "handle", HANDLES[root], root]]


QDISC = Qdisc()
