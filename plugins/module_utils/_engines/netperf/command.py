# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: a workload and its endpoints become the argument lists of netperf, one a stream.

Options and output selectors: netperf's manual (doc/netperf.texi, "The Omni Tests") and
src/nettest_omni.c of 2.7.0. Every test is asked for key=value output, so nothing is guessed from
columns.
"""

from __future__ import annotations

from ..engine import CROWD, Endpoint, Load, processes

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
