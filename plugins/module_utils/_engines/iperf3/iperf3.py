# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine iperf3, and the JSON that iperf3 3.7 or later prints, as a row for each direction of its
streams. Pure.

Options: the manual page iperf3(1) of 3.12 and 3.18, RELNOTES.md of 3.21. Source of the keys:
src/iperf_api.c of the same (iperf_json_start, iperf_json_finish, iperf_print_intermediate,
iperf_print_results). Rates are bits a second, sizes bytes, round trip times microseconds.
"""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any, Dict, Mapping, NamedTuple, Sequence

from ..._base.errors import InputError, LabError, ParseError
from ..._base.network import DATA_OFFSET, MOST_STREAMS
from ..engine import (
    Endpoint,
    Engine,
    Line,
    Load,
    Part,
    StreamRow,
    number_of,
    object_of,
    optional_number,
    require_tenants,
)

Document = Dict[str, Any]
MEGABIT = 1e6
LONGEST = 1e9  # s; a longer time is not one


class Names(NamedTuple):
    """Where a direction's totals are."""

    interval: str
    sent: str
    received: str


FORWARD = Names("sum", "sum_sent", "sum_received")
REVERSE = Names("sum_bidir_reverse", "sum_sent_bidir_reverse", "sum_received_bidir_reverse")


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ParseError(f"{what} is not there, or not a list", 1)
    return value


def read(text: str) -> Document:
    """Return the document; raises ParseError for a text that is none, LabError for its error."""
    try:
        document = object_of(json.loads(text), "the result of iperf3")
    except (ValueError, RecursionError):
        raise ParseError(f"not the JSON of iperf3: {text[:60]!r}", 1) from None
    error = document.get("error")
    if error:
        raise LabError(
            f"iperf3 says: {' '.join(str(error).split())[:300]}",
            to_do="Run iperf3 by hand between the nodes.",
        )
    return document


def error_in(text: str) -> str | None:
    """Return what iperf3 says went wrong, None where its text is no document or has no error."""
    try:
        read(text)
    except ParseError:
        return None
    except LabError as error:
        return str(error)
    return None


def _sizes(start: Document, options: Document) -> dict[str, int | None]:
    sizes = {
        "message_size": optional_number(options, "blksize"),
        "send_socket_size": optional_number(start, "sndbuf_actual"),
        "recv_socket_size": optional_number(start, "rcvbuf_actual"),
    }
    return {name: None if value is None else int(value) for name, value in sizes.items()}


def _parts(intervals: list[Any], names: Names, began: float) -> list[Part]:
    """Return the rates of a direction in Mbit/s over the time since the epoch."""
    parts = []
    for interval in intervals:
        total = object_of(object_of(interval, "an interval").get(names.interval), names.interval)
        start = number_of(total, "start")
        end = number_of(total, "end")
        # Of the first interval behind omitted ones 3.12 prints a start behind the end.
        if total.get("omitted") is True or not start < end < LONGEST:
            continue
        rate = number_of(total, "bits_per_second") / MEGABIT
        parts.append((began + start, began + end, rate))
    return parts


def _last(intervals: list[Any]) -> float:
    """Return when the last interval ended, in seconds since the test began."""
    ends = []
    for interval in intervals:
        total = object_of(object_of(interval, "an interval").get("sum"), "sum")
        ends.append(number_of(total, "end"))
    return max(ends, default=0.0)


def _arrived(end: Document, names: Names, sent: Document) -> float:
    """Return what arrived in bits a second.

    Before 3.7 there is only one sum of UDP, with what was lost.
    """
    received = end.get(names.received)
    if received is not None:
        return number_of(object_of(received, names.received), "bits_per_second")
    lost = min(100.0, number_of(sent, "lost_percent"))
    return number_of(sent, "bits_per_second") * (1 - lost / 100)


def _round_trips(end: Document) -> dict[str, float | None] | None:
    """Return the smallest, mean and largest round trip time of the senders, if TCP reports it."""
    senders = []
    for stream in _list(end.get("streams"), "the streams of the end"):
        sender = object_of(stream, "a stream").get("sender")
        if isinstance(sender, dict) and optional_number(sender, "mean_rtt"):
            senders.append(sender)
    if not senders:
        return None
    means = [number_of(sender, "mean_rtt") for sender in senders]
    return {
        "min": min(number_of(sender, "min_rtt") for sender in senders),
        "mean": sum(means) / len(means),
        "max": max(number_of(sender, "max_rtt") for sender in senders),
    }


def _row(document: Document, names: Names, test: str, began: float) -> StreamRow:
    start = object_of(document.get("start"), "start")
    options = object_of(start.get("test_start"), "test_start")
    end = object_of(document.get("end"), "end")
    sums = end.get(names.sent, end.get("sum"))
    sent = object_of(sums, names.sent)
    row: Any = {
        "test": test,
        "length": number_of(options, "duration"),
        "elapsed_s": number_of(sent, "seconds"),
        "throughput_mbps": _arrived(end, names, sent) / MEGABIT,
        "throughput_sent_mbps": number_of(sent, "bits_per_second") / MEGABIT,
        "transactions_per_s": None,
        "parts": _parts(_list(document.get("intervals"), "intervals"), names, began),
        "iterations": None,
        "mss": optional_number(start, "tcp_mss_default") or optional_number(start, "tcp_mss"),
        "retransmits": optional_number(sent, "retransmits"),
        "rtt_us": _round_trips(end) if test == "TCP_STREAM" else None,
    }
    row.update(_sizes(start, options))
    return row


def rows(text: str, finished: float = 0.0) -> list[StreamRow]:
    """Return a row for each direction of the process that printed the text.

    iperf3 prints no clock that is fine enough. ``finished``, when its process ended (s since the
    epoch), is the end of its last interval; ending the test takes it 13 to 21 ms here, which is how
    wrong the times are. Raises LabError for a test that failed, ParseError for any other text.
    """
    document = read(text)
    start = object_of(document.get("start"), "start")
    options = object_of(start.get("test_start"), "test_start")
    intervals = _list(document.get("intervals"), "intervals")
    began = finished - _last(intervals) if finished else 0.0
    if options.get("protocol") == "UDP":
        return [_row(document, FORWARD, "UDP_STREAM", began)]
    if optional_number(options, "reverse"):
        return [_row(document, FORWARD, "TCP_MAERTS", began)]
    result = [_row(document, FORWARD, "TCP_STREAM", began)]
    if REVERSE.sent in object_of(document.get("end"), "end"):
        result.append(_row(document, REVERSE, "TCP_MAERTS", began))
    return result


class SavedRun(NamedTuple):
    """One document in a file that holds several, as people keep them."""

    line: int  # of the file, from 1
    raw: str
    rows: list[StreamRow]
    error: str | None


def is_output(text: str) -> bool:
    """Return whether a text begins as the JSON of iperf3 does."""
    return text.lstrip().startswith("{")


def runs(text: str) -> list[SavedRun]:
    """Return the documents of a file, one behind the other; one that broke off ends them."""
    saved: list[SavedRun] = []
    decoder = json.JSONDecoder()
    at = 0
    while text[at:].strip():
        start = at + len(text[at:]) - len(text[at:].lstrip())
        line = text.count("\n", 0, start) + 1
        try:
            _document, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            saved.append(SavedRun(line, text[start:], [], "the JSON of iperf3 is not whole"))
            break
        saved.append(_run(line, text[start:at]))
    return saved


def _run(line: int, raw: str) -> SavedRun:
    try:
        return SavedRun(line, raw, rows(raw), None)
    except LabError as error:
        return SavedRun(line, raw, [], str(error))


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


class Since(NamedTuple):
    """An option of iperf3, and the version that has it first."""

    option: str
    version: str


# Keys of a workload. What a build can do, its ``--help`` lists: MPTCP needs the system's headers.
GSRO = ("udp_segment", "udp_gro")  # one option for both
SINCE = {
    "zero_copy": Since("--zerocopy", "3.0"),
    "skip_rx_copy": Since("--skip-rx-copy", "3.19"),
    "mptcp": Since("--mptcp", "3.19"),
    **dict.fromkeys(GSRO, Since("--gsro", "3.21")),
}
# Of a reversed stream, iperf3 before 3.11 ignores --zerocopy.
OF_TESTS = {
    **dict.fromkeys(GSRO, ("UDP_STREAM",)),
    "zero_copy": ("TCP_STREAM",),
    "mptcp": ("TCP_STREAM", "TCP_MAERTS"),
}


def optional(load: Mapping[str, Any]) -> list[Since]:
    """Return the options that a workload needs and not every version has."""
    return list(dict.fromkeys(since for key, since in SINCE.items() if load.get(key)))


def newer(options: Sequence[str]) -> list[Since]:
    """Return the options that a newer iperf3 would add to one that has these."""
    return [since for since in dict.fromkeys(SINCE.values()) if since.option not in options]


def _refuse_switches(load: Load) -> None:
    """Raise InputError for a switch that iperf3 has not for this test, or only with another one."""
    where = load["name"]
    for key, tests in OF_TESTS.items():
        if load.get(key) and load["test"] not in tests:
            raise InputError(
                f"iperf3 has {key} for {' and '.join(tests)} only", where, f"Leave {key} out."
            )
    if load.get("zero_copy") and load["bidirectional"]:
        raise InputError(
            "iperf3 has zero_copy for one direction only", where, "Leave bidirectional out."
        )


def _refuse_half_gsro(load: Load) -> None:
    """Raise InputError for one half of --gsro, and for what --gsro ignores."""
    where = load["name"]
    if len({load[key] for key in GSRO if key in load}) > 1:
        raise InputError(
            "iperf3 has one option for udp_segment and udp_gro, --gsro",
            where,
            "Give both the same value, or use engine sockets.",
        )
    if load.get("skip_rx_copy") and any(load.get(key) for key in GSRO):
        raise InputError(
            "iperf3 ignores skip_rx_copy with udp_gro", where, "Leave one of them out."
        )


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


def _rate(load: Load, test: str) -> list[str]:
    """Return the options of datagrams, which need a rate, or of a stream's rate."""
    if test == "UDP_STREAM":
        return ["-u", "-b", f"{load.get('rate_mbps', 0):g}M"]
    return ["-b", f"{load['rate_mbps']:g}M"] if "rate_mbps" in load else []


def stream_argv(load: Load, test: str, end: Endpoint, port: int, index: int) -> list[str]:
    """Return the argument list of one process, to be run inside ``end["netns"]``."""
    argv = ["iperf3", "-c", end["address"], "-p", str(port), "-J"]
    argv += ["-t", str(load["warm_up"] + load["duration"])]
    if end["local"]:
        argv += ["-B", end["local"]]
    argv += ["-i", f"{load['interim'] or 0:g}"]
    if load["bidirectional"]:
        argv.append("--bidir")
    elif test == "TCP_MAERTS":
        argv.append("-R")
    argv += _rate(load, test)
    for flag, pair in zip(("-l", "-w"), PAIRS):
        value = _same(load, pair)
        if value is not None:
            argv += [flag, str(value)]
    if "congestion_control" in load:
        argv += ["-C", load["congestion_control"]]
    argv += [since.option for since in optional(load)]
    return argv + _cpus(load, index)


class Iperf3(Engine):
    """iperf3, of version 3.7 or later; a process a stream, so that each has a CPU also before 3.16."""

    name = "iperf3"
    tests = ("TCP_STREAM", "TCP_MAERTS", "UDP_STREAM")
    offers = ("rate_mbps", "congestion_control", *GSRO, "zero_copy", "skip_rx_copy", "mptcp")
    called = "iperf3"
    server = "iperf3 server"
    program = "iperf3"
    served_by = "iperf3"
    packages = MappingProxyType(
        {
            **dict.fromkeys(("debian", "rhel", "fedora", "alpine", "arch"), "iperf3"),
            "suse": "iperf",
        }
    )
    automatic = True
    asks = ("iperf3", "--version")
    serves_many = False
    # Behind the first thousand data ports of netperf, which a campaign may use as well.
    port_offset = DATA_OFFSET + MOST_STREAMS // 2

    def refuse(self, load: Load) -> None:
        where = load["name"]
        _refuse_switches(load)
        _refuse_half_gsro(load)
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
        return error_in(out) or super().complaint(out, err)

    def rows(self, argv: Sequence[str], raw: str, finished: float = 0.0) -> list[StreamRow]:
        return rows(raw, finished)
