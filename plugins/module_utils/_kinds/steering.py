# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that steer packets: the CPUs of a device's queues, as masks in sysfs. Pure.

Format: Documentation/networking/scaling.rst of the kernel; hexadecimal, groups of 32 bits with
commas between.
"""

from __future__ import annotations

import glob
import os
import re
from typing import Any, Mapping

from .._base.checks import shown
from .._base.errors import InputError, ParseError
from .kind import Kind

QUEUES = "/sys/class/net/{0}/queues"
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


def asked_mask(asked: Mapping[str, Any], device: str) -> int:
    """Return the mask that ``{"cpus": ...}`` asks of a device of this node."""
    if set(asked) != {"cpus"}:
        raise InputError(
            f"{shown(dict(asked))} is not what packets are steered by",
            device,
            "Give cpus, and nothing else, such as {cpus: all}.",
        )
    with open(ONLINE) as stream:
        return wanted_mask(str(asked["cpus"]), stream.read())


class Steering(Kind):
    """A kind that is a mask of CPUs for each queue of a device."""

    settings = ["cpus"]
    levels = ["off", "all"]
    devices = ["underlay"]
    queues: str  # rx or tx
    file: str  # that has the mask of a queue
    kept_too: tuple[str, ...] = ()  # other files that a snapshot keeps

    def value(self, level: str) -> str:
        text = str(level)
        if text in ("off", "all") or re.fullmatch(r"[0-9a-f]{1,8}(,[0-9a-f]{8}){0,31}", text):
            return text
        raise ValueError("off, all, or a hexadecimal mask of CPUs such as f")

    def read(self, name: str) -> dict[str, str]:
        """Return ``{"rx-0/rps_cpus": mask, ...}`` of a device; a file that cannot be read is left
        out.
        """
        base, found = QUEUES.format(glob.escape(name)), {}
        for file in (self.file, *self.kept_too):
            for path in sorted(glob.glob(f"{base}/{self.queues}-*/{file}")):
                text = _read(path)
                if text is not None:
                    found["/".join(path.split("/")[-2:])] = text
        return found

    def masks(self, name: str) -> dict[str, str]:
        """Return ``{queue file: mask}`` of a device, empty where it does not support the kind."""
        files = self.read(name)
        return {queue: text for queue, text in files.items() if queue.endswith("/" + self.file)}

    def plan(self, queues: dict[str, str], mask: int) -> dict[str, str]:
        """Return ``{queue file: text to write}`` for the queues whose mask differs."""
        return {
            queue: format_mask(mask)
            for queue, text in queues.items()
            if queue.endswith("/" + self.file) and parse_mask(text) != mask
        }

    def restore_writes(
        self, name: str, saved: dict[str, str], now: dict[str, str]
    ) -> list[tuple[str, str]]:
        """Return ``[(path, value)]`` that bring the queues back; one that is gone is left out."""
        return [
            (path_of(name, queue), value)
            for queue, value in sorted(saved.items())
            if now.get(queue, value) != value
        ]

    def shell(self, name: str, mask: str, dollar: str) -> str:
        """Return the line of a shell that sets the mask at boot."""
        files = f"{QUEUES.format(name)}/{self.queues}-*/{self.file}"
        return f"for queue in {files}; do echo {mask} >{dollar}queue; done"


def path_of(name: str, queue: str) -> str:
    """Return the path of a queue's file."""
    return os.path.join(QUEUES.format(name), queue)


def _read(path: str) -> str | None:
    try:
        with open(path) as stream:
            return stream.read().strip()
    except OSError:  # the kernel refuses xps_cpus of a device with one queue
        return None
