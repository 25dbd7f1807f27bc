# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that spread flows over receive queues: the header fields of a flow type (``ethtool -N DEV
rx-flow-hash udp4 sdfn``), and the weights of the queues (``ethtool -X DEV weight``). Pure.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, Sequence

from .._base.checks import shown
from .._base.errors import InputError
from .._base.network import device_key
from .._ethtool.settings import check_letters, parse_rss
from .kind import Described, KindState, NotAsAsked, Reader, Values
from .listed import Listed, unsupported

FLOW_TYPE = re.compile(r"^[a-z][a-z0-9]{1,8}\Z")


def check_flow_types(flow_types: Iterable[str], device: str) -> None:
    """Raise :class:`InputError` for names that cannot be flow types such as udp4."""
    for flow_type in flow_types:
        if not FLOW_TYPE.match(flow_type):
            raise InputError(
                f"{shown(flow_type)} is not a flow type", device, "Use one such as udp4 or tcp6."
            )


class RxFlowHash(Listed):
    """The hash fields of flow types."""

    name = "rx_flow_hash"
    about = "chooses the header fields that spread packets over receive queues"
    availability = "`ethtool -N DEV rx-flow-hash`; drivers with RSS; veth refuses it"
    takes = "letters; `sd`, `sdfn`"
    settings = ["udp4"]
    levels = ["sd", "sdfn"]
    set_option = "-N"

    def value(self, level: str) -> str:
        if re.fullmatch(r"[mvtsdfnelr]{1,10}", str(level)):
            return level
        raise ValueError("letters of 'mvtsdfnelr', such as sd or sdfn")

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        for name, flow_types in devices.items():
            check_flow_types(flow_types, device_key(name, netns))
        return {
            name: reader.read_flow_hash(name, list(flow_types), netns)
            for name, flow_types in devices.items()
        }

    def setting_name(self, name: str) -> str:
        return name

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        return check_letters(str(value), f"{where} {name}")

    def steps(self, change: Values, name: str) -> list[list[str]]:
        return [
            ["ethtool", self.set_option, name, "rx-flow-hash", flow_type, letters]
            for flow_type, letters in change.items()
        ]


RX_FLOW_HASH = RxFlowHash()


WEIGHTS = re.compile(r"equal [0-9]{1,5}\Z|[0-9]{1,5}( [0-9]{1,5}){0,1023}\Z", re.ASCII)
OTHER = "other"
ALLOWED = "equal and a number of queues, such as equal 4, or weights, such as 3 1"


def table_of(text: str, size: int) -> list[int]:
    """Return the table that ethtool makes of a text; it rounds the end of each run down."""
    numbers = [int(word) for word in re.findall("[0-9]+", text)]
    if text.startswith("equal"):
        return [entry % numbers[0] for entry in range(size)]
    table: list[int] = []
    before = 0
    for queue, weight in enumerate(numbers):
        before += weight
        table += [queue] * (size * before // sum(numbers) - len(table))
    return table


def _entries(text: str) -> int:
    """Return how many entries weights need at least."""
    return 0 if text.startswith("equal") else sum(map(int, text.split()))


def text_of(table: Sequence[int]) -> str:
    """Return the text of a table."""
    queues = max(table) + 1
    if list(table) == [entry % queues for entry in range(len(table))]:
        return f"equal {queues}"
    if list(table) == sorted(table):
        return " ".join(str(table.count(queue)) for queue in range(queues))
    return OTHER


class RssWeights(Listed):
    """How many entries of the RSS table each receive queue has.

    A text describes the table: ``equal 4`` is round robin over the first four queues, what drivers
    begin with; ``96 32`` is one run of entries a queue, as ethtool writes weights. A table of another
    shape is called ``other``: it can be changed, and ethtool cannot write it back.
    """

    name = "rss_weights"
    about = "divides the RSS table, and so the flows, between receive queues"
    availability = "`ethtool -x`; drivers with RSS; veth and virtio without it have none"
    takes = "`equal 4` (round robin over four queues), or weights such as `3 1`"
    settings = ["weights"]

    def value(self, level: str) -> str:
        text = str(level)
        if WEIGHTS.match(text) and any(map(int, re.findall("[0-9]+", text))):
            return text
        raise ValueError(ALLOWED)

    def read(
        self, devices: Mapping[str, Iterable[str]], netns: str | None, reader: Reader
    ) -> dict[str, KindState]:
        states: dict[str, KindState] = {}
        for name in devices:
            text, reason = reader.read_output(["ethtool", "-x", name], netns)
            tables = list(parse_rss(text).values())
            states[name] = self.state(tables[0]["indirection"] if tables else None, reason)
        return states

    def state(self, listing: Any, reason: str | None) -> KindState:
        if not listing:
            return unsupported(reason)
        return {"supported": True, "current": {"weights": text_of(listing)}, "size": len(listing)}

    def kept(self, described: Described) -> Values:
        values = super().kept(described)
        return {name: text for name, text in values.items() if text != OTHER}

    def _stuck(self, named: Values, state: KindState, device: str) -> dict[str, NotAsAsked]:
        """A table may have fewer entries than it had, when channels are restored after it."""
        stuck = super()._stuck(named, state, device)
        text = str(named.get("weights", ""))
        if not stuck and WEIGHTS.match(text) and _entries(text) > state["size"]:
            reason = f"{text} adds up to more than the {state['size']} entries of the table"
            return {"weights": {"asked": text, "reason": reason}}
        return stuck

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        try:
            text = self.value(str(value))
        except ValueError:
            raise InputError(f"{shown(value)} does not divide a table", where, f"Give {ALLOWED}.")
        return text_of(table_of(text, state["size"]))

    def steps(self, change: Values, name: str) -> list[list[str]]:
        if "weights" not in change:
            return []
        weights = change["weights"].split()
        return [
            ["ethtool", "-X", name, *(weights if weights[0] == "equal" else ["weight", *weights])]
        ]


RSS_WEIGHTS = RssWeights()
