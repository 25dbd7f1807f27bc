# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count a host's own traffic for some seconds. It sends nothing and changes nothing.

Counting costs CPU time for each packet. At first the packets of a moment are counted for nothing, by
/proc/net/dev; then it counts in short turns, so that its cost stays below a limit.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Dict, NamedTuple, Sequence, TypedDict

from .._base import network
from .._base.errors import LabError
from .._host import netns
from . import errors_seen, sampler, tracepoints
from .tracepoints import START_XMIT, Traced, TracedDevice, Tracing

PREVIEW = 0.5  # s
TURN = 0.5  # s from the beginning of a turn to the beginning of the next one
SHORTEST = 0.005  # s of counting in a turn
MOST_DEVICES = 4  # without a choice: the busiest
EACH = 60e-9  # s that a counter costs for a packet, measured on Linux 6.18
COLUMNS = {"bytes_in": 0, "packets_in": 1, "bytes_out": 8, "packets_out": 9}
TABLE = "/proc/thread-self/net/dev"

Tables = Dict[str, Dict[str, int]]  # by key of a device: {"packets_in": …}


class Cost(TypedDict):
    """What counting cost."""

    cpu_seconds: float  # of this process
    packet_seconds: float  # about, in the kernel, for all packets that were counted
    counted_seconds: float
    counters: int
    cpus: int


class Traffic(TypedDict):
    """What was seen of a host's traffic."""

    seconds: float
    devices: Tables  # bytes and packets each way, MTU, namespaces with its name
    traced: Traced | None
    errors: dict[str, int]  # the protocols' counters that rose, by how much
    cost: Cost
    note: str  # why tracepoints could not be counted


class CountedAt(NamedTuple):
    """A device to count at, as the user names it."""

    name: str
    netns: str | None = None


def moved(text: str) -> Tables:
    """Return the bytes and packets each way of the devices of a table /proc/net/dev."""
    by_device = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) > max(COLUMNS.values()) and all(map(str.isdigit, fields)):
            by_device[name.strip()] = {key: int(fields[at]) for key, at in COLUMNS.items()}
    return by_device


def _tables(spaces: Sequence[str | None]) -> Tables:
    """Return the counters of all devices of some namespaces, by the devices' keys."""
    tables = {}
    for space in spaces:
        with netns.inside(space), open(TABLE) as stream:
            for name, counts in moved(stream.read()).items():
                tables[network.device_key(name, space)] = counts
    return tables


def increase(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return by how much counters rose."""
    return {key: value - before.get(key, 0) for key, value in after.items()}


def _packets(counts: dict[str, int]) -> int:
    return counts["packets_in"] + counts["packets_out"]


def busiest(rates: Tables) -> list[CountedAt]:
    """Return the devices with the most packets; the loopback device is none of them."""
    names = [key for key in rates if network.is_device_name(key) and key != "lo"]
    active = [name for name in names if _packets(rates[name])]
    active.sort(key=lambda name: -_packets(rates[name]))
    return [CountedAt(name) for name in active[:MOST_DEVICES]]


def share_of_time(packets_per_second: float, counters: int, cpus: int, limit: float) -> float:
    """Return the share of the time in which it counts, so that this costs at most ``limit`` of the
    host's CPU time.
    """
    load = packets_per_second * counters * EACH / cpus
    return min(1.0, limit / load) if load else 1.0


def _watched(choice: CountedAt) -> TracedDevice:
    with sampler.open_socket(socket.AF_INET, socket.SOCK_DGRAM, netns=choice.netns) as sock:
        return TracedDevice(choice.name, choice.netns, sampler.mtu(sock, {"name": choice.name}))


def _count(tracing: Tracing, seconds: float, share: float) -> float:
    """Count in turns; return for how many seconds it counted."""
    counted = 0.0
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        turn = min(TURN, left)
        begun = time.monotonic()
        tracing.begin()
        time.sleep(min(turn, max(SHORTEST, turn * share)))
        tracing.end()
        counted += time.monotonic() - begun
        time.sleep(max(0.0, begun + turn - time.monotonic()))
    return counted


def _met(tracing: Tracing) -> int:
    """Return how many counters a packet meets on its way out, where most of them are."""
    return max(1, sum(part.source == START_XMIT for part in tracing.parts))


class _Turns(NamedTuple):
    """What tracepoints counted in all turns."""

    traced: Traced | None
    note: str
    seconds: float = 0.0
    counters: int = 0
    met: int = 0  # by each packet


def _trace(devices: Sequence[TracedDevice], rate: float, seconds: float, limit: float) -> _Turns:
    """Count with tracepoints at a ``rate`` of packets per second, or say why that is not possible."""
    try:
        tracing = Tracing(devices)
    except LabError as error:
        time.sleep(seconds)
        return _Turns(None, str(error))
    try:
        met = _met(tracing)
        share = share_of_time(rate, met, os.cpu_count() or 1, limit)
        counted = _count(tracing, seconds, share)
        return _Turns(tracing.counted(), "", counted, len(tracing.parts), met)
    finally:
        tracing.close()


def watch(choices: Sequence[CountedAt], seconds: float, limit: float) -> Traffic:
    """Count for ``seconds``; ``limit`` is the share of the host's CPU time that it may cost."""
    used = time.process_time()
    spaces = list(dict.fromkeys([None, *(choice.netns for choice in choices)]))
    preview = min(PREVIEW, seconds / 4)
    first = _tables(spaces)
    time.sleep(preview)
    begun = _tables(spaces)
    rates = _increases(first, begun)
    devices = [_watched(choice) for choice in choices or busiest(rates)]
    errors = errors_seen.read()
    rate = sum(map(_packets, rates.values())) / preview
    turns = _trace(devices, rate, seconds - preview, limit)
    moved_in_all = _increases(begun, _tables(spaces))
    packets = sum(map(_packets, moved_in_all.values()))
    rose = increase(errors, errors_seen.read())
    return {
        "seconds": round(seconds - preview, 3),
        "devices": _rows(devices, moved_in_all),
        "traced": turns.traced,
        "errors": {name: count for name, count in rose.items() if count > 0},
        "cost": {
            "cpu_seconds": round(time.process_time() - used, 3),
            "packet_seconds": packets * turns.seconds / (seconds - preview) * turns.met * EACH,
            "counted_seconds": round(turns.seconds, 3),
            "counters": turns.counters,
            "cpus": os.cpu_count() or 1,
        },
        "note": turns.note,
    }


def _increases(before: Tables, after: Tables) -> Tables:
    return {key: increase(before.get(key, {}), counts) for key, counts in after.items()}


def _rows(devices: Sequence[TracedDevice], moved_in_all: Tables) -> Tables:
    """Return what moved at each device, its MTU, and how many namespaces have its name."""
    names = tracepoints.namesakes(device.name for device in devices)
    rows = {}
    for device in devices:
        key = network.device_key(device.name, device.netns)
        more = {"mtu": device.mtu, "same_name": names[device.name]}
        rows[key] = {**moved_in_all.get(key, {}), **more}
    return rows
