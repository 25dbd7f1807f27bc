# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what other traffic goes over the devices of a path: ports of its bridges, routes, tunnels."""

from __future__ import annotations

import itertools
import json
from typing import Any, Dict, Iterable, Mapping

from .parse import Link
from .walk import OVS, Shared, Spaces, WalkedDevice, tunnels

Route = Dict[str, Any]  # as ip prints it
LINK_LOCAL = ("fe80::/64", "multicast", "ff00::/8")  # each device has these


NOTHING: Shared = {"ports": 0, "routes": 0, "tunnels": 0}


def parse_routes(text: str) -> list[Route]:
    """Return the routes that ``ip -json route show`` prints; none where it prints something else."""
    try:
        rows = json.loads(text or "[]")
    except ValueError:
        return []
    return [row for row in rows if isinstance(row, dict) and row.get("dst") not in LINK_LOCAL]


def shared_of(steps: list[WalkedDevice], spaces: Spaces, routes: Iterable[Route]) -> list[Shared]:
    """Return for each device of a path what else uses it. ``routes`` are those of the host; what is
    in the namespace of the path's end is the end's own.
    """
    host = spaces.get("", {})
    on_path = {step["device"] for step in steps if not step["netns"]}
    leaving = [row["under"] for row in tunnels({"": host}) if row["device"] not in on_path]
    by_device = list(itertools.chain.from_iterable(map(_devices, routes)))
    ports: set[str] = set()
    found: list[Shared] = []
    for step in steps:
        if step["netns"]:
            found.append(NOTHING)
            continue
        name = step["device"]
        ports |= _ports(name, host) - on_path
        routed = by_device.count(name)
        found.append({"ports": len(ports), "routes": routed, "tunnels": leaving.count(name)})
    return found


def _ports(name: str, host: Mapping[str, Link]) -> set[str]:
    """Return the ports of a bridge, or those of the switch that a device belongs to."""
    on_switch = name in host and host[name]["master"] == OVS
    master = OVS if on_switch else name
    return {port for port, link in host.items() if link["master"] == master}


def _devices(route: Route) -> list[str]:
    hops = route.get("nexthops") or [route]
    return [hop["dev"] for hop in hops if isinstance(hop, dict) and "dev" in hop]
