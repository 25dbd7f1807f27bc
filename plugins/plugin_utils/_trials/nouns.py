# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns of a trial as trials.jsonl has them; docs/data-format.md describes each key.

Times are seconds since the epoch. What an import's log does not say is null, whatever the type
here; so is the place of a trial that was measured outside of a plan.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from ...module_utils._engines.engine import Endpoint, EngineCpu, Workload, ZeroCopy
from ...module_utils._engines.payload.result import Payload
from ...module_utils._observe.reading import CounterReading, Crossed, Sample

NOTHING: Any = {}  # stands for a part that a trial has not


class Stream(TypedDict):
    """One netperf process of a trial."""

    netns: str | None
    argv: list[str]
    rc: int  # negative for a signal
    raw: str
    stderr: str
    started: float
    finished: float


class Mark(TypedDict):
    """What makes a trial doubtful."""

    guard: str
    reason: str
    excludes: bool  # it is left out of the analysis


def mark(guard: str, reason: str, excludes: bool = True) -> Mark:
    """Return one mark."""
    return {"guard": guard, "reason": reason, "excludes": excludes}


class Expected(TypedDict, total=False):
    """What the lab should give; a guard that lacks its part says nothing."""

    mss: int  # bytes
    speed_mbps: float | None  # of the line
    vnis: list[int]  # on the underlay
    steal_limit: float | None  # % of the CPU time


class Evidence(TypedDict):
    """What packets and read-back of a visit say of one path."""

    settings: dict[
        str, dict[str, dict[str, dict[str, Any]]]
    ]  # {end: {device: {not_honoured, ...: {name: value}}}}
    packets: NotRequired[dict[str, dict[str, Sample]]]  # {end: {device: what its packets show}}
    underlay: NotRequired[dict[str, dict[str, Any]]]  # {end: {"vnis", "outer_csum"}}
    error: NotRequired[str]  # why no packets were seen
    # {end: {"node", "cpu"}}: of a tenant that is a host, what its node's CPUs had done when the
    # visit began
    nodes: NotRequired[dict[str, dict[str, Any]]]


class EndCpu(TypedDict):
    """The CPU time of one end; in the file the numbers of CPUs are texts."""

    window_s: float
    cpus: dict[int, dict[str, float]]  # {CPU: {kind: s}}
    busy_s: float  # of all CPUs
    busy_percent: dict[int, float]  # {CPU: of the time that the hypervisor left it}
    percent: dict[str, float]  # {kind: of the whole host}
    softirqs: dict[str, dict[int, int]]  # {softirq of the network: {CPU: count}}
    throttled: NotRequired[int]  # times
    service_demand_us_per_kb: NotRequired[float | None]  # CPU time, KB of 1024 bytes
    service_demand_us_per_transaction: NotRequired[float | None]


class Cpu(TypedDict):
    """The CPU time of a trial."""

    combined: bool  # both ends, and a forwarder, are one kernel
    ends: dict[str, EndCpu]  # "client", "server" and "forwarder", or "combined"
    traffic_share: (
        float | None
    )  # of the window in which all streams sent, None where it is not known
    features_changed: dict[str, list[str]]  # {end: devices whose features changed meanwhile}
    programs_changed: NotRequired[dict[str, list[str]]]  # the same of their BPF programs
    clock_error_s: float | None
    clock_offset_s: float | None


class Result(TypedDict, total=False):
    """What a trial gave; None is what was not measured, or makes no sense for its test."""

    throughput_mbps: float | None  # what arrived, all streams together, as the rates that follow
    throughput_sent_mbps: float | None
    forward_mbps: float | None  # of a bidirectional trial, client to server
    reverse_mbps: float | None
    transactions_per_s: float | None
    stream_mbps: list[float | None] | None  # of each of several streams
    overlap: float | None  # the time in which all streams ran, as a share of the longest one's
    window_start: float  # of that time
    window_s: float
    window_measured: bool  # by interim results
    warm_up_s: float  # before that time
    elapsed_s: float | None  # netperf's own time, the longest
    local_cpu_percent: float | None  # of the whole host, as netperf saw it
    remote_cpu_percent: float | None
    local_service_demand: float | None  # us/KB of 1024 bytes, or us/transaction: netperf's
    remote_service_demand: float | None
    confidence_met: bool | None
    confidence_width: dict[str, float] | None  # % of the mean, the whole interval, by quantity
    iterations: float | None
    mss: float | None  # bytes, the smallest
    retransmits: float | None  # segments, of both ends
    rtt_us: dict[str, float | None] | None  # min, mean, max of one stream, as its TCP estimates it
    latency_us: (
        dict[str, float | None] | None
    )  # min, mean, p50, p90, p99, p999, max, stddev of a transaction
    unloaded_us: dict[str, float | None]  # the same of requests before the streams
    receive_calls_per_s: float  # of all streams, with which the receivers took in what arrived
    zero_copy: ZeroCopy  # of all streams, where each of them sent without copying
    engine_cpu: dict[str, EngineCpu | None]  # by end, of the busiest process
    payload: Payload  # of a check of the payload alone
    message_size: int | None  # bytes, as the other sizes
    send_socket_size: int | None
    recv_socket_size: int | None


class CellToMeasure(TypedDict):
    """A cell with its endpoints, and its place where it is of a plan."""

    id: str
    workload: Workload
    endpoints: list[Endpoint]
    seconds: NotRequired[float]  # that it takes, about
    pair: NotRequired[str]
    path: NotRequired[str]
    mtu: NotRequired[int]
    profile: NotRequired[str]
    block: NotRequired[int]
    visit: NotRequired[int]
    cell: NotRequired[int]
    repeat: NotRequired[bool]
    part: NotRequired[str]
    again: NotRequired[str]
    trial: NotRequired[int]


class Watched(TypedDict, total=False):
    """What the probes saw of the ends of a trial: of each its first and its last snapshot."""

    client: list[CounterReading]
    server: list[CounterReading]
    forwarder: list[CounterReading]
    clock_error_s: float
    clock_offset_s: float


class Damage(TypedDict, total=False):
    """What the kernel of an end counted of errors and drops during a trial, and wrote of them."""

    counters: dict[str, int]  # a device's with its name before it
    alarms: list[str]


class Measured(TypedDict):
    """What the client sent of a cell."""

    id: str
    pair: NotRequired[str]
    started: float
    finished: float
    streams: list[Stream]
    error: str | None
    watched: NotRequired[Watched]
    clock_jump_s: NotRequired[float]
    server_answers: NotRequired[bool]
    path_stopped: NotRequired[str]  # why the switch has restored a node: the trial's path is silent
    interrupted: NotRequired[str]  # the same, of another path
    warm_up_s: NotRequired[float]


class Trial(TypedDict):
    """One measurement as trials.jsonl has it."""

    schema: int
    id: str
    campaign: str
    client: str
    server: str
    forwarder: NotRequired[str]  # the host between them, where there is one
    pair: str
    block: int
    visit: int
    cell: int
    path: str
    mtu: int  # bytes, of the underlay
    profile: str
    repeat: bool  # of the control's second visit
    workload: Workload
    started: float
    finished: float
    streams: list[Stream]
    result: Result  # empty where there is an error
    cpu: Cpu | None  # None where no probe answered
    evidence: Evidence | None
    marks: list[Mark]
    error: str | None
    part: NotRequired[str]  # as of its visit
    again: NotRequired[str]  # the id of the trial that it measures again
    trial: NotRequired[int]  # which one of its cell
    clock_jump_s: NotRequired[float]
    server_answers: NotRequired[bool]  # False where its server answered nobody at its end
    path_stopped: NotRequired[str]  # why the switch has restored a node: the trial's path is silent
    interrupted: NotRequired[str]  # the same, of another path
    damage: NotRequired[dict[str, Damage]]  # by end, where there is any
    crossed: NotRequired[dict[str, Crossed]]  # by end, where tracepoints are allowed
