# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why and in which function of the kernel packets were dropped.

Source: include/trace/events/skb.h. The names of the reasons are the kernel's own. Of what this
process counts, drops of a healthy host are left out by a filter in the kernel: some streams of TCP
have thousands in a second. Where tracepoints are not allowed, there are no counts.
"""

from __future__ import annotations

import bisect
import os
import threading
from typing import Counter, Iterable, TypedDict

from .._base.errors import LabError
from . import perf_events, tracefs
from .reading import DROP_REASON
from .tracefs import EventFormat

EVENT = "skb/kfree_skb"  # a packet is freed because something went wrong; consume_skb is the rest
OF_PACKETS = "protocol != 0"  # messages of Unix sockets and of netlink have none
SYMBOLS = "/proc/kallsyms"
MOST_PLACES = 40
MOST_READINGS = 5  # of all symbols, by one process: a reading takes 0.1 s of CPU time
# In the order in which they are frequent: the filter ends at the first that fits.
ORDINARY = (
    "NOT_SPECIFIED",
    "NO_SOCKET",
    "OTHERHOST",
    "UNHANDLED_PROTO",
    "QUEUE_PURGE",
    "SOCKET_CLOSE",
    "SOCKET_FILTER",
    "TCP_OLD_DATA",
    "TCP_OLD_ACK",
    "TCP_OFOMERGE",
    "TCP_RESET",
    "TCP_CLOSE",
    "IPV6DISABLED",
)


def counter_of(reason: str, place: str) -> str:
    """Return the name of a counter of drops."""
    return f"{DROP_REASON} {reason} {place}"


class Drop(TypedDict):
    """Packets that were dropped for one reason in one function."""

    reason: str
    place: str  # empty where the kernel hides its addresses
    count: int


def functions(addresses: Iterable[int], symbols: str = SYMBOLS) -> dict[int, str]:
    """Return the kernel's function at each address; none where the kernel hides addresses."""
    ordered = sorted(set(addresses))
    best = [(0, "")] * len(ordered)
    with open(symbols) as stream:
        for line in stream:
            columns = line.split()
            if len(columns) < 3 or columns[1] not in "tTwW":
                continue
            start = int(columns[0], 16)
            index = bisect.bisect_left(ordered, start)
            if index < len(ordered) and start > best[index][0]:
                best[index] = (start, columns[2])
    for index in range(1, len(best)):
        best[index] = max(best[index - 1], best[index])
    return {address: name for address, (_start, name) in zip(ordered, best) if name}


class DropTally:
    """Counts records of :data:`EVENT`."""

    def __init__(self, layout: EventFormat) -> None:
        self.layout = layout
        self.counts: Counter[tuple[int, int]] = Counter()
        self.places: dict[int, str] = {}
        self.readings = 0

    def add(self, record: bytes) -> None:
        """Count a dropped packet."""
        reason = self.layout.value(record, "reason")
        self.counts[reason, self.layout.value(record, "location")] += 1

    def _find_places(self, symbols: str) -> None:
        """Find the functions of addresses that are new."""
        new = {address for _reason, address in self.counts} - self.places.keys()
        if not new:
            return
        self.readings += 1
        found = functions(new, symbols) if self.readings <= MOST_READINGS else {}
        for address in new:
            self.places[address] = found.get(address, "")

    def drops(self, symbols: str = SYMBOLS) -> list[Drop]:
        """Return the drops, the most frequent first."""
        named = "reason" in self.layout.fields
        self._find_places(symbols)
        merged: Counter[tuple[str, str]] = Counter()
        for (reason, address), count in self.counts.items():
            name = self.layout.name_of("reason", reason) if named else ""
            merged[name, self.places[address]] += count
        return [
            {"reason": reason, "place": place, "count": count}
            for (reason, place), count in merged.most_common(MOST_PLACES)
        ]


def condition(layout: EventFormat) -> str:
    """Return the filter of the drops that may name a fault."""
    numbers = {name: number for number, name in layout.symbols.get("reason", {}).items()}
    ordinary = [f"reason != {numbers[name]}" for name in ORDINARY if name in numbers]
    return " && ".join([*ordinary, OF_PACKETS])


class _Watch:
    """The tracepoint, from now on."""

    def __init__(self) -> None:
        self.process = os.getpid()
        layout = tracefs.parse(tracefs.formats([EVENT]).get(EVENT, ""))
        if "reason" not in layout.fields:  # Linux before 5.17
            raise tracefs.unavailable("drops have no reason")
        self.tally = DropTally(layout)
        self.group = perf_events.Group([perf_events.Event(layout.number, condition(layout), 1)])
        self.group.enable()

    def counters(self) -> dict[str, int]:
        for _index, record in self.group.records():
            self.tally.add(record)
        return {
            counter_of(drop["reason"], drop["place"]): drop["count"] for drop in self.tally.drops()
        }


_lock = threading.Lock()  # each connection of the probe has a thread
_watches: list[_Watch | None] = []  # one a process, from its first reading on


def _watch() -> _Watch | None:
    try:
        return _Watch()
    except (LabError, OSError):
        return None


def read() -> dict[str, int]:
    """Return what was dropped since this process began to read, such as ``drop_reason TCP_CSUM tcp_v4_rcv``."""
    with _lock:
        # A forked process does not have its parent's ring.
        if not _watches or (_watches[0] and _watches[0].process != os.getpid()):
            _watches[:] = [_watch()]
        watch = _watches[0]
        return watch.counters() if watch else {}
