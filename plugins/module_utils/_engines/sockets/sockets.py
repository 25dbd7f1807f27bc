# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine sockets, and what its process prints, one line of JSON, as rows of streams. Pure.

Amounts are bytes or transactions, times seconds, latencies microseconds.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Sequence

from ..._base.errors import InputError, ParseError
from .. import wire
from ..engine import (
    SHORTEST,
    Endpoint,
    EngineCpu,
    Line,
    Load,
    Part,
    ScriptEngine,
    StreamRow,
    ZeroCopy,
    number_of,
    object_of,
)
from ..wire import LARGEST_DATAGRAM
from . import traffic, zerocopy
from .traffic import DATAGRAM, LARGEST, MESSAGES

Document = Dict[str, Any]
LONGEST = 1e9  # s; a longer time is not one
MOST_CLASS = 64 * 64  # of latencies: 2^64 ns
LATENCIES = ("min", "mean", "p50", "p90", "p99", "p999", "max", "stddev")
BITS = 8 / 1e6  # Mbit of a byte
EARLIER_STREAMS = "beside"  # the key of the streams in an earlier version


def _whole(document: Document, key: str) -> int | None:
    return int(number_of(document, key)) if key in document else None


def _parts(value: object, factor: float) -> list[Part]:
    """Return the rates of the intervals."""
    if not isinstance(value, list):
        raise ParseError("parts is not there, or not a list", 1)
    parts = []
    for triple in value:
        if not isinstance(triple, list) or len(triple) != 3:
            raise ParseError(f"not an interval: {str(triple)[:40]!r}", 1)
        interval = dict(zip(("start", "end", "amount"), triple))
        start = number_of(interval, "start")
        end = number_of(interval, "end")
        if end > start:
            parts.append((start, end, number_of(interval, "amount") * factor / (end - start)))
    return parts


def _latency(document: Document, key: str) -> dict[str, float | None] | None:
    """Return latencies, None where there were no requests."""
    if document.get(key) is None:
        return None
    latencies = object_of(document[key], key)
    return {name: number_of(latencies, name) for name in LATENCIES}


def _classes(document: Document) -> dict[int, int]:
    """Return how many latencies were in each class: class ``n`` begins at 2^(n/64) ns."""
    classes = object_of(document.get("latency") or {}, "latency").get("classes", {})
    counts = {}
    for name in object_of(classes, "classes"):
        if not (name.isascii() and name.isdigit() and len(name) < 6 and int(name) < MOST_CLASS):
            raise ParseError(f"not a class of latencies: {name[:40]!r}", 1)
        counts[int(name)] = int(number_of(classes, name))
    return counts


def _cpu(seconds: Document) -> EngineCpu | None:
    """Return what an end's process needed of a CPU, as shares of the time."""
    wall = number_of(seconds, "wall")
    if not wall:
        return None
    return {"own": number_of(seconds, "user") / wall, "kernel": number_of(seconds, "system") / wall}


def _zero_copy(document: Document) -> ZeroCopy:
    """Return the counts of an end that sent without copying."""
    counts = object_of(document["zero_copy"], "zero_copy")
    return {
        "calls": int(number_of(counts, "calls")),
        "completed": int(number_of(counts, "completed")),
        "copied": int(number_of(counts, "copied")),
    }


def _stream(document: Document, elapsed: float) -> StreamRow:
    sender = document["client"]
    receiver = document["server"]
    if document["test"] == "TCP_MAERTS":
        sender, receiver = receiver, sender
    row: StreamRow = {
        "throughput_mbps": number_of(receiver, "bytes") * BITS / elapsed,
        "throughput_sent_mbps": number_of(sender, "bytes") * BITS / elapsed,
        "receive_calls_per_s": number_of(receiver, "calls") / elapsed,
        "transactions_per_s": None,
        "parts": _parts(document.get("parts"), BITS),
        "mss": _whole(document, "mss"),
        "retransmits": _whole(document, "retransmits"),
        "message_size": _whole(document, "message_size"),
        "send_socket_size": _whole(document, "send_socket"),
        "recv_socket_size": _whole(document, "recv_socket"),
    }
    if "zero_copy" in sender:
        row["zero_copy"] = _zero_copy(sender)
    return row


def _requests(document: Document, elapsed: float) -> StreamRow:
    row: StreamRow = {
        "throughput_mbps": None,
        "transactions_per_s": number_of(document, "transactions") / elapsed,
        "parts": _parts(document.get("parts"), 1.0),
        "latency_us": _latency(document, "latency") or {},
        "latency_classes": _classes(document),
    }
    unloaded = _latency(document, "unloaded")
    if unloaded:
        row["unloaded_us"] = unloaded
    return row


def _row(document: Document) -> StreamRow:
    elapsed = number_of(document, "elapsed", LONGEST)
    if not elapsed:
        raise ParseError("elapsed is nothing", 1)
    client = object_of(document.get("client"), "client")
    server = object_of(document.get("server"), "server")
    if not isinstance(document.get("test"), str):
        raise ParseError(f"test is not a name: {str(document.get('test'))[:40]!r}", 1)
    row: Any = (
        _requests(document, elapsed) if "transactions" in document else _stream(document, elapsed)
    )
    row.update(
        test=document["test"],
        length=number_of(document, "length", LONGEST),
        elapsed_s=elapsed,
        engine_cpu={"client": _cpu(client), "server": _cpu(server)},
    )
    return row


def rows(text: str) -> list[StreamRow]:
    """Return a row, and one more for each stream of loaded requests; raises ParseError for any other
    text.
    """
    try:
        document = object_of(json.loads(text), "the result")
    except (ValueError, RecursionError):
        raise ParseError(f"not the result of engine sockets: {text[:60]!r}", 1) from None
    # A trial of an earlier version may still be in a spool.
    streams = document.get("streams", document.get(EARLIER_STREAMS, []))
    if not isinstance(streams, list):
        raise ParseError("streams is not a list", 1)
    requests = _row(document)
    streams = [_row(object_of(part, "a stream")) for part in streams]
    for stream in streams:
        _cut(stream, requests["parts"])
    return [requests, *streams]


def _cut(stream: StreamRow, counted: list[Part]) -> None:
    """Keep the part of a stream's time in which requests were counted."""
    if not counted:
        return
    began = counted[0][0]
    ended = counted[-1][1]
    parts = [(max(start, began), min(end, ended), rate) for start, end, rate in stream["parts"]]
    stream["parts"] = [part for part in parts if part[1] > part[0]]
    stream["length"] = ended - began


ZERO_COPY_TESTS = ("TCP_STREAM", "TCP_MAERTS", "UDP_STREAM")
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
    "zero_copy",
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
    offers = ("rate_mbps", "congestion_control", "udp_segment", "udp_gro", "zero_copy")
    called = "the load by sockets"
    server = "the server of loads by sockets"
    descriptor = 198
    verb = "measure"
    files = (wire, zerocopy, traffic)
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
                    "Give a smaller size.",
                )
        if load.get("zero_copy") and load["test"] not in ZERO_COPY_TESTS:
            raise InputError(
                f"engine sockets has zero_copy for {', '.join(ZERO_COPY_TESTS)} only",
                where,
                "Leave zero_copy out.",
            )
        size = load.get("message_size", DATAGRAM)
        if load["test"] == "UDP_STREAM" and not 0 < size <= LARGEST_DATAGRAM:
            raise InputError(
                f"a datagram needs a byte at least, and has at most {LARGEST_DATAGRAM}",
                f"{where}: message_size {size}",
                "Correct message_size.",
            )

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
        return rows(raw)
