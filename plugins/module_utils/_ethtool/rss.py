# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive hashing: the fields of ``ethtool -n DEV rx-flow-hash TYPE`` and the table of ``ethtool
-x``. Pure.
"""

from __future__ import annotations

import re
from typing import Any

from .._base.errors import InputError

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
