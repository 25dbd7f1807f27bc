# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count tracepoints with perf_event_open(2): one group of events for each CPU, read together.

A count needs no buffer. An event with a period also writes records into a ring of the kernel, which
loses records when it is full; its count stays exact.

Constants: linux/perf_event.h, and the table of system calls of each architecture.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import struct
import weakref
from typing import Iterator, NamedTuple, Sequence

from .._base.errors import LabError
from .tracefs import unavailable

CALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "s390x": 331}  # perf_event_open
TRACEPOINT = 2
ATTRIBUTES = struct.Struct("=IIQQQQQIIQQ")  # the 72 bytes that every kernel since 2.6.33 takes
SAMPLE_RAW = 1 << 10
TIME_ENABLED, READ_GROUP = 1 << 0, 1 << 3
DISABLED = 1
CLOEXEC = 1 << 3
ENABLE, DISABLE, SET_FILTER = 0x2400, 0x2401, 0x40082406
IN_GROUP = 1  # the argument of ENABLE and DISABLE: the whole group
RING_PAGES = 32  # 128 KiB: about 1,500 records of a CPU between two readings
HEAD, TAIL = 1024, 1032  # bytes in the ring's first page
RECORD = struct.Struct("=IHH")
SAMPLE = 9
ONLINE = "/sys/devices/system/cpu/online"


class Event(NamedTuple):
    """A tracepoint to count."""

    number: int
    condition: str  # a filter in the kernel's syntax; empty: all
    period: int = 0  # keep one record of this number; 0: none


class State(NamedTuple):
    """What a group has counted."""

    seconds: float  # in which it was enabled, on average over all CPUs
    counts: list[int]


def online_cpus(text: str) -> list[int]:
    """Return the CPUs of a list such as ``0-3,8``."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        first, _dash, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def _open(event: Event, cpu: int, leader: int) -> int:
    """Return the descriptor of an event on a CPU; the first one leads the others of this CPU."""
    call = CALLS.get(os.uname().machine)
    if call is None or struct.calcsize("P") != 8:
        raise unavailable(f"unknown system call on {os.uname().machine}")
    attributes = ATTRIBUTES.pack(
        TRACEPOINT,
        ATTRIBUTES.size,
        event.number,
        event.period,
        SAMPLE_RAW if event.period else 0,
        TIME_ENABLED | READ_GROUP,
        DISABLED if leader < 0 else 0,
        *(0, 0, 0, 0),
    )
    library = ctypes.CDLL(None, use_errno=True)
    file = library.syscall(
        *(ctypes.c_long(call), ctypes.create_string_buffer(attributes), ctypes.c_long(-1)),
        *(ctypes.c_long(cpu), ctypes.c_long(leader), ctypes.c_ulong(CLOEXEC)),
    )
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if event.condition:
        fcntl.ioctl(file, SET_FILTER, event.condition.encode() + b"\0")
    return file


class _Ring:
    """The records of an event on one CPU."""

    def __init__(self, file: int, pages: int) -> None:
        self.memory = mmap.mmap(file, (1 + pages) * mmap.PAGESIZE)
        _rings.add(self)
        self.size = pages * mmap.PAGESIZE

    def _bytes(self, start: int, count: int) -> bytes:
        start %= self.size
        first = min(count, self.size - start)
        base = mmap.PAGESIZE
        rest = self.memory[base : base + count - first]
        return self.memory[base + start : base + start + first] + rest

    def take(self) -> bytes:
        """Return what the kernel has written since the last call, and free its room."""
        (head,) = struct.unpack_from("Q", self.memory, HEAD)
        (tail,) = struct.unpack_from("Q", self.memory, TAIL)
        written = self._bytes(tail, head - tail)
        struct.pack_into("Q", self.memory, TAIL, head)
        return written


# The kernel does not copy a ring into a forked process. A new ring may get its address there, and the end of the
# parent's object would unmap the new ring. So a forked process begins without its parent's rings.
_rings: weakref.WeakSet[_Ring] = weakref.WeakSet()


def _close_rings() -> None:
    for ring in list(_rings):
        with contextlib.suppress(BufferError):  # a thread of the parent was reading it
            ring.memory.close()


os.register_at_fork(after_in_child=_close_rings)


def parsed(written: bytes) -> Iterator[bytes]:
    """Yield the raw records in what :meth:`Group.take` returns."""
    offset = 0
    while offset < len(written):
        kind, _misc, size = RECORD.unpack_from(written, offset)
        if kind == SAMPLE:
            yield written[offset + RECORD.size + 4 : offset + size]
        offset += max(size, RECORD.size)


class Group:
    """The events on all CPUs; closed at the end of a ``with`` block."""

    def __init__(self, events: Sequence[Event], ring_pages: int = RING_PAGES) -> None:
        self.ring_pages = ring_pages
        self.files: list[list[int]] = []  # by CPU, the leader first
        self.rings: list[tuple[int, _Ring]] = []  # with the index of their event
        self.number = len(events)
        with open(ONLINE) as stream:
            cpus = online_cpus(stream.read())
        _allow_files(len(cpus) * (self.number + 1))
        try:
            for cpu in cpus:
                self._open_on(cpu, events)
        except OSError as error:
            self.close()
            raise unavailable(f"perf_event_open: {error.strerror}")
        except LabError:
            self.close()
            raise

    def _open_on(self, cpu: int, events: Sequence[Event]) -> None:
        files: list[int] = []
        self.files.append(files)
        for index, event in enumerate(events):
            files.append(_open(event, cpu, files[0] if files else -1))
            if event.period:
                self.rings.append((index, _Ring(files[-1], self.ring_pages)))

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def enable(self) -> None:
        """Begin to count, or go on."""
        for files in self.files:
            fcntl.ioctl(files[0], ENABLE, IN_GROUP)

    def disable(self) -> None:
        """Stop counting; the counts stay."""
        for files in self.files:
            fcntl.ioctl(files[0], DISABLE, IN_GROUP)

    def state(self) -> State:
        """Return the count of each event, summed over all CPUs, and for how long they have counted."""
        size = 8 * (2 + self.number)
        of_cpus = [struct.unpack(f"{2 + self.number}Q", os.read(f[0], size)) for f in self.files]
        _events, nanoseconds, *counts = map(sum, zip(*of_cpus))
        return State(nanoseconds / len(self.files) / 1e9, counts)

    def read(self) -> list[int]:
        """Return the count of each event, summed over all CPUs."""
        return self.state().counts

    def take(self) -> Iterator[tuple[int, bytes]]:
        """Yield what the kernel has written since the last call, with the index of its event."""
        for index, ring in self.rings:
            written = ring.take()
            if written:
                yield index, written

    def records(self) -> Iterator[tuple[int, bytes]]:
        """Yield the records since the last call, each with the index of its event."""
        for index, written in self.take():
            for record in parsed(written):
                yield index, record

    def close(self) -> None:
        """Close all events; the kernel then frees them."""
        for _index, ring in self.rings:
            ring.memory.close()
        for files in self.files:
            for file in reversed(files):
                os.close(file)
        self.files, self.rings = [], []


def _allow_files(more: int) -> None:
    """Let this process open ``more`` files, as far as its hard limit goes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(soft + more, hard) if hard != resource.RLIM_INFINITY else soft + more
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
