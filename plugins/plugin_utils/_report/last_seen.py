# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the packets of a dead path were last seen: the records of both ends, joined. Pure.

Each end has sent datagrams to the other one before the campaign, as the hosts were found, and has counted
what it sent, what arrived, and what its devices passed (manifest.json, ``exchanges``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ...module_utils._preflight.exchange import Exchange
from .._trials.nouns import NOTHING

NAMES: dict[str, Literal["ping", "tcp"]] = {"ping": "ping", "TCP": "tcp"}
SEEN = 0.5  # the share of the sent datagrams that a device has passed at least: others use it, too


def exchanges_of(manifest: Mapping[str, Any] | None) -> dict[str, list[Exchange]]:
    """Return by node what it has recorded."""
    nodes = (manifest or NOTHING).get("nodes") or {}
    return {
        node: (conditions.get("before") or NOTHING).get("exchanges") or []
        for node, conditions in nodes.items()
    }


def sentences(path: str, by_node: Mapping[str, Sequence[Exchange]]) -> str:
    """Return what was tried on a path as the hosts were found, and where packets were last seen; an
    empty text where everything passed or nothing was tried.
    """
    rows = _not_passed(path, by_node)
    if not rows:
        return ""
    ways = "".join(_one_way(node, one, by_node) for node, one in rows)
    return f" As found, {_what_passed([one for _node, one in rows])} passed.{ways}"


def _not_passed(path: str, by_node: Mapping[str, Sequence[Exchange]]) -> list[tuple[str, Exchange]]:
    """Return each node with its record of a path on which ping or TCP did not pass."""
    rows: list[tuple[str, Exchange]] = []
    for node, exchanges in sorted(by_node.items()):
        of_path = [one for one in exchanges if one["path"] == path]
        rows += [(node, one) for one in of_path if not (one["ping"] and one["tcp"])]
    return rows


def _what_passed(exchanges: Iterable[Exchange]) -> str:
    """Return in words what passed from at least one end."""
    known = list(exchanges)
    names = [name for name, key in NAMES.items() if any(one[key] for one in known)]
    return " and ".join(names) or "neither ping nor TCP"


def _one_way(node: str, sent: Exchange, by_node: Mapping[str, Sequence[Exchange]]) -> str:
    """Say what became of the datagrams that a node has sent."""
    peer = sent["peer"]
    there = _of(by_node.get(peer, []), sent["path"], node)
    way = f" From {node} to {peer}"
    if not sent["sent"]:
        return f"{way} no datagram left: {node} has no route, or its own firewall refuses them."
    if there is None or not there["sent"]:
        return f"{way} {sent['sent']} datagrams were sent; {peer} did not count them."
    text = f"{way} {there['arrived']} of {sent['sent']} datagrams arrived"
    if there["arrived"] >= SEEN * sent["sent"]:
        return f"{text}."
    return f"{text}; {_last_device(node, sent, there)}."


def _of(exchanges: Iterable[Exchange], path: str, peer: str) -> Exchange | None:
    return next((one for one in exchanges if (one["path"], one["peer"]) == (path, peer)), None)


def _last_device(node: str, sent: Exchange, there: Exchange) -> str:
    """Say at which device of the way the datagrams were last seen."""
    enough = SEEN * sent["sent"]
    way = [(node, one["device"], one["out"]) for one in sent["devices"]]
    way += [(sent["peer"], one["device"], one["back"]) for one in reversed(there["devices"])]
    passed = [(host, device) for host, device, count in way if count >= enough]
    if not passed:
        return f"no device of {node} counted them"
    host, device = passed[-1]
    return f"they were last seen at {device} of {host}"
