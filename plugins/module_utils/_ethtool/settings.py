# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ethtool prints of each device, but for its features: channels, rings and interrupt coalescing
(``-l``, ``-g``, ``-c``), receive hashing (``-n``, ``-x``), driver, statistics and tunnels; and why a
command failed.

Pure. The names of the values are those that ``ethtool -L``, ``-G`` and ``-C`` take, so what is read
can be set.
"""

from __future__ import annotations

import re
from typing import Any, Iterator

from .._base.errors import InputError

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


# Letter of ethtool -N and the line that ethtool -n prints for it, in the order of its output
# (ethtool.c).
FIELDS = (
    ("m", "L2DA"),
    ("v", "VLAN tag"),
    ("t", "L3 proto"),
    ("s", "IP SA"),
    ("d", "IP DA"),
    ("f", "L4 bytes 0 & 1 [TCP/UDP src port]"),
    ("n", "L4 bytes 2 & 3 [TCP/UDP dst port]"),
    ("e", "GTP TEID"),
    ("l", "IPv6 Flow Label"),
)
LETTERS = {line: letter for letter, line in FIELDS}
DISCARD = "r"
ORDER = "".join(letter for letter, _line in FIELDS) + DISCARD

TABLE = re.compile(r"^RX flow hash indirection table for (\S+) with (\d{1,9}) RX ring", re.ASCII)
TABLE_ROW = re.compile(r"^\d+:((?:\s+\d{1,9})+)$", re.ASCII)
KEY = re.compile(r"^[0-9a-f]{2}(?::[0-9a-f]{2})*$")
SWITCH = re.compile(r"^([\w-]+): (on|off)$")


def parse_flow_hash(text: str) -> str | None:
    """Return the letters of the hashed fields, such as ``sdfn``: "" for no field, None where the
    text does not say.
    """
    lines = [line.strip() for line in text.split("\n")]
    if any(line.endswith("All matching flows discarded on RX") for line in lines):
        return DISCARD
    if not any("flows use these fields for computing" in line for line in lines):
        return None
    return canonical("".join(LETTERS.get(line, "") for line in lines))


def canonical(letters: str) -> str:
    """Return the letters in ethtool's order, each once."""
    return "".join(letter for letter in ORDER if letter in letters)


def check_letters(letters: str, where: str) -> str:
    """Return the user's letters in ethtool's order; raises :class:`InputError` for an unknown
    letter.
    """
    unknown = sorted(set(letters) - set(ORDER))
    if unknown:
        raise InputError(
            f"{letters!r} is not a set of hash fields",
            where,
            f"Use letters of {ORDER!r}, such as 'sd' or 'sdfn'.",
        )
    return canonical(letters)


def parse_rss(text: str) -> dict[str, dict[str, Any]]:
    """Return ``{device: {"rings", "indirection", "key", "functions"}}`` of ``ethtool -x``.

    ``rings`` is the number of rings that the device has, ``indirection`` the ring of each entry
    (the entries may use fewer rings), ``key`` the hash key in hexadecimal or None, ``functions``
    which hash functions are on.
    """
    devices = {}
    current = None
    for line in (line.strip() for line in text.split("\n")):
        table = TABLE.match(line)
        if table:
            current = {
                "rings": int(table.group(2)),
                "indirection": [],
                "key": None,
                "functions": {},
            }
            devices[table.group(1)] = current
        elif current is not None:
            take_rss_line(line, current)
    return devices


def take_rss_line(line: str, rss: dict[str, Any]) -> None:
    """Put what one line of ``ethtool -x`` says into ``rss``; other lines (headings, errors) say
    nothing.
    """
    row = TABLE_ROW.match(line)
    switch = SWITCH.match(line)
    if row:
        rss["indirection"].extend(int(ring) for ring in row.group(1).split())
    elif KEY.match(line):
        rss["key"] = line
    elif switch:
        rss["functions"][switch.group(1)] = switch.group(2) == "on"


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
