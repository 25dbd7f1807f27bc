# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The listings of ``ethtool -l``, ``-g`` and ``-c``: channels, rings and interrupt coalescing of
each device.

Pure. The names of the values are those that ``ethtool -L``, ``-G`` and ``-C`` take, so what is read
can be set.
"""

from __future__ import annotations

import re
from typing import Any, Iterator

HEADER = re.compile(r"^(\w+) parameters for (\S+):$")
SECTIONS = {"Pre-set maximums:": "maximum", "Current hardware settings:": "current"}
# "tx-aggr-time-usecs<TAB>n/a" stands without a colon in ethtool 6.x.
ROW = re.compile(r"^([A-Za-z][A-Za-z -]*?)(?::\s*|\t\s*)([\w/]+)", re.ASCII)
PAIR = re.compile(r"^(Adaptive|CQE mode) RX:\s*([\w/]+)\s+TX:\s*([\w/]+)", re.ASCII)
PAIR_NAMES = {"Adaptive": "adaptive", "CQE mode": "cqe-mode"}


def parse_value(text: str) -> Any:
    """Return a printed value: a number, a boolean for on or off, None for n/a, "auto"; else raise
    ``ValueError``.
    """
    values = {"on": True, "off": False, "n/a": None, "auto": "auto"}
    return values[text] if text in values else int(text.replace("_", "?"))


def row_of(line: str) -> tuple[str, Any] | None:
    """Return ``(printed name, value)`` of a line, or None where it is no row: a heading, an error,
    a comment.
    """
    row = ROW.match(line)
    try:
        return (row.group(1).strip(), parse_value(row.group(2))) if row else None
    except ValueError:
        return None


def blocks(text: str, title: str) -> Iterator[tuple[str, str]]:
    """Yield ``(device, line)`` for each header of the ``title`` asked for and the lines below it."""
    device = None
    for line in text.split("\n"):
        header = HEADER.match(line.strip())
        if header:
            device = header.group(2) if header.group(1) == title else None
        if device is not None:
            yield device, line.strip()


def parse_sections(text: str, title: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return ``{device: {"maximum": {name: value}, "current": {name: value}}}`` of a listing in two
    sections.
    """
    devices: dict[str, dict[str, dict[str, Any]]] = {}
    section: dict[str, Any] = {}
    for device, line in blocks(text, title):
        values = devices.setdefault(device, {"maximum": {}, "current": {}})
        section[device] = SECTIONS.get(line, section.get(device))
        row = row_of(line)
        if row and section[device]:
            values[section[device]][argument_name(row[0])] = row[1]
    return devices


def argument_name(printed: str) -> str:
    """Return the name that ``ethtool -G`` and ``-L`` take: tx-push-buf-len for ``TX push buff
    len``.
    """
    return printed.lower().replace("buff", "buf").replace(" ", "-")


def parse_channels(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the numbers of queues that ``ethtool -l`` lists: ``rx``, ``tx``, ``other``,
    ``combined``; None for n/a.
    """
    return parse_sections(text, "Channel")


def parse_rings(text: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the rings that ``ethtool -g`` lists: ``rx``, ``tx`` ...

    in descriptors, ``tx-push`` as a boolean.
    """
    return parse_sections(text, "Ring")


def parse_coalesce(text: str) -> dict[str, dict[str, Any]]:
    """Return ``{device: {name: value}}`` of ``ethtool -c``: times in µs, numbers of frames,
    booleans; None for n/a.
    """
    devices: dict[str, dict[str, Any]] = {}
    for device, line in blocks(text, "Coalesce"):
        values = devices.setdefault(device, {})
        pair = PAIR.match(line)
        row = row_of(line)
        if pair:
            values.update(pair_values(pair))
        elif row:
            # printed as rx-frame-low, set as rx-frames-low
            values[re.sub("-frame-(low|high)$", r"-frames-\1", row[0])] = row[1]
    return devices


def pair_values(pair: re.Match[str]) -> dict[str, Any]:
    """Return the two values of a line such as ``Adaptive RX: off  TX: n/a``, those that can be
    read.
    """
    values = {}
    for side, text in (("rx", pair.group(2)), ("tx", pair.group(3))):
        try:
            values[f"{PAIR_NAMES[pair.group(1)]}-{side}"] = parse_value(text)
        except ValueError:
            continue
    return values
