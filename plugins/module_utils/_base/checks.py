# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure checks of single values: each returns the value in its type, or raises InputError that names
it.

Inventory and survey values arrive as strings, and may be hostile: names and addresses become
arguments and paths.
"""

from __future__ import annotations

import math
import re
from typing import Any, Dict, Iterable, Sequence

from .errors import InputError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}\Z")
LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=,:@+-]{0,119}\Z")
SIZE = re.compile(r"([0-9]{1,12})([KM]?)\Z", re.IGNORECASE | re.ASCII)
Checked = Dict[str, Any]  # a mapping whose keys are known
ON = ("true", "yes", "on", "1")
OFF = ("false", "no", "off", "0")
BYTE_RANGE = (1, 1 << 30)  # of a size
FACTORS = {"": 1, "K": 1024, "M": 1024 * 1024}


def shown(value: Any) -> str:
    """Return a value as a message shows it: shortened, since a hostile one may be of any length."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def name(value: Any, what: str) -> str:
    """Return a name of letters, digits, ``.``, ``_`` and ``-``, at most 64, that begins with none
    of ``.-``.
    """
    if not isinstance(value, str) or not NAME.match(value):
        raise InputError(
            "not a name of at most 64 letters, digits, '.', '_' and '-'",
            f"{what} {shown(value)}",
            "Choose another name.",
        )
    return value


def label(value: Any, what: str) -> str:
    """Return the name of a workload or a profile, such as ``tso=on``, which is never part of a path
    or a command.
    """
    if not isinstance(value, str) or not LABEL.match(value):
        raise InputError(
            "not a name of at most 120 letters, digits and the signs ._=,:@+-",
            f"{what} {shown(value)}",
            "Choose another name.",
        )
    return value


def number(value: Any, what: str, least: float, most: float, kind: type = int) -> Any:
    """Return a number between ``least`` and ``most``; text is accepted, a fraction is not where an
    int is asked.
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        checked = kind(value)
        if not math.isfinite(checked) or (not isinstance(value, str) and checked != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"not a {'whole number' if kind is int else 'number'}",
            f"{what} {shown(value)}",
            f"Give a number between {least} and {most}.",
        )
    if not least <= checked <= most:
        raise InputError(
            f"not between {least} and {most}",
            f"{what} {shown(value)}",
            f"Give a number between {least} and {most}.",
        )
    return checked


def size(value: Any, what: str) -> int:
    """Return a size in bytes, 1 to 1 GiB; ``64K`` and ``1M`` are multiples of 1024."""
    match = (
        SIZE.match(str(value))
        if isinstance(value, (int, str)) and not isinstance(value, bool)
        else None
    )
    if not match:
        raise InputError(
            "not a size in bytes", f"{what} {shown(value)}", "Write it like 16384, 16K or 1M."
        )
    return number(int(match.group(1)) * FACTORS[match.group(2).upper()], what, *BYTE_RANGE)


def boolean(value: Any, what: str) -> bool:
    """Return a boolean; the words that YAML and surveys use are accepted."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in ON + OFF:
        raise InputError("neither on nor off", f"{what} {shown(value)}", "Give on or off.")
    return word in ON


def unique(values: Iterable[Any], what: str) -> None:
    """Raise InputError when a value is given twice."""
    values = list(values)
    for value in values:
        if values.count(value) > 1:
            raise InputError(
                f"given {values.count(value)} times", f"{what} {value}", f"Give each {what} once."
            )


def mapping(value: Any, what: str, keys: Sequence[str]) -> Checked:
    """Return a mapping whose keys are all known."""
    if not isinstance(value, dict):
        raise InputError(
            "not a mapping", f"{what} {shown(value)}", f"Use the keys {', '.join(keys)}."
        )
    for key in value:
        if key not in keys:
            raise InputError(f"unknown key {shown(key)}", what, f"Use {', '.join(keys)}.")
    return value
