# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``ethtool -i``, ``-S``, ``--show-tunnels`` and the kernel log say about a device; why a
command failed. Pure.
"""

from __future__ import annotations

import re
from typing import Any

DRIVER_ROW = re.compile(r"^([a-z][a-z-]*):(?:\s+(.*))?$")
STATISTIC = re.compile(r"^(.*\S)\s*:\s*(-?\d{1,20})$", re.ASCII)
TUNNELS = re.compile(r"^Tunnel information for (\S+):$")
TUNNEL_PORT = re.compile(r"^port (\d{1,5}), (\S+)$", re.ASCII)
# The kernel log mentions tunnel offloads in the words of each driver: "Enabled VxLAN offloads for
# UDP port 4789".
TUNNEL_WORD = re.compile(r"vxlan|geneve|udp.?tunnel", re.IGNORECASE)
OFFLOAD_WORD = re.compile(r"offload|udp port|\bport \d", re.IGNORECASE)


def parse_driver(text: str) -> dict[str, Any]:
    """Return the rows of ``ethtool -i`` under their names, such as ``driver``; ``supports-*`` as
    booleans.
    """
    booleans = {"yes": True, "no": False}
    rows = (DRIVER_ROW.match(line.strip()) for line in text.split("\n"))
    values = {row.group(1): (row.group(2) or "").strip() for row in rows if row}
    return {
        name: booleans.get(value, value) if name.startswith("supports-") else value
        for name, value in values.items()
    }


def parse_statistics(text: str) -> dict[str, int]:
    """Return ``{counter: int}`` of ``ethtool -S``; names of counters may hold spaces, colons and
    brackets.
    """
    rows = (STATISTIC.match(line.strip()) for line in text.split("\n"))
    return {row.group(1): int(row.group(2)) for row in rows if row}


def parse_tunnels(text: str) -> dict[str, list[dict[str, Any]]]:
    """Return ``{device: [table]}`` of ``ethtool --show-tunnels``: the UDP ports that the device
    takes for tunnels.

    A table is ``{"size": int or None, "types": [str], "entries": [{"port": int, "type": str}]}``; a
    table of static entries, such as the port 4789 that some devices always know, has no types.
    """
    devices: dict[str, list[dict[str, Any]]] = {}
    tables = None
    for line in (line.strip() for line in text.split("\n")):
        header = TUNNELS.match(line)
        if header:
            tables = devices.setdefault(header.group(1), [])
        elif tables is not None and line.startswith("UDP port table"):
            tables.append({"size": None, "types": [], "entries": []})
        elif tables:
            take_tunnel_line(line, tables[-1])
    return devices


def take_tunnel_line(line: str, table: dict[str, Any]) -> None:
    """Put what one line of a table of ``--show-tunnels`` says into ``table``."""
    name, _colon, value = line.partition(": ")
    port = TUNNEL_PORT.match(line)
    if port:
        table["entries"].append({"port": int(port.group(1)), "type": port.group(2)})
    elif name == "Size" and re.match(r"^\d{1,9}$", value, re.ASCII):
        table["size"] = int(value)
    elif name == "Types" and not value.startswith("none"):
        table["types"] = value.split(", ")


def offload_log_lines(text: str) -> list[str]:
    """Return the lines of a kernel log about tunnel offloads; never the kernel's command line."""
    lines = [line for line in text.split("\n") if "ommand line:" not in line]
    return [line for line in lines if TUNNEL_WORD.search(line) and OFFLOAD_WORD.search(line)]


def failure_reason(err: str, out: str = "") -> str:
    """Return why an ``ethtool`` call failed, in the kernel's words, such as "Operation not
    supported".

    A message may be split over lines (``Cannot get ... parameters``, ``: Operation not
    supported``), and several may come together (``requested channel count exceeds maximum``,
    ``Invalid argument``).
    """
    lines = [line.strip() for line in (err.strip() or out).split("\n")]
    parts = [line.rpartition(": ")[2] for line in lines if line and not line.endswith(":")]
    if "Operation not supported" in parts:
        return "Operation not supported"
    return "; ".join(parts) or "no reason given"
