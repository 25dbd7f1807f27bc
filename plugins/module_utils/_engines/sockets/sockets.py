# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: engine sockets."""

from __future__ import annotations

import json
from typing import Sequence

from ..._base.errors import InputError
from .. import wire
from ..engine import SHORTEST, Endpoint, Line, Load, ScriptEngine, StreamRow
from ..wire import LARGEST_DATAGRAM
from . import command, output, traffic
from .traffic import DATAGRAM, LARGEST, MESSAGES


class Sockets(ScriptEngine):
    """Plain sockets, by Python alone: what no package does, and what hosts without a package need."""

    name = "sockets"
    tests = (
        "TCP_STREAM",
        "TCP_MAERTS",
        "UDP_STREAM",
        "TCP_RR",
        "UDP_RR",
        "TCP_CRR",
        command.LOADED,
    )
    offers = ("rate_mbps", "congestion_control", "udp_segment", "udp_gro")
    called = "the load by sockets"
    server = "the server of loads by sockets"
    descriptor = 198
    verb = "measure"
    files = (wire, traffic)
    port_offset = 4
    clock = SHORTEST

    def refuse(self, load: Load) -> None:
        where = load["name"]
        if load["confidence"]:
            raise InputError(
                "engine sockets has no confidence intervals",
                where,
                "Leave confidence out, or use netperf.",
            )
        if load["test"] == command.LOADED and load["tenants"] > 1:
            raise InputError(
                "requests and their streams are of one tenant",
                f"{where}: tenants {load['tenants']}",
                "Give streams instead.",
            )
        for key in MESSAGES:
            if load.get(key, 0) > LARGEST:
                raise InputError(
                    f"engine sockets has sizes of at most {LARGEST >> 20}M",
                    f"{where}: {key} {load[key]}",
                )
        size = load.get("message_size", DATAGRAM)
        if load["test"] == "UDP_STREAM" and not 0 < size <= LARGEST_DATAGRAM:
            raise InputError("a datagram needs a byte at least", f"{where}: message_size {size}")

    def shortest(self, load: Load) -> float:
        return 1.0 if load["test"] == command.LOADED else self.clock

    def can_warm_up(self, load: Load) -> bool:
        # Interim results of UDP_STREAM count what was sent.
        return super().can_warm_up(load) and load["test"] not in ("UDP_STREAM", command.LOADED)

    def wait_before_traffic(self, load: Load) -> int:
        return command.before(load)

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        port = end["port"] + self.port_offset
        return self.command("measure", json.dumps(command.options_of(load, test, end, port, index)))

    def lines(self, load: Load, endpoints: Sequence[Endpoint]) -> list[Line]:
        """Return the processes of a cell; loaded requests are one, which starts the streams
        when it has measured without them.
        """
        if load["test"] != command.LOADED:
            return super().lines(load, endpoints)
        end = endpoints[0]
        what = command.loaded_options(load, end, end["port"] + self.port_offset)
        return [Line(self.command("measure", json.dumps(what)), end)]

    def rows(self, argv: Sequence[str], raw: str, finished: float = 0.0) -> list[StreamRow]:
        return output.rows(raw)
