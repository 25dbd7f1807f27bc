# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: engine netperf."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Sequence

from ..._base.errors import ParseError
from ..engine import CROWD, SHORTEST, Endpoint, Engine, Line, Load, Part, StreamRow, processes
from . import command

if TYPE_CHECKING:
    from .values import Row

LATENCIES = {
    "min": "MIN_LATENCY",
    "mean": "MEAN_LATENCY",
    "p50": "P50_LATENCY",
    "p90": "P90_LATENCY",
    "p99": "P99_LATENCY",
    "max": "MAX_LATENCY",
    "stddev": "STDDEV_LATENCY",
}
RETRANSMITS = ("LOCAL_TRANSPORT_RETRANS", "REMOTE_TRANSPORT_RETRANS")
# Units of throughput as factors to Mbit/s, as format_units() of netperf's netlib.c has them: bits in
# powers of 10, bytes in powers of 2.
MBPS = {
    "10^3bits": 1e-3,
    "10^6bits": 1.0,
    "10^9bits": 1e3,
    "Bytes": 8e-6,
    "KBytes": 8e-6 * 2**10,
    "MBytes": 8e-6 * 2**20,
    "GBytes": 8e-6 * 2**30,
}
# Units of interim results, as factors to the unit that is summed: Mbit/s, or transactions/s.
UNITS = {"Trans/s": 1.0, **{f"{unit}/s": factor for unit, factor in MBPS.items()}}
# What a run has under the same name as a stream.
SAME = (
    "throughput_mbps",
    "throughput_sent_mbps",
    "transactions_per_s",
    "elapsed_s",
    "local_cpu_percent",
    "remote_cpu_percent",
    "local_service_demand",
    "remote_service_demand",
    "confidence_met",
    "confidence_width",
    "message_size",
    "send_socket_size",
    "recv_socket_size",
)


def _selector(row: Row, name: str) -> float | None:
    value = (row.get("selectors") or {}).get(name)
    # netperf's -1 is "not known"
    return value if isinstance(value, (int, float)) and value >= 0 else None


def _parts(row: Row) -> list[Part]:
    """Return the interim results as [(start, end, rate)], in Mbit/s or in transactions/s."""
    parts = []
    for part in row.get("interim") or ():
        unit = part.get("unit")
        long = part.get("seconds", 0)
        if unit in UNITS and long > 0:
            end = part["ending_at"]
            parts.append((end - long, end, part["throughput"] * UNITS[unit]))
    return parts


def _retransmits(row: Row) -> float | None:
    """Return the segments that both ends retransmitted, None where neither is known."""
    counts = [_selector(row, name) for name in RETRANSMITS]
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None


def stream_row(row: Row, test: str, length: float) -> StreamRow:
    """Return a run of netperf as the row of a stream."""
    neutral: Any = {name: row.get(name) for name in SAME}
    neutral.update(
        test=test,
        length=length,
        parts=_parts(row),
        iterations=_selector(row, "CONFIDENCE_ITERATION"),
        mss=_selector(row, "TRANSPORT_MSS"),
        retransmits=_retransmits(row),
        latency_us={name: _selector(row, selector) for name, selector in LATENCIES.items()},
    )
    return neutral


class Netperf(Engine):
    """netperf, of version 2.7 or later."""

    name = "netperf"
    tests = (*command.STREAM_TESTS, *command.RR_TESTS)
    offers = ("congestion_control",)
    called = "netperf"
    server = "netserver"
    program = "netperf"
    served_by = "netserver"
    packages = MappingProxyType({"debian": "netperf"})
    automatic = True
    asks = ("netperf", "-V")

    def shortest(self, load: Load) -> float:
        # Its own clock knows whole seconds; the signal of that clock ends it sooner. Where the server
        # sends, or ends a connection for each request, the server's clock ends the traffic.
        few = processes(load) <= CROWD and not load["bidirectional"]
        able = few and load["interim"] and load["test"] in command.ENDED_BY_CLIENT
        return SHORTEST if able else self.clock

    def begun(self, out: bytes) -> bool:
        return b"NETPERF_INTERVAL" in out

    def can_warm_up(self, load: Load) -> bool:
        # Interim results of UDP_STREAM count what was sent.
        return super().can_warm_up(load) and load["test"] != "UDP_STREAM"

    def wait_before_traffic(self, load: Load) -> int:
        return command.wait_before_traffic(load)

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        return command.stream_argv(load, test, end, index)

    def door_port(self, line: Line) -> int:
        return line.end["port"]

    def rows(self, argv: Sequence[str], raw: str, finished: float = 0.0) -> list[StreamRow]:
        # On the controller alone: a node with an emulated CPU need not compile its expressions.
        from .output import parse_output  # noqa: PLC0415

        results = parse_output(raw)
        if len(results) != 1:
            raise ParseError(f"netperf's output has {len(results)} results, not one", 1)
        error = results[0].get("error")
        if error:
            raise ParseError(error, results[0]["line"])
        options = dict(zip(argv, argv[1:]))
        length = float(options.get("-l", 0))
        return [
            stream_row(
                results[0], options["-t"], min(length, results[0].get("elapsed_s") or length)
            )
        ]
