# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the formats of tracepoints, and parse them: number, fields, names of values. Where tracefs is
not mounted, a thread mounts it for itself: in a mount namespace of its own, which ends with the thread.
The host sees nothing of it.

Formats: Documentation/trace/events.rst. Constants: linux/sched.h, linux/mount.h.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from typing import Iterable, NamedTuple

from .._base.errors import LabError, ParseError
from .._host.waiting import in_thread

_NUMBER = re.compile(r"^ID:\s*(\d{1,9})\s*$", re.MULTILINE)
_FIELD = re.compile(
    r"^\s*field:(?P<type>[^;\n]*?)(?P<name>\w+)(?:\[\w*\])?;"
    r"\s*offset:(?P<offset>\d{1,6});\s*size:(?P<size>\d{1,6});",
    re.MULTILINE,
)
_SYMBOLS = re.compile(r"__print_symbolic\(REC->(\w+),((?:\s*\{[^{}]*\},?)*)")
_SYMBOL = re.compile(r'\{\s*(\d{1,9}|0x[0-9a-fA-F]{1,8})\s*,\s*"([^"]*)"\s*\}')
_UNSIGNED = {1: "B", 2: "H", 4: "I", 8: "Q"}  # of struct, by size in bytes


class Field(NamedTuple):
    """Where a field lies in a record, in bytes."""

    offset: int
    size: int


class EventFormat(NamedTuple):
    """What tracefs says of a tracepoint."""

    number: int  # of perf_event_open
    fields: dict[str, Field]
    symbols: dict[str, dict[int, str]]  # by field: the names of its values

    def value(self, record: bytes, field: str) -> int:
        """Return the field's value in a record, as an unsigned number; 0 where it has none."""
        position = self.fields.get(field)
        if position is None or position.offset + position.size > len(record):
            return 0
        code = _UNSIGNED.get(position.size)
        return struct.unpack_from(f"={code}", record, position.offset)[0] if code else 0

    def text(self, record: bytes, field: str) -> str:
        """Return the text of a field of type ``__data_loc``: its value is a position in the record."""
        position = self.value(record, field)
        start, size = position & 0xFFFF, position >> 16
        return record[start : start + size].rstrip(b"\0").decode("utf-8", "replace")

    def name_of(self, field: str, value: int) -> str:
        """Return the kernel's name for a value, or the value in hexadecimal."""
        return self.symbols.get(field, {}).get(value, hex(value))


def _names(text: str) -> dict[int, str]:
    """Return the names of values in a text such as ``{ 2, "NOT_SPECIFIED" }, …``."""
    return {int(value, 0): name for value, name in _SYMBOL.findall(text)}


def parse(text: str) -> EventFormat:
    """Return the format of a tracepoint, or raise ParseError where the text has no number."""
    number = _NUMBER.search(text)
    if number is None:
        raise ParseError("the format of a tracepoint has no ID", 1)
    fields = {
        match["name"]: Field(int(match["offset"]), int(match["size"]))
        for match in _FIELD.finditer(text)
    }
    symbols = {match[1]: _names(match[2]) for match in _SYMBOLS.finditer(text)}
    return EventFormat(int(number[1]), fields, symbols)


PLACE = "/sys/kernel/tracing"
CLONE_NEWNS = 0x00020000
MS_REC_PRIVATE = 0x4000 | 0x40000
MS_SAFE = 1 | 2 | 4 | 8  # read-only, no set-user-ID, no devices, no programs
WAIT = 30.0  # s; an emulated CPU needs one
TO_DO = (
    "Run it as root of the host (become: true). A container, a kernel that is locked down or one "
    "without CONFIG_TRACEPOINTS does not allow it."
)


def unavailable(why: str) -> LabError:
    """Return the error of a host on which tracepoints cannot be counted."""
    return LabError(f"the kernel's tracepoints cannot be counted: {why}", None, TO_DO)


def _call(done: int, what: str) -> None:
    if done != 0:
        raise unavailable(f"{what} ({os.strerror(ctypes.get_errno())})")


def _mount() -> None:
    """Mount tracefs where this thread alone sees it."""
    library = ctypes.CDLL(None, use_errno=True)
    _call(library.unshare(CLONE_NEWNS), "the kernel gives no mount namespace")
    _call(library.mount(None, b"/", None, MS_REC_PRIVATE, None), "mounts cannot be made private")
    mounted = library.mount(b"tracefs", PLACE.encode(), b"tracefs", MS_SAFE, None)
    _call(mounted, "tracefs cannot be mounted")


def _read(names: Iterable[str]) -> dict[str, str]:
    """Return the formats of the tracepoints that this kernel has."""
    texts = {}
    for name in names:
        try:
            with open(f"{PLACE}/events/{name}/format") as stream:
                texts[name] = stream.read()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise unavailable(f"{error.filename}: {error.strerror}")
    return texts


def formats(names: Iterable[str]) -> dict[str, str]:
    """Return ``{"GROUP/NAME": format}`` of the tracepoints that this kernel has.

    Raise LabError where the kernel or a container allows none.
    """
    if os.path.isdir(f"{PLACE}/events"):
        return _read(names)
    texts: dict[str, str] = {}
    errors = []

    def work() -> None:
        try:
            _mount()
            texts.update(_read(names))
        except LabError as error:
            errors.append(error)

    in_thread(work).join(WAIT)
    if errors:
        raise errors[0]
    return texts
