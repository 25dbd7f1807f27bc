# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that steer packets to CPUs: masks of CPUs, of a device's queues or of its interrupts, and flows. Pure.

Format of masks: Documentation/networking/scaling.rst of the kernel; hexadecimal, groups of 32 bits with
commas between.
"""

from __future__ import annotations

import re
from typing import Any

from .._base.errors import InputError, ParseError
from .kind import KindState, power_of_two, require_power_of_two
from .sysfs import Number, Sysfs

ONLINE = "/sys/devices/system/cpu/online"

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
        first = int(match.group(1))
        last = int(match.group(2) or match.group(1))
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


class Steering(Sysfs):
    """A kind that is a mask of CPUs for each queue of a device."""

    settings = ["cpus"]
    levels: list[str] | None = ["off", "all"]

    def value(self, level: str) -> str:
        text = str(level)
        if text in ("off", "all") or re.fullmatch(r"[0-9a-f]{1,8}(,[0-9a-f]{8}){0,31}", text):
            return text
        raise ValueError("off, all, or a hexadecimal mask of CPUs such as f")

    def from_text(self, text: str) -> str:
        try:
            return format_mask(parse_mask(text))
        except ParseError:
            raise ValueError(text)

    def for_all(self, value: Any, where: str) -> str:
        with open(ONLINE) as stream:
            return format_mask(wanted_mask(str(value), stream.read()))

    def checked(self, name: str, value: Any, state: KindState, where: str) -> str:
        try:
            return self.from_text(str(value))
        except ValueError:
            raise InputError("not a mask of CPUs", f"{where} {name}", "Give a mask such as f.")


class Rps(Steering):
    """Receive packet steering: the CPUs that process the packets of a receive queue."""

    name = group = "rps"
    about = "spreads received packets over CPUs in software"
    availability = "`rps_cpus` in sysfs; every kernel and driver"
    takes = "`off`, `all`, or a hexadecimal mask of CPUs"
    file = "queues/rx-*/rps_cpus"
    lacks = "it has no queues that rps can steer"


RPS = Rps()


class Xps(Steering):
    """Transmit packet steering: the CPUs whose packets a transmit queue takes."""

    name = group = "xps"
    about = "chooses the transmit queue by the CPU that sends"
    availability = "`xps_cpus` in sysfs; devices with several transmit queues"
    takes = "`off`, `all`, or a hexadecimal mask of CPUs"
    file = "queues/tx-*/xps_cpus"
    lacks = "it has no queues that xps can steer"


XPS = Xps()


class Rfs(Number):
    """Receive flow steering: how many flows each receive queue remembers, to find their programs' CPUs.

    It acts only where ``net.core.rps_sock_flow_entries`` is above 0, which is a kind of the host.
    """

    name = group = "rfs"
    about = (
        "steers a flow to the CPU of the program that reads it; acts where `rps_sock_flow_entries` "
        "is above 0"
    )
    availability = "`rps_flow_cnt` in sysfs; every kernel and driver"
    takes = "0 or powers of two, of each receive queue"
    settings = ["flows"]
    file = "queues/rx-*/rps_flow_cnt"
    lacks = "it has no receive queues that rfs can steer"

    value = staticmethod(power_of_two)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return require_power_of_two(super().checked(name, value, state, where), f"{where} {name}")


RFS = Rfs()
