# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure reading of what ``ip -json -details`` and ``bridge -json`` print: ip-link(8), ip-address(8), bridge(8)."""
from __future__ import annotations

import json

from ansible_collections.offload.lab.plugins.module_utils._errors import ParseError

ADVICE = "Give the output of ip -json -details address show."


def _objects(text, what):
    """Return the list of objects in the text; what ip leaves out is an empty object."""
    try:
        rows = json.loads(text) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise ParseError("not JSON ({0})".format(error), getattr(error, "lineno", 1), ADVICE)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ParseError("not a list of {0}".format(what), 1, ADVICE)
    return [row for row in rows if row]


def _part(row, key, kind):
    """Return the list or dictionary ``row[key]``, an empty one where it is missing."""
    value = row.get(key, kind())
    if not isinstance(value, kind):
        raise ParseError("{0} of {1!r} is not what ip prints".format(key, row.get("ifname")), 1, ADVICE)
    return value


def _link(row):
    info = _part(row, "linkinfo", dict)
    return {
        "name": row["ifname"],
        "mtu": row["mtu"],
        "min_mtu": row.get("min_mtu", 0),
        "max_mtu": row.get("max_mtu", 0),
        "up": "UP" in _part(row, "flags", list),
        "mac": row.get("address"),
        "alias": row.get("ifalias"),
        "kind": info.get("info_kind"),
        "data": _part(info, "info_data", dict),
        "master": row.get("master"),
        "index": row["ifindex"],
        "peer": row.get("link"),
        "peer_index": row.get("link_index"),
        "peer_netns": row.get("link_netnsid"),
        "addresses": ["{0}/{1}".format(entry["local"], entry["prefixlen"])
                      for entry in _part(row, "addr_info", list) if "local" in entry],
        "global": ["{0}/{1}".format(entry["local"], entry["prefixlen"])
                   for entry in _part(row, "addr_info", list) if "local" in entry and entry.get("scope") != "link"],
    }


def parse_links(text):
    """Return ``{name: link}``.

    A link has ``mtu``, ``min_mtu`` and ``max_mtu`` in bytes (0: not told), ``up``, ``mac``, ``alias``, ``kind`` (such
    as veth), ``data`` of that kind, ``master``, its ``index``, ``addresses`` with their prefix lengths, and
    ``global``, those that are not link-local. A veth has its ``peer`` by name if that is in this namespace, and else
    ``peer_index`` and ``peer_netns``, the id of the other namespace.
    """
    try:
        return dict((row["ifname"], _link(row)) for row in _objects(text, "links"))
    except (KeyError, TypeError) as error:
        raise ParseError("a link without {0}".format(error), 1, ADVICE)


def parse_neighbors(text):
    """Return ``{device: {address: MAC address}}`` of ip neigh show; an entry without a MAC address is left out."""
    found = {}
    try:
        for row in _objects(text, "neighbours"):
            if "lladdr" in row:
                found.setdefault(row["dev"], {})[row["dst"]] = row["lladdr"]
    except (KeyError, TypeError) as error:
        raise ParseError("a neighbour without {0}".format(error), 1, "Give the output of ip -json neigh show.")
    return found


def parse_links_and_neighbors(text):
    """Return :func:`parse_links` of the first line, each link with its ``neighbors``, which are in the second."""
    links, _newline, neighbors = text.partition("\n")
    found, known = parse_links(links), parse_neighbors(neighbors)
    return dict((name, dict(link, neighbors=known.get(name, {}))) for name, link in found.items())


def parse_namespaces(text):
    """Return ``{name: id}`` of the named network namespaces; a namespace that no link leads to has no id (None)."""
    try:
        return dict((row["name"], row.get("id")) for row in _objects(text, "namespaces"))
    except (KeyError, TypeError) as error:
        raise ParseError("a namespace without a name ({0})".format(error), 1, "Give the output of ip -json netns list.")


def parse_fdb(text):
    """Return ``[(MAC address, remote address)]`` of a VXLAN device's forwarding database; others are left out."""
    try:
        return [(row["mac"], row["dst"]) for row in _objects(text, "entries") if "dst" in row]
    except KeyError as error:
        raise ParseError("an entry without {0}".format(error), 1, "Give the output of bridge -json fdb show.")
