# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine sockets. Pure."""

from __future__ import annotations

import json
from typing import Any, Sequence

from ..._base.errors import InputError
from .. import wire
from ..engine import SHORTEST, Endpoint, Line, Load, ScriptEngine, StreamRow
from ..wire import LARGEST_DATAGRAM
from . import output, traffic
from .traffic import DATAGRAM, LARGEST, MESSAGES

LOADED = "TCP_LOADED_RR"  # requests while streams run
# Keys of a workload that a process receives where the workload has them.
TOLD = (
    "message_size",
    "receive_size",
    "send_socket",
    "recv_socket",
    "rate_mbps",
    "congestion_control",
    "udp_segment",
    "udp_gro",
)


def before(load: Load) -> int:
    """Return the seconds of requests without streams, before requests with streams."""
    return max(1, load["duration"] // 2) if load["test"] == LOADED else 0


def options_of(load: Load, test: str, end: Endpoint, port: int, index: int) -> dict[str, Any]:
    """Return the options of one process; ``port`` is the server's."""
    options: dict[str, Any] = {
        "test": test,
        "address": end["address"],
        "port": port,
        "seconds": load["warm_up"] + load["duration"],
    }
    options.update({key: load[key] for key in TOLD if key in load})
    if end["local"]:
        options["local"] = end["local"]
    if load["interim"]:
        options["interim"] = load["interim"]
    if test.endswith("RR"):
        options["request_size"] = load.get("request_size", 1)
        options["response_size"] = load.get("response_size", 1)
    for key, cpus in (("client_cpu", load["client_cpus"]), ("server_cpu", load["server_cpus"])):
        if cpus:
            options[key] = cpus[index % len(cpus)]
    return options


def loaded_options(load: Load, end: Endpoint, port: int) -> dict[str, Any]:
    """Return the options of the process of requests while streams run."""
    options = {**options_of(load, LOADED, end, port, 0), "before": before(load)}
    streams = range(1, load["streams"] + 1)
    return {
        **options,
        "streams": [options_of(load, "TCP_STREAM", end, port, index) for index in streams],
    }


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
        LOADED,
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
        if load["test"] == LOADED and load["tenants"] > 1:
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
        return 1.0 if load["test"] == LOADED else self.clock

    def can_warm_up(self, load: Load) -> bool:
        # Interim results of UDP_STREAM count what was sent.
        return super().can_warm_up(load) and load["test"] not in ("UDP_STREAM", LOADED)

    def wait_before_traffic(self, load: Load) -> int:
        return before(load)

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        port = end["port"] + self.port_offset
        return self.command("measure", json.dumps(options_of(load, test, end, port, index)))

    def lines(self, load: Load, endpoints: Sequence[Endpoint]) -> list[Line]:
        """Return the processes of a cell; loaded requests are one, which starts the streams
        when it has measured without them.
        """
        if load["test"] != LOADED:
            return super().lines(load, endpoints)
        end = endpoints[0]
        what = loaded_options(load, end, end["port"] + self.port_offset)
        return [Line(self.command("measure", json.dumps(what)), end)]

    def rows(self, argv: Sequence[str], raw: str, finished: float = 0.0) -> list[StreamRow]:
        return output.rows(raw)
