# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: CPU masks of receive packet steering, and what is to be written for a wanted one.

Format: Documentation/networking/scaling.rst of the kernel; hexadecimal, groups of 32 bits with
commas between.
"""

from __future__ import annotations

import re

from .._base.errors import InputError, ParseError

MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8}){0,31}\Z")
RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?\Z", re.ASCII)


def parse_cpus(text: str) -> set[int]:
    """Return the numbers in a list of CPUs such as ``0-3,8``, the form of
    /sys/devices/system/cpu/online.
    """
    cpus: set[int] = set()
    for part in text.strip().split(","):
        match = RANGE.match(part)
        if not match:
            raise ParseError(f"not a list of CPUs: {text[:60]!r}", 1)
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        cpus.update(range(first, last + 1))
    return cpus


def parse_mask(text: str) -> int:
    """Return a mask as a number."""
    if not MASK.match(text):
        raise ParseError(f"not a mask of CPUs: {text[:60]!r}", 1)
    value = 0
    for group in text.split(","):
        value = (value << 32) + int(group, 16)
    return value


def format_mask(value: int) -> str:
    """Return a number in the form that the kernel reads."""
    groups: list[int] = []
    while value or not groups:
        groups.append(value & 0xFFFFFFFF)
        value >>= 32
    return ",".join([f"{groups[-1]:x}"] + [f"{group:08x}" for group in reversed(groups[:-1])])


def wanted_mask(cpus: str, online: str) -> int:
    """Return the mask of ``off``, ``all`` or a mask; ``online`` is the text of the CPUs that run."""
    if cpus in ("off", "False", "all"):  # YAML reads a bare off as a boolean
        return sum(1 << cpu for cpu in parse_cpus(online)) if cpus == "all" else 0
    try:
        value = parse_mask(cpus)
    except ParseError:
        raise InputError(
            "not a mask of CPUs", f"cpus {cpus[:60]!r}", "Give off, all, or a mask such as f."
        )
    if value >> (max(parse_cpus(online)) + 1):
        raise InputError(
            "has CPUs that this node lacks", f"cpus {cpus!r}", f"Its CPUs are {online.strip()}."
        )
    return value


def plan(queues: dict[str, str], mask: int) -> dict[str, str]:
    """Return ``{queue file: text to write}`` for the queues ``{queue file: text now}`` whose mask
    differs.
    """
    return {
        queue: format_mask(mask)
        for queue, text in queues.items()
        if queue.endswith("/rps_cpus") and parse_mask(text) != mask
    }
