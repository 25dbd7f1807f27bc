# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: a workload and its endpoints become the argument lists of netperf, one a stream.

Options and output selectors: netperf's manual (doc/netperf.texi, "The Omni Tests") and
src/nettest_omni.c of 2.7.0. Every test is asked for key=value output, so nothing is guessed from
columns.
"""

from __future__ import annotations

import itertools
from typing import Any, Mapping, Sequence, TypedDict

from .._base import network
from .._base.checks import boolean, label, mapping, number, size
from .._base.errors import InputError
from .._payload.command import TEST as PAYLOAD
from .._payload.command import check_argv

STREAM_TESTS = ("TCP_STREAM", "TCP_MAERTS", "UDP_STREAM")
RR_TESTS = ("TCP_RR", "UDP_RR", "TCP_CRR")
TESTS = (*STREAM_TESTS, *RR_TESTS, PAYLOAD)
CROWD = 8  # processes; more of them wait before their traffic, and are counted after a warm-up
# S: a connection's first packet is retransmitted after 1 s, and once more after 3 s (RFC 6298)
WARM_UP = 4
MAX_UDP_PAYLOAD = 65507  # IPv4: 65535 less the IP and UDP headers

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

WORKLOAD_KEYS = (
    "name",
    "test",
    "duration",
    "streams",
    "bidirectional",
    "message_size",
    "receive_size",
    "send_socket",
    "recv_socket",
    "request_size",
    "response_size",
    "tenants",
    "confidence",
    "cpu",
    "interim",
    "warm_up",
    "client_cpus",
    "server_cpus",
)
MOST_CPUS = 8191  # the largest number that a kernel gives a CPU (NR_CPUS of x86)


class Confidence(TypedDict):
    """When netperf repeats a test."""

    level: int  # %
    width_percent: float  # of the mean, the whole interval
    iterations_min: int
    iterations_max: int


def _confidence(value: Any) -> Confidence | None:
    """Return the confidence asked for, or None."""
    if not value:
        return None
    given = mapping(
        value, "confidence", ("level", "width_percent", "iterations_min", "iterations_max")
    )
    level = number(given.get("level", 99), "confidence level", 95, 99)
    if level not in (95, 99):
        raise InputError(
            "netperf has confidence levels 95 and 99 only", f"confidence level {level}"
        )
    least = number(given.get("iterations_min", 3), "iterations_min", 3, 30)
    most = number(given.get("iterations_max", 10), "iterations_max", 3, 30)
    if least > most:
        raise InputError("iterations_min is larger than iterations_max", f"{least} and {most}")
    return {
        "level": level,
        "width_percent": number(given.get("width_percent", 5), "width_percent", 0.1, 100, float),
        "iterations_min": least,
        "iterations_max": most,
    }


def _sizes(given: Mapping[str, Any], test: str) -> dict[str, int]:
    sizes = {}
    for key in (
        "message_size",
        "receive_size",
        "send_socket",
        "recv_socket",
        "request_size",
        "response_size",
    ):
        if given.get(key) is not None:
            sizes[key] = size(given[key], key)
    wrong = (
        ("message_size", "receive_size") if test in RR_TESTS else ("request_size", "response_size")
    )
    for key in wrong:
        if key in sizes:
            raise InputError(
                f"cannot be combined with {test}",
                key,
                "Streams have message_size, requests have request_size and response_size.",
            )
    for key in ("message_size", "request_size", "response_size"):
        if test.startswith("UDP_") and sizes.get(key, 0) > MAX_UDP_PAYLOAD:
            raise InputError(
                f"{sizes[key]} bytes do not fit a UDP datagram, which carries at most "
                f"{MAX_UDP_PAYLOAD}",
                key,
            )
    return sizes


def workload(given: Any) -> dict[str, Any]:
    """Return the workload checked and with its defaults; strings, as a survey gives them, become
    numbers.
    """
    given = mapping(given, "workload", WORKLOAD_KEYS)
    test = str(given.get("test", "")).upper()
    if test not in TESTS:
        raise InputError(
            "unknown netperf test", repr(given.get("test")), f"Use one of {', '.join(TESTS)}."
        )
    bidirectional = boolean(given.get("bidirectional", False), "bidirectional")
    if bidirectional and test != "TCP_STREAM":
        raise InputError(
            "only TCP_STREAM can run in both directions simultaneously", f"bidirectional {test}"
        )
    if test == PAYLOAD and given.get("confidence"):
        raise InputError("a check of the payload has no confidence interval", repr(test))
    checked = {
        "name": label(given.get("name", test.lower()), "workload name"),
        "test": test,
        "duration": number(given.get("duration", 10), "duration", 1, 86400),
        "streams": number(given.get("streams") or 1, "streams", 1, 1000),
        "tenants": number(given.get("tenants") or 1, "tenants", 1, 1000),
        "bidirectional": bidirectional,
        "confidence": _confidence(given.get("confidence")),
        "cpu": boolean(given.get("cpu", True), "cpu"),
    }
    checked["interim"] = _interim(given.get("interim"), checked)
    checked["warm_up"] = _warm_up(given.get("warm_up"), checked)
    for key in ("client_cpus", "server_cpus"):
        checked[key] = [number(cpu, key, 0, MOST_CPUS) for cpu in given.get(key) or ()]
    checked.update(_sizes(given, test))
    return checked


def _interim(value: Any, load: Mapping[str, Any]) -> float | None:
    """Return the seconds between interim results, None where there are none.

    They show when a stream really ran: its connection may come a second late, and netperf may wait
    4 s more for its peer. Of several they show how much of a stream's rate fell into the time of
    all.
    """
    if value is None and not load["confidence"]:
        return min(1.0, load["duration"] / 10.0)
    if value in (None, "", 0):
        return None
    interim = number(value, "interim", 0.05, 3600, float)
    if load["confidence"]:
        raise InputError(
            "interim results cannot be combined with confidence iterations", load["name"]
        )
    return interim


def _warm_up(value: Any, load: Mapping[str, Any]) -> int:
    """Return the seconds of traffic before the counted time; only interim results can separate the
    two.
    """
    possible = bool(load["interim"]) and load["test"] not in ("UDP_STREAM", PAYLOAD)
    if value is None:
        return WARM_UP if possible and processes(load) > CROWD else 0
    seconds = number(value, "warm_up", 0, 600)
    if seconds and not possible:
        raise InputError(
            "a warm-up cannot be combined with confidence, UDP_STREAM, PAYLOAD or interim 0",
            load["name"],
            "Leave warm_up out: netperf's results cover the whole test there.",
        )
    return seconds


def processes(load: Mapping[str, Any]) -> int:
    """Return the number of netperf processes of a cell.

    Every tenant sends: fewer streams become as many.
    """
    return max(load["streams"], load["tenants"]) * (2 if load["bidirectional"] else 1)


def wait_before_traffic(load: Mapping[str, Any]) -> int:
    """Return the seconds that netperf has to wait between its set-up and its traffic (``-s``).

    100 processes need 0.6 s on 2 cores to connect, and 3 s if those that already send compete with
    them. Not where the server sends: it would begin immediately. Not longer, because netserver
    gives a connection up 4 s late.
    """
    sends = not load["bidirectional"] and load["test"] not in ("TCP_MAERTS", PAYLOAD)
    if not sends or load["confidence"] or processes(load) <= CROWD:
        return 0
    return 1 if processes(load) <= 100 else 2


class Endpoint(TypedDict):
    """Between what a stream runs: from a namespace and an address of the client to a netserver."""

    netns: str | None
    local: str | None
    address: str
    port: int
    data_port: int


def endpoint(given: Any) -> Endpoint:
    """Return one endpoint, checked.

    ``data_port`` is that of the first stream, each further one has the next.
    """
    given = mapping(given, "endpoint", ("netns", "local", "address", "port", "data_port"))
    port = network.port(given.get("port", network.NETSERVER_PORT), "port")
    checked: Endpoint = {
        "netns": network.namespace_name(given["netns"]) if given.get("netns") else None,
        "local": str(network.address(given["local"], "local address"))
        if given.get("local")
        else None,
        "address": str(network.address(given.get("address"), "netserver address")),
        "port": port,
        "data_port": network.port(
            given.get("data_port") or port + network.DATA_OFFSET, "data_port"
        ),
    }
    if checked["local"] and (":" in checked["local"]) != (":" in checked["address"]):
        raise InputError(
            "one address is IPv4 and the other IPv6", f"{checked['local']} and {checked['address']}"
        )
    return checked


def streams_of(
    load: Mapping[str, Any], endpoints: Sequence[Endpoint]
) -> list[tuple[str, Endpoint]]:
    """Return [(test, endpoint)], one a netperf process; streams are dealt to the tenants' endpoints
    in turn.

    Bidirectional runs as many TCP_MAERTS beside the TCP_STREAMs.
    """
    if len(endpoints) < load["tenants"]:
        raise InputError(
            f"there are {len(endpoints)} endpoints, fewer than the {load['tenants']} tenants asked "
            "for",
            load["name"],
            "Ask for fewer tenants, or make more in the lab.",
        )
    tests = (load["test"], "TCP_MAERTS") if load["bidirectional"] else (load["test"],)
    each = processes(load) // len(tests)
    dealt = [endpoints[index % load["tenants"]] for index in range(each)]
    return list(itertools.product(tests, dealt))


def _pair(sending: int | None, receiving: int | None, client_sends: bool) -> str:
    """Return netperf's ``local,remote`` of a value at the sending and one at the receiving end."""
    local, remote = (sending, receiving) if client_sends else (receiving, sending)
    return f"{'' if local is None else local},{'' if remote is None else remote}"


def _size_options(load: Mapping[str, Any], test: str) -> list[str]:
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


def _cpu_options(load: Mapping[str, Any], index: int) -> list[str]:
    """Return the options that bind a stream to CPUs."""
    bound = [
        str(cpus[index % len(cpus)]) if cpus else ""
        for cpus in (load["client_cpus"], load["server_cpus"])
    ]
    return ["-T", ",".join(bound)] if any(bound) else []


def _time_options(load: Mapping[str, Any]) -> list[str]:
    """Return the options that say how often and when a stream is measured, and what beside it."""
    options: list[str] = []
    if load["confidence"]:
        asked = load["confidence"]
        options += ["-i", f"{asked['iterations_max']},{asked['iterations_min']}"]
        options += ["-I", f"{asked['level']},{asked['width_percent']:g}"]
    if load["cpu"]:
        options += ["-c", "-C"]
    if wait_before_traffic(load):
        options += ["-s", str(wait_before_traffic(load))]
    if load["interim"]:
        options += ["-D", f"{load['interim']:g}"]
    return options


def argv(load: Mapping[str, Any], test: str, end: Endpoint, index: int = 0) -> list[str]:
    """Return the argument list of one netperf process, to be run inside ``end["netns"]``.

    Stream ``index`` of a cell has a data port of its own at the server, which firewalls can allow,
    and takes its turn of the CPUs that netperf and netserver are bound to.
    """
    if test == PAYLOAD:
        return check_argv(end["address"], end["port"], load["duration"], end["local"])
    family = "6" if ":" in end["address"] else "4"
    line = ["netperf", "-H", f"{end['address']},{family}"]
    if end["local"]:
        line += ["-L", f"{end['local']},{family}"]
    line += ["-p", str(end["port"]), "-t", test, "-l", str(load["warm_up"] + load["duration"])]
    if test in STREAM_TESTS:
        line += ["-f", "m"]  # 10^6 bits/s; with it an RR test would no longer be in transactions
    line += _cpu_options(load, index) + _time_options(load)
    selectors = SELECTORS + (LATENCY_SELECTORS if test in RR_TESTS else ())
    # UDP_STREAM alone sets SO_DONTROUTE by default, and then fails wherever a router is in between.
    route = ["-R", "1"] if test == "UDP_STREAM" else []
    data = ["-P", f",{end['data_port'] + index}"]  # the server's; the kernel chooses the client's
    return line + ["--"] + _size_options(load, test) + route + data + ["-k", ",".join(selectors)]


def lines(
    load: Mapping[str, Any], endpoints: Sequence[Endpoint]
) -> list[tuple[list[str], Endpoint]]:
    """Return the argument list of each netperf process of a cell, with its endpoint."""
    return [
        (argv(load, test, end, index), end)
        for index, (test, end) in enumerate(streams_of(load, endpoints))
    ]


def seconds(load: Mapping[str, Any]) -> tuple[float, float]:
    """Return (expected, longest) time of one cell in seconds; the longest is when netperf is given
    up.
    """
    confidence = load["confidence"] or {"iterations_min": 1, "iterations_max": 1}
    count, before = processes(load), wait_before_traffic(load) + load["warm_up"]
    return (
        confidence["iterations_min"] * load["duration"] + before + 0.3 + 0.01 * count,
        confidence["iterations_max"] * (load["duration"] + 2) + before + 15 + 0.2 * count,
    )
