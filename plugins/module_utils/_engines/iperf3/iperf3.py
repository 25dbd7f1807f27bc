# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine iperf3. Pure.

Options: the manual page iperf3(1) of 3.12 and 3.18.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any, Mapping, Sequence

from ..._base.errors import InputError
from ..._base.network import DATA_OFFSET, MOST_STREAMS
from ..engine import Endpoint, Engine, Line, Load, StreamRow, require_tenants
from . import output

SHORTEST = 0.1  # s between interim results
# What is sent and received with one call is one option, and so are the buffers of both ends.
PAIRS = (("message_size", "receive_size"), ("send_socket", "recv_socket"))


def _same(load: Load, pair: tuple[str, str]) -> Any:
    """Return the one value that iperf3 gives both ends, or None."""
    return load.get(pair[0], load.get(pair[1]))


def differ(load: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a pair of sizes that iperf3 cannot set apart, or None."""
    for pair in PAIRS:
        values = [load[key] for key in pair if key in load]
        if len(values) == 2 and values[0] != values[1]:
            return pair
    return None


def _cpus(load: Load, index: int) -> list[str]:
    """Return the option that binds a stream to CPUs: of the client, of the server, or of both."""
    client = load["client_cpus"]
    server = load["server_cpus"]
    if not client and not server:
        return []
    bound = str(client[index % len(client)]) if client else ""
    if server:
        bound += f",{server[index % len(server)]}"
    return ["-A", bound]


def stream_argv(load: Load, test: str, end: Endpoint, port: int, index: int) -> list[str]:
    """Return the argument list of one process, to be run inside ``end["netns"]``."""
    argv = ["iperf3", "-c", end["address"], "-p", str(port), "-J"]
    argv += ["-t", str(load["warm_up"] + load["duration"])]
    if end["local"]:
        argv += ["-B", end["local"]]
    if load["interim"]:
        argv += ["-i", f"{load['interim']:g}"]
    else:
        argv += ["-i", "0"]
    if load["bidirectional"]:
        argv.append("--bidir")
    elif test == "TCP_MAERTS":
        argv.append("-R")
    if test == "UDP_STREAM":
        argv += ["-u", "-b", f"{load.get('rate_mbps', 0):g}M"]
    elif "rate_mbps" in load:
        argv += ["-b", f"{load['rate_mbps']:g}M"]
    for flag, pair in zip(("-l", "-w"), PAIRS):
        value = _same(load, pair)
        if value is not None:
            argv += [flag, str(value)]
    if "congestion_control" in load:
        argv += ["-C", load["congestion_control"]]
    return argv + _cpus(load, index)


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
        pair = differ(load)
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
        return stream_argv(load, test, end, port, index)

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
