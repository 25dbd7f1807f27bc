# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the format of a tracepoint, as tracefs shows it: its number, its fields, the names of its
values. Pure.

Source: Documentation/trace/events.rst.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from .._base.errors import ParseError

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
