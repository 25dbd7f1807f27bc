# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what an engine is, the program that makes load, and the nouns that it speaks in.

An engine turns a workload and its endpoints into command lines, has a server, and reads what its
processes print. All that is particular to one lies in its folder.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from types import MappingProxyType, ModuleType
from typing import (
    Any,
    ContextManager,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
    TypedDict,
)

from .._base.errors import InputError, ParseError
from .._host import script
from . import door

Load = Mapping[str, Any]  # a workload that :func:`.workload.checked` has checked
Part = Tuple[float, float, float]  # start and end in s since the epoch, rate
CLASSES = 64  # of latencies from one time to its double, where an engine counts them by class
CROWD = 8  # processes; more of them wait before their traffic, and are counted after a warm-up
# S: a connection's first packet is retransmitted after 1 s, and once more after 3 s (RFC 6298)
WARM_UP = 4
# S of a cell. What is known of slow start in cells so short stands in docs/decisions/time-budget.md.
SHORTEST = 0.25

DOOR = 197  # the descriptor of the script of :mod:`.door`


class Confidence(TypedDict):
    """When a test is repeated."""

    level: int  # %
    width_percent: float  # of the mean, the whole interval
    iterations_min: int
    iterations_max: int


class PlannedWorkload(TypedDict):
    """What each workload of a plan has; sizes are bytes, None leaves the system's own."""

    name: str
    test: str  # as netperf names it
    duration: float  # s an iteration
    streams: int
    tenants: int | None
    message_size: int | None
    send_socket: int | None
    recv_socket: int | None
    request_size: int | None
    response_size: int | None
    confidence: Confidence | None
    warm_up: int  # s before the time that counts


class Workload(PlannedWorkload, total=False):
    """A workload in a plan, with what only some campaigns give."""

    engine: str
    receive_size: int
    bidirectional: bool
    cpu: bool  # the engine's own CPU figures
    interim: float  # s
    rate_mbps: float  # of each stream
    congestion_control: str
    udp_segment: bool
    udp_gro: bool
    zero_copy: bool
    skip_rx_copy: bool
    mptcp: bool
    client_cpus: list[int]
    server_cpus: list[int]


class Endpoint(TypedDict):
    """Between what a stream runs: from a namespace and an address of the client to a server."""

    netns: str | None
    local: str | None
    address: str
    port: int  # of netserver; an engine's server listens ``port_offset`` above it
    data_port: int


class Line(NamedTuple):
    """A process of a cell: its command line, and between what it makes load."""

    argv: list[str]
    end: Endpoint


class EngineCpu(TypedDict):
    """What a process of an engine needed, as shares of one CPU."""

    own: float  # for its own code
    kernel: float  # in the kernel, which does what it calls for


class ZeroCopy(TypedDict):
    """Calls that sent without copying (MSG_ZEROCOPY), and what the kernel reported of them."""

    calls: int
    completed: int  # the kernel no longer needs their memory
    copied: int  # of the completed ones: the kernel copied nevertheless


class StreamRow(TypedDict, total=False):
    """What the text of one stream says. A number is None, or not there, where it was not said."""

    test: str
    length: float  # s that the stream was asked to run for
    elapsed_s: float | None
    throughput_mbps: float | None  # what arrived
    throughput_sent_mbps: float | None
    receive_calls_per_s: float  # calls with which the receiver took in what arrived
    zero_copy: ZeroCopy
    transactions_per_s: float | None
    # Rates in Mbit/s or transactions/s over the time of the stream. Rates of UDP_STREAM are what
    # was sent.
    parts: list[Part]
    iterations: float | None
    mss: float | None  # bytes
    retransmits: float | None  # segments, of both ends
    rtt_us: dict[str, float | None] | None  # min, mean, max, as TCP of the sender estimates it
    latency_us: dict[str, float | None]  # min, mean, p50, p90, p99, p999, max, stddev
    latency_classes: dict[int, int]  # how many there were from 2^(class/64) ns on
    unloaded_us: dict[str, float | None]  # as latency_us, of requests before the streams
    engine_cpu: dict[str, EngineCpu | None]  # by end
    local_cpu_percent: float | None
    remote_cpu_percent: float | None
    local_service_demand: float | None  # us/KB of 1024 bytes, or us/transaction
    remote_service_demand: float | None
    confidence_met: bool | None
    confidence_width: dict[str, float]  # % of the mean, the whole interval, by quantity
    message_size: int | None  # bytes, as the other sizes
    send_socket_size: int | None
    recv_socket_size: int | None
    payload: Any  # of a check of the payload alone, see :mod:`.payload.result`


def processes(load: Load) -> int:
    """Return the number of streams of a cell.

    Every tenant sends: fewer streams become as many.
    """
    return max(load["streams"], load["tenants"]) * (2 if load["bidirectional"] else 1)


def require_tenants(load: Load, endpoints: Sequence[Endpoint]) -> None:
    """Raise InputError where there are fewer endpoints than tenants."""
    if len(endpoints) < load["tenants"]:
        raise InputError(
            f"there are {len(endpoints)} endpoints, fewer than the {load['tenants']} tenants asked "
            "for",
            load["name"],
            "Ask for fewer tenants, or make more in the lab.",
        )


def streams_of(load: Load, endpoints: Sequence[Endpoint]) -> list[tuple[str, Endpoint]]:
    """Return [(test, endpoint)], one a stream; streams are dealt to the tenants' endpoints in turn.

    Bidirectional runs as many TCP_MAERTS as TCP_STREAMs together.
    """
    require_tenants(load, endpoints)
    tests = (load["test"], "TCP_MAERTS") if load["bidirectional"] else (load["test"],)
    each = processes(load) // len(tests)
    dealt = [endpoints[index % load["tenants"]] for index in range(each)]
    return list(itertools.product(tests, dealt))


class Engine:
    """What makes load. The first that knows a test is the one that makes it, unless a workload
    names another.
    """

    name = ""
    tests: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()  # keys of a workload that not every engine has
    called = ""  # its process on the client, in messages
    server = ""  # its server, in messages
    program = ""  # what the client runs
    served_by = ""  # what the server runs
    # By family of the operating system the package that brings its programs, "" where none does.
    # Empty: it needs no program but Python.
    packages: Mapping[str, str] = MappingProxyType({})
    automatic = False  # whether offload_lab_engine: auto may choose it
    asks: tuple[str, ...] = ()  # a command that shows whether a node has it
    reads_token = False  # whether its client sends the token of the server without help
    serves_many = True  # whether a server has several clients at the same time
    ends_on_time = True  # whether its traffic ends after the workload's duration
    port_offset = 0  # of its server, above netserver's port
    clock = 1.0  # s: the shortest time that it measures by its own clock

    def programs(self) -> list[str]:
        """Return the programs that a node needs for it, besides Python."""
        return list(dict.fromkeys((self.program, self.served_by))) if self.packages else []

    def refuse(self, load: Load) -> None:
        """Raise InputError for a workload that this engine cannot make."""

    def can_warm_up(self, load: Load) -> bool:
        """Return whether the first seconds of a stream can be told from the others."""
        return bool(load["interim"])

    def usual_warm_up(self, load: Load) -> int:
        """Return the seconds of traffic before the counted time where the workload names none."""
        return WARM_UP if self.can_warm_up(load) and processes(load) > CROWD else 0

    def shortest(self, load: Load) -> float:
        """Return the shortest time that a cell of this workload can measure, in seconds."""
        return self.clock

    def begun(self, out: bytes) -> bool:
        """Return whether what a process has printed so far shows that its traffic runs."""
        return False

    def wait_before_traffic(self, load: Load) -> int:
        """Return the seconds that a process waits between its set-up and its traffic."""
        return 0

    def argv(self, load: Load, test: str, end: Endpoint, index: int) -> list[str]:
        """Return the command line of stream ``index`` of a cell."""
        raise NotImplementedError

    def lines(self, load: Load, endpoints: Sequence[Endpoint]) -> list[Line]:
        """Return the processes of a cell; one a stream, unless an engine can do with fewer."""
        lines = []
        for index, (test, end) in enumerate(streams_of(load, endpoints)):
            lines.append(Line(self.argv(load, test, end, index), end))
        return lines

    def serve(self, address: str, port: int, count: int = 1) -> list[str]:
        """Return the command line of the server, at ``count`` ports from ``port`` on."""
        return [*script.argv(DOOR), address, str(port), str(count), self.served_by]

    def server_inherited(self) -> ContextManager[tuple[int, ...]]:
        """Give the descriptors that its server inherits while the context is open."""
        return script.held(script.text_of(door), DOOR)

    def door_port(self, line: Line) -> int:
        """Return the port at which a process of the client needs to be admitted, 0 for none."""
        return 0

    def ended_early(self, raw: str) -> bool:
        """Return whether a process printed that it could not go on to its end."""
        return False

    def inherited(self) -> ContextManager[tuple[int, ...]]:
        """Give the descriptors that its processes inherit while the context is open."""
        return contextlib.nullcontext(())

    def started(self, argv: Sequence[str]) -> bool:
        """Return whether a command line on the client is one of this engine."""
        return argv[:1] == [self.program]

    def servers_each(self, load: Load) -> int:
        """Return how many servers each address needs, on ports one after the other."""
        return 1

    def complaint(self, out: str, err: str) -> str:
        """Return why a process failed, from what it printed."""
        return err.strip() or out.strip()

    def rows(self, argv: Sequence[str], raw: str, finished: float = 0.0) -> list[StreamRow]:
        """Return what a process printed, a row a stream; raises LabError where it cannot be read.

        ``finished`` is when the process ended, in seconds since the epoch, for an engine that
        prints no clock.
        """
        raise NotImplementedError


class ScriptEngine(Engine):
    """An engine whose client and server are one Python script of ours."""

    program = script.PYTHON
    served_by = script.PYTHON
    reads_token = True
    asks = script.VERSION
    descriptor = 0  # from which both ends read the script
    verb = ""  # of the client, in its command line
    files: tuple[ModuleType, ...] = ()  # that the script is made of

    def text(self) -> str:
        """Return the script."""
        return script.text_of(*self.files)

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of an end."""
        return [*script.argv(self.descriptor), *arguments]

    def serve(self, address: str, port: int, count: int = 1) -> list[str]:
        return self.command("serve", address, str(port))

    def server_inherited(self) -> ContextManager[tuple[int, ...]]:
        return script.held(self.text(), self.descriptor)

    def inherited(self) -> ContextManager[tuple[int, ...]]:
        return script.held(self.text(), self.descriptor)

    def started(self, argv: Sequence[str]) -> bool:
        return script.runs(argv, self.descriptor, self.verb)


def seconds(engine: Engine, load: Load) -> tuple[float, float]:
    """Return (expected, longest) time of one cell in seconds; the longest is when it is given up."""
    confidence = load["confidence"] or {"iterations_min": 1, "iterations_max": 1}
    count = processes(load)
    before = engine.wait_before_traffic(load) + load["warm_up"]
    return (
        confidence["iterations_min"] * load["duration"] + before + 0.3 + 0.01 * count,
        confidence["iterations_max"] * (load["duration"] + 2) + before + 15 + 0.2 * count,
    )


def object_of(value: object, what: str) -> dict[str, Any]:
    """Return a JSON object that an engine printed; raises ParseError for anything else."""
    if not isinstance(value, dict):
        raise ParseError(f"{what} is not there, or not an object", 1)
    return value


def number_of(document: Mapping[str, Any], key: str, most: float = 2.0**63) -> float:
    """Return a number below ``most`` that an engine printed; raises ParseError for anything else."""
    value = document.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ParseError(f"{key} is not a number: {str(value)[:40]!r}", 1)
    if not 0 <= value < most or not math.isfinite(value):
        raise ParseError(f"{key} is out of range: {str(value)[:40]!r}", 1)
    return float(value)


def optional_number(document: Mapping[str, Any], key: str) -> float | None:
    """Return a number that an engine printed, None where it printed none."""
    return number_of(document, key) if key in document else None
