# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that cross the stack while a trial runs: how many, which of them the device is left to cut,
and how many GRO merges.

Each tracepoint has one event. The kernel counts all its packets, and writes one record of
:data:`PERIOD`. So the counts of a device are estimates, from the records with its name. Counting costs
CPU time for each packet: it is done in turns, which are the shorter the more packets there are.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import NamedTuple, Sequence

from .._base import network
from .._base.errors import LabError
from . import perf_events, tracefs, tracepoints
from .reading import AtDevice, Crossed
from .sampler import SampledDevice
from .tracefs import EventFormat
from .tracepoints import INTO_GRO, START_XMIT

RECEIVE = "net/netif_receive_skb"
EVENTS = (START_XMIT, RECEIVE, *INTO_GRO)
PERIOD = 7  # a prime: traffic repeats itself in small numbers of packets
RING_PAGES = 8  # about 300 records of a CPU in each turn
MOST_BYTES = 800_000  # of a trial: some 8,000 records; a share has a standard error of 1 % or less
EACH = 150e-9  # s that an event costs for a packet: docs/decisions/evidence.md
LIMIT = 0.003  # of the time, at each end; both may be one kernel
TURN = 0.25  # s from the beginning of a turn to the beginning of the next one
FIRST = 0.002  # s
MOST_GROWTH = 4
LONGEST = 600.0  # s; a client that has gone does not end it
LEFT_TO_DEVICE = 3  # CHECKSUM_PARTIAL


def _nothing(namespaces: int) -> AtDevice:
    return {
        "sent": 0,
        "sent_bytes": 0,
        "cut": 0,
        "cut_bytes": 0,
        "checksum_left": 0,
        "into_gro": 0,
        "received": 0,
        "received_bytes": 0,
        "namespaces": namespaces,
    }


def add(counts: AtDevice, source: str, layout: EventFormat, record: bytes) -> None:
    """Add the record of a packet."""
    size = layout.value(record, "len")
    if source in INTO_GRO:
        counts["into_gro"] += 1
    elif source == RECEIVE:
        counts["received"] += 1
        counts["received_bytes"] += size
    else:
        counts["sent"] += 1
        counts["sent_bytes"] += size
        counts["checksum_left"] += layout.value(record, "ip_summed") == LEFT_TO_DEVICE
        if layout.value(record, "gso_size"):
            counts["cut"] += 1
            counts["cut_bytes"] += size


def next_turn(spent: float, elapsed: float, rate: float, last: float) -> float:
    """Return how long the next turn lasts, in s; 0: none.

    ``spent`` s of CPU time were used in ``elapsed`` s, ``rate`` for each second of counting. Traffic may
    begin at any time: a turn is at most four times the last one.
    """
    allowance = LIMIT * elapsed - spent
    if allowance <= 0:
        return 0.0
    return min(TURN, MOST_GROWTH * max(last, FIRST), allowance / rate if rate else TURN)


class Crossing:
    """Counts at some devices of this host between :meth:`begin` and :meth:`end`.

    Raise LabError where the kernel or a container allows no tracepoints.
    """

    def __init__(self, devices: Sequence[SampledDevice]) -> None:
        self.process = os.getpid()
        texts = tracefs.formats(EVENTS)
        self.layouts = {name: tracefs.parse(text) for name, text in texts.items()}
        if START_XMIT not in self.layouts or RECEIVE not in self.layouts:
            raise tracefs.unavailable("this kernel has no tracepoints of packets")
        self.sources = list(self.layouts)
        names = {device["name"] for device in devices}
        self.namespaces = tracepoints.namesakes(names)
        self.names = {network.key_of(device): device["name"] for device in devices}
        events = [perf_events.Event(self.layouts[name].number, "", PERIOD) for name in self.sources]
        self.group = perf_events.Group(events, RING_PAGES)
        self.stopping = threading.Event()
        self.thread: threading.Thread | None = None

    def begin(self) -> None:
        """Count in turns from now on."""
        self.written: list[tuple[int, bytes]] = []
        self.bytes = 0
        self.cpu_seconds = 0.0
        self.before = self.group.state()
        self.stopping.clear()
        self.thread = threading.Thread(target=self._count, daemon=True)
        self.thread.start()

    def _so_far(self) -> perf_events.State:
        """Return what was counted since it began."""
        now = self.group.state()
        events = [count - before for count, before in zip(now.counts, self.before.counts)]
        return perf_events.State(now.seconds - self.before.seconds, events)

    def _count(self) -> None:
        begun = time.monotonic()
        length = FIRST
        while not self.stopping.is_set() and time.monotonic() - begun < LONGEST:
            turn = time.monotonic()
            if length:
                self.group.enable()
                self.stopping.wait(length)
                self.group.disable()
                self._take()
            so_far = self._so_far()
            self.cpu_seconds = time.thread_time()
            spent = sum(so_far.counts) * EACH + self.cpu_seconds
            rate = spent / so_far.seconds if so_far.seconds else 0.0
            length = next_turn(spent, time.monotonic() - begun, rate, length)
            self.stopping.wait(max(0.0, turn + TURN - time.monotonic()))

    def _take(self) -> None:
        """Keep what the kernel has written; it is read after the trial."""
        for index, written in self.group.take():
            if self.bytes < MOST_BYTES:
                self.written.append((index, written))
                self.bytes += len(written)

    def end(self) -> Crossed:
        """Count no more, and return what was counted."""
        self.stop()
        so_far = self._so_far()
        return {
            "seconds": round(so_far.seconds, 4),
            "cost_s": round(sum(so_far.counts) * EACH + self.cpu_seconds, 6),
            "devices": self._devices(so_far.counts),
        }

    def stop(self) -> None:
        """Count no more."""
        self.stopping.set()
        if self.thread:
            self.thread.join()
            self.thread = None

    def _devices(self, events: Sequence[int]) -> dict[str, AtDevice]:
        """Return about how many packets there were at each device."""
        records: list[list[bytes]] = [[] for _source in self.sources]
        for index, written in self.written:
            records[index] += perf_events.parsed(written)
        by_name = {name: _nothing(self.namespaces[name]) for name in self.names.values()}
        for source, kept, count in zip(self.sources, records, events):
            layout = self.layouts[source]
            of_source = {name: _nothing(0) for name in by_name}
            for record in kept:
                counts = of_source.get(layout.text(record, "name"))
                if counts:
                    add(counts, source, layout, record)
            for name, counts in of_source.items():
                _add_scaled(by_name[name], counts, count / max(1, len(kept)))
        return {key: by_name[name] for key, name in self.names.items()}

    def close(self) -> None:
        """Count no more, and give the kernel its events back."""
        self.stop()
        self.group.close()


def _add_scaled(total: AtDevice, counts: AtDevice, scale: float) -> None:
    total["sent"] += round(counts["sent"] * scale)
    total["sent_bytes"] += round(counts["sent_bytes"] * scale)
    total["cut"] += round(counts["cut"] * scale)
    total["cut_bytes"] += round(counts["cut_bytes"] * scale)
    total["checksum_left"] += round(counts["checksum_left"] * scale)
    total["into_gro"] += round(counts["into_gro"] * scale)
    total["received"] += round(counts["received"] * scale)
    total["received_bytes"] += round(counts["received_bytes"] * scale)


class _Current(NamedTuple):
    """A trial that is counted now."""

    trial: str
    crossing: Crossing


_lock = threading.Lock()  # each connection of the probe has a thread
_ready: dict[str, Crossing] = {}  # one a process; opening it takes some ms
_current: list[_Current] = []


def prepare(devices: Sequence[SampledDevice]) -> None:
    """Open the events, so that :func:`begin` takes no time."""
    key = str(sorted(map(network.key_of, devices)))
    with _lock, contextlib.suppress(LabError, OSError):
        # A forked process has its parent's events, but not their rings.
        if key in _ready and _ready[key].process == os.getpid():
            return
        for crossing in _ready.values():
            crossing.close()
        _ready.clear()
        _current.clear()
        _ready[key] = Crossing(devices)


def begin(trial: str) -> None:
    """Count for a trial from now on; trials at the same time are not counted twice, the last has it."""
    with _lock:
        for crossing in _ready.values():
            crossing.stop()
            crossing.begin()
            _current[:] = [_Current(trial, crossing)]


def end(trial: str) -> Crossed | None:
    """Return what crossed the stack in a trial; None where tracepoints are not allowed."""
    with _lock:
        if not _current or _current[0].trial != trial:
            return None
        return _current.pop().crossing.end()
