# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets that the kernel has dropped since this process began to watch, by reason and function.

Drops of a healthy host are left out by a filter in the kernel: some streams of TCP have thousands
in a second. Where tracepoints are not allowed, there are no counts.
"""

from __future__ import annotations

import os
import threading

from .._base.errors import LabError
from . import event_format, perf_events, tracefs
from .drop_places import EVENT, OF_PACKETS, DropTally, counter_of
from .event_format import EventFormat

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


def condition(layout: EventFormat) -> str:
    """Return the filter of the drops that may name a fault."""
    numbers = {name: number for number, name in layout.symbols.get("reason", {}).items()}
    ordinary = [f"reason != {numbers[name]}" for name in ORDINARY if name in numbers]
    return " && ".join([*ordinary, OF_PACKETS])


class _Watch:
    """The tracepoint, from now on."""

    def __init__(self) -> None:
        self.process = os.getpid()
        layout = event_format.parse(tracefs.formats([EVENT]).get(EVENT, ""))
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
    """Return the counters, such as ``drop_reason TCP_CSUM tcp_v4_rcv``."""
    with _lock:
        # A forked process does not have its parent's ring.
        if not _watches or (_watches[0] and _watches[0].process != os.getpid()):
            _watches[:] = [_watch()]
        watch = _watches[0]
        return watch.counters() if watch else {}
