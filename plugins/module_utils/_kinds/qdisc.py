# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The queueing discipline at the root of a device, by its name alone (``tc qdisc``). Pure.

What the kernel chose has the handle 0 and is called ``default``: taking away what was set brings it
back as it was. What was set here has a handle of its own for each name, by which it is known again.
What somebody else has set may have classes, filters and values that its name does not tell, so it
is left alone.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.checks import shown
from .._base.errors import InputError
from .kind import KindState, Reader
from .listed import Listed, rows_of, unsupported

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

    def steps(self, change: Mapping[str, Any], name: str) -> list[list[str]]:
        if "root" not in change:
            return []
        if change["root"] == DEFAULT:
            return [["tc", "qdisc", "del", "dev", name, "root"]]
        root = change["root"]
        return [["tc", "qdisc", "replace", "dev", name, "root", "handle", HANDLES[root], root]]


QDISC = Qdisc()
