# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure reading of what ``ip -json -details`` and ``bridge -json`` print: ip-link(8), ip-address(8),
bridge(8).
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Mapping, TypedDict

from .._base import network
from .._base.errors import ParseError

ADVICE = "Give the output of ip -json -details address show."
# Ubuntu's iproute2 5.15 writes this after a vxlan device's id, outside of JSON, when the kernel is
# newer.
FAN_MAP = re.compile(r'("id":[0-9]+)fan-map [0-9./: ]*')

KIND = re.compile(r"[a-z0-9_-]{1,32}\Z")  # of a driver, such as vxlan or ip6gretap

Printed = Dict[str, Any]  # an object as ip or bridge prints it
LinkAndNeighbors = Dict[str, Any]  # a Link, and its permanent neighbours: {address: MAC address}
# A network device as ip shows it. The key "global" is a word of Python, which a class cannot
# have.
Link = TypedDict(
    "Link",
    {
        "name": "str",
        "mtu": "int",  # bytes, as the next two; 0: ip does not say
        "min_mtu": "int",
        "max_mtu": "int",
        "up": "bool",
        "mac": "str | None",
        "alias": "str | None",
        "kind": "str | None",  # such as veth
        "data": "dict[str, Any]",  # of that kind
        "master": "str | None",
        "index": "int",
        "peer": "str | None",  # of a veth, if it is in this namespace; else the next two
        "peer_index": "int | None",
        "peer_netns": "int | None",  # the id of the other namespace
        "addresses": "list[str]",  # with their prefix lengths
        "global": "list[str]",  # addresses that are not link-local
    },
)


def _objects(text: str, what: str) -> list[Printed]:
    """Return the list of objects in the text; what ip leaves out is an empty object."""
    try:
        rows = json.loads(FAN_MAP.sub(r"\1", text)) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not JSON ({error})", getattr(error, "lineno", 1), ADVICE)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ParseError(f"not a list of {what}", 1, ADVICE)
    return [row for row in rows if row]


def _part(row: Printed, key: str, kind: type) -> Any:
    """Return the list or dictionary ``row[key]``, an empty one where it is missing."""
    value = row.get(key, kind())
    if not isinstance(value, kind):
        raise ParseError(f"{key} of {row.get('ifname')!r} is not what ip prints", 1, ADVICE)
    return value


def _address(entry: Printed) -> str:
    return f"{entry['local']}/{entry['prefixlen']}"


def _kind(row: Printed, info: Printed) -> str | None:
    """Return the kind of a link, None for a device of a driver."""
    kind = info.get("info_kind")
    if kind is not None and not (isinstance(kind, str) and KIND.match(kind)):
        raise ParseError(f"the kind of {row.get('ifname')!r} is not what ip prints", 1, ADVICE)
    return kind


def _number(row: Printed, key: str) -> int:
    """Return a number of a link; raises KeyError or TypeError for anything else."""
    if not isinstance(row[key], int):
        raise TypeError(f"a number as {key}")
    return int(row[key])


def _link(row: Printed) -> Link:
    info = _part(row, "linkinfo", dict)
    addresses = [entry for entry in _part(row, "addr_info", list) if "local" in entry]
    return {
        "name": row["ifname"],
        "mtu": _number(row, "mtu"),
        "min_mtu": row.get("min_mtu", 0),
        "max_mtu": row.get("max_mtu", 0),
        "up": "UP" in _part(row, "flags", list),
        "mac": row.get("address"),
        "alias": row.get("ifalias"),
        "kind": _kind(row, info),
        "data": _part(info, "info_data", dict),
        "master": row.get("master"),
        "index": _number(row, "ifindex"),
        "peer": row.get("link"),
        "peer_index": row.get("link_index"),
        "peer_netns": row.get("link_netnsid"),
        "addresses": [_address(entry) for entry in addresses],
        "global": [_address(entry) for entry in addresses if entry.get("scope") != "link"],
    }


def parse_links(text: str) -> dict[str, Link]:
    """Return the links by name."""
    try:
        return {row["ifname"]: _link(row) for row in _objects(text, "links")}
    except (KeyError, TypeError) as error:
        raise ParseError(f"a link without {error}", 1, ADVICE)


def usable_links(links: Mapping[str, Link]) -> tuple[dict[str, Link], list[str]]:
    """Return the links whose names the lab can use, and the names of the others."""
    strange = sorted(str(name) for name in links if not network.is_device_name(name))
    return {name: link for name, link in links.items() if name not in strange}, strange


def parse_neighbors(text: str) -> dict[str, dict[str, str]]:
    """Return ``{device: {address: MAC address}}`` of ip neigh show; an entry without a MAC address
    is left out.
    """
    neighbors: dict[str, dict[str, str]] = {}
    try:
        for row in _objects(text, "neighbours"):
            if "lladdr" in row:
                neighbors.setdefault(row["dev"], {})[row["dst"]] = row["lladdr"]
    except (KeyError, TypeError) as error:
        raise ParseError(
            f"a neighbour without {error}", 1, "Give the output of ip -json neigh show."
        )
    return neighbors


def parse_links_and_neighbors(text: str) -> dict[str, LinkAndNeighbors]:
    """Return :func:`parse_links` of the first line, each link with its ``neighbors``, which are in
    the second.
    """
    links, _newline, neighbors = text.partition("\n")
    by_name = parse_links(links)
    by_device = parse_neighbors(neighbors)
    return {name: dict(link, neighbors=by_device.get(name, {})) for name, link in by_name.items()}


def parse_namespaces(text: str) -> dict[str, int | None]:
    """Return ``{name: id}`` of the named network namespaces; a namespace that no link leads to has
    no id (None).

    A namespace with a name that the lab cannot use is left out: it is nobody's end of a path.
    """
    try:
        rows = [
            row for row in _objects(text, "namespaces") if network.is_namespace_name(row["name"])
        ]
        return {row["name"]: row.get("id") for row in rows}
    except (KeyError, TypeError) as error:
        raise ParseError(
            f"a namespace without a name ({error})", 1, "Give the output of ip -json netns list."
        )


def parse_fdb(text: str) -> list[tuple[str, str]]:
    """Return ``[(MAC address, remote address)]`` of a VXLAN device's forwarding database; others
    are left out.
    """
    try:
        return [(row["mac"], row["dst"]) for row in _objects(text, "entries") if "dst" in row]
    except KeyError as error:
        raise ParseError(
            f"an entry without {error}", 1, "Give the output of bridge -json fdb show."
        )
