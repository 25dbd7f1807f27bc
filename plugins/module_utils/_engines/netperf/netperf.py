# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: engine netperf: a workload and its endpoints become argument lists, one a stream.

Options and output selectors: netperf's manual (doc/netperf.texi, "The Omni Tests") and
src/nettest_omni.c of 2.7.0. Every test is asked for key=value output, so nothing is guessed from
columns.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Sequence

from ..._base.errors import ParseError
from ..engine import CROWD, SHORTEST, Endpoint, Engine, Line, Load, Part, StreamRow, processes

if TYPE_CHECKING:
    from .values import Row


STREAM_TESTS = ("TCP_STREAM", "TCP_MAERTS", "UDP_STREAM")
RR_TESTS = ("TCP_RR", "UDP_RR", "TCP_CRR")
# The client ends these, and the server sees that its connection is closed. The last datagram of a UDP
# test may be lost: netperf then waits 2 s and more, and its own timer breaks the wait off.
ENDED_BY_CLIENT = ("TCP_STREAM", "TCP_RR")
CUT_SHORT = 5  # s that netperf is asked for where a signal ends it: its timer rings after that

SELECTORS = (
    "THROUGHPUT",
    "THROUGHPUT_UNITS",
    "ELAPSED_TIME",
    "PROTOCOL",
    "DIRECTION",
    "LOCAL_SEND_THROUGHPUT",
    "LOCAL_RECV_THROUGHPUT",
    "REMOTE_SEND_THROUGHPUT",
    "REMOTE_RECV_THROUGHPUT",
    "LSS_SIZE_END",
    "LSR_SIZE_END",
    "RSS_SIZE_END",
    "RSR_SIZE_END",
    "LOCAL_SEND_SIZE",
    "LOCAL_RECV_SIZE",
    "REMOTE_SEND_SIZE",
    "REMOTE_RECV_SIZE",
    "REQUEST_SIZE",
    "RESPONSE_SIZE",
    "LOCAL_CPU_UTIL",
    "LOCAL_CPU_METHOD",
    "LOCAL_SD",
    "REMOTE_CPU_UTIL",
    "REMOTE_CPU_METHOD",
    "REMOTE_SD",
    "SD_UNITS",
    "CONFIDENCE_LEVEL",
    "CONFIDENCE_INTERVAL",
    "CONFIDENCE_ITERATION",
    "THROUGHPUT_CONFID",
    "LOCAL_CPU_CONFID",
    "REMOTE_CPU_CONFID",
    "TRANSPORT_MSS",
    "LOCAL_TRANSPORT_RETRANS",
    "REMOTE_TRANSPORT_RETRANS",
    "LOCAL_BYTES_SENT",
    "LOCAL_BYTES_RECVD",
    "REMOTE_BYTES_SENT",
    "REMOTE_BYTES_RECVD",
    "LOCAL_CONG_CONTROL",
    "REMOTE_CONG_CONTROL",
)
# Asking for a percentile makes netperf time every call. A transaction is that call; a stream would
# be slowed by it.
LATENCY_SELECTORS = (
    "TRANSACTION_RATE",
    "RT_LATENCY",
    "MIN_LATENCY",
    "MEAN_LATENCY",
    "P50_LATENCY",
    "P90_LATENCY",
    "P99_LATENCY",
    "MAX_LATENCY",
    "STDDEV_LATENCY",
)


def wait_before_traffic(load: Load) -> int:
    """Return the seconds that netperf has to wait between its set-up and its traffic (``-s``).

    100 processes need 0.6 s on 2 cores to connect, and 3 s if those that already send compete with
    them. Not where the server sends: it would begin immediately. Not longer, because netserver
    gives a connection up 4 s late.
    """
    sends = not load["bidirectional"] and load["test"] != "TCP_MAERTS"
    if not sends or load["confidence"] or processes(load) <= CROWD:
        return 0
    return 1 if processes(load) <= 100 else 2


def _pair(sending: int | None, receiving: int | None, client_sends: bool) -> str:
    """Return netperf's ``local,remote`` of a value at the sending and one at the receiving end."""
    local, remote = (sending, receiving) if client_sends else (receiving, sending)
    return f"{'' if local is None else local},{'' if remote is None else remote}"


def _size_options(load: Load, test: str) -> list[str]:
    client_sends = test != "TCP_MAERTS"
    options = []
    for flag, key in zip(
        ("-s", "-S") if client_sends else ("-S", "-s"), ("send_socket", "recv_socket")
    ):
        if key in load:
            options += [flag, str(load[key])]
    if "message_size" in load:
        options += ["-m", _pair(load["message_size"], None, client_sends)]
    if "receive_size" in load:
        # Of -M the first value is the client's: it receives in TCP_MAERTS only.
        options += ["-M", _pair(None, load["receive_size"], client_sends)]
    if test in RR_TESTS:
        options += ["-r", f"{load.get('request_size', 1)},{load.get('response_size', 1)}"]
    return options


def _cpu_options(load: Load, index: int) -> list[str]:
    """Return the options that bind a stream to CPUs."""
    bound = [
        str(cpus[index % len(cpus)]) if cpus else ""
        for cpus in (load["client_cpus"], load["server_cpus"])
    ]
    return ["-T", ",".join(bound)] if any(bound) else []


def _time_options(load: Load) -> list[str]:
    """Return the options that say how often and when a stream is measured, and what else is reported."""
    options: list[str] = []
    if load["confidence"]:
        confidence = load["confidence"]
        options += ["-i", f"{confidence['iterations_max']},{confidence['iterations_min']}"]
        options += ["-I", f"{confidence['level']},{confidence['width_percent']:g}"]
    if load["cpu"]:
        options += ["-c", "-C"]
    if wait_before_traffic(load):
        options += ["-s", str(wait_before_traffic(load))]
    if load["interim"]:
        options += ["-D", f"{load['interim']:g}"]
    return options


def stream_argv(load: Load, test: str, end: Endpoint, index: int = 0) -> list[str]:
    """Return the argument list of one netperf process, to be run inside ``end["netns"]``.

    Stream ``index`` of a cell has a data port of its own at the server, which firewalls can allow,
    and takes its turn of the CPUs that netperf and netserver are bound to.
    """
    family = "6" if ":" in end["address"] else "4"
    line = ["netperf", "-H", f"{end['address']},{family}"]
    if end["local"]:
        line += ["-L", f"{end['local']},{family}"]
    length = load["warm_up"] + load["duration"] if load["duration"] >= 1 else CUT_SHORT
    line += ["-p", str(end["port"]), "-t", test, "-l", str(length)]
    if test in STREAM_TESTS:
        line += ["-f", "m"]  # 10^6 bits/s; with it an RR test would no longer be in transactions
    line += _cpu_options(load, index) + _time_options(load)
    selectors = SELECTORS + (LATENCY_SELECTORS if test in RR_TESTS else ())
    # UDP_STREAM alone sets SO_DONTROUTE by default, and then fails wherever a router is in between.
    route = ["-R", "1"] if test == "UDP_STREAM" else []
    data = ["-P", f",{end['data_port'] + index}"]  # the server's; the kernel chooses the client's
    algorithm = (
        ["-K", ",".join([load["congestion_control"]] * 2)] if "congestion_control" in load else []
    )
    return (
        line
        + ["--"]
        + _size_options(load, test)
        + algorithm
        + route
        + data
        + ["-k", ",".join(selectors)]
    )


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
    tests = (*STREAM_TESTS, *RR_TESTS)
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
        able = few and load["interim"] and load["test"] in ENDED_BY_CLIENT
        return SHORTEST if able else self.clock

    def begun(self, out: bytes) -> bool:
        return b"NETPERF_INTERVAL" in out

    def can_warm_up(self, load: Load) -> bool:
        # Interim results of UDP_STREAM count what was sent.
        return super().can_warm_up(load) and load["test"] != "UDP_STREAM"

    def wait_before_traffic(self, load: Load) -> int:
        return wait_before_traffic(load)

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        return stream_argv(load, test, end, index)

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
