# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: engine iperf3."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Sequence

from ..._base.errors import InputError
from ..._base.network import DATA_OFFSET, MOST_STREAMS
from ..engine import Endpoint, Engine, Line, Load, StreamRow, require_tenants
from . import command, output

SHORTEST = 0.1  # s between interim results


class Iperf3(Engine):
    """iperf3, of version 3.7 or later; a process a stream, so that each has a CPU also before 3.16."""

    name = "iperf3"
    tests = ("TCP_STREAM", "TCP_MAERTS", "UDP_STREAM")
    offers = ("rate_mbps", "congestion_control")
    called = "iperf3"
    server = "iperf3 server"
    program = "iperf3"
    served_by = "iperf3"
    packages = MappingProxyType(
        {"debian": "iperf3", "rhel": "iperf3", "suse": "iperf", "alpine": "iperf3"}
    )
    automatic = True
    asks = ("iperf3", "--version")
    serves_many = False
    # Behind the first thousand data ports of netperf, which a campaign may use as well.
    port_offset = DATA_OFFSET + MOST_STREAMS // 2

    def refuse(self, load: Load) -> None:
        where = load["name"]
        pair = command.differ(load)
        if pair:
            raise InputError(
                f"iperf3 has one size for {pair[0]} and {pair[1]}", where, "Give one of them."
            )
        if load["confidence"]:
            raise InputError(
                "iperf3 has no confidence intervals", where, "Leave confidence out, or use netperf."
            )
        if load["interim"] and load["interim"] < SHORTEST:
            raise InputError(
                f"iperf3 has no interim results within {SHORTEST:g} s", where, "Give 0.1 or more."
            )

    def can_warm_up(self, load: Load) -> bool:
        # Interim results of UDP_STREAM count what was sent.
        return super().can_warm_up(load) and load["test"] != "UDP_STREAM"

    def servers_each(self, load: Load) -> int:
        # Two at least: packets are sampled with a stream each way.
        return max(2, math.ceil(max(load["streams"], load["tenants"]) / load["tenants"]))

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        port = end["port"] + self.port_offset + index // load["tenants"]
        return command.stream_argv(load, test, end, port, index)

    def lines(self, load: Load, endpoints: Sequence[Endpoint]) -> list[Line]:
        """Return the processes of a cell; one serves both directions of a stream."""
        require_tenants(load, endpoints)
        lines = []
        for index in range(max(load["streams"], load["tenants"])):
            end = endpoints[index % load["tenants"]]
            lines.append(Line(self.argv(load, load["test"], end, index), end))
        return lines

    def door_port(self, line: Line) -> int:
        return int(dict(zip(line.argv, line.argv[1:]))["-p"])

    def complaint(self, out: str, err: str) -> str:
        return output.error_in(out) or super().complaint(out, err)

    def rows(self, argv: Sequence[str], raw: str, finished: float = 0.0) -> list[StreamRow]:
        return output.rows(raw, finished)
