# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the devices that the packets of each path meet at both ends of a pair."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NotRequired, TypedDict

from .._lab.nouns import Devices, Endpoints
from .._lab.paths import PATHS
from .trials import pair_endpoints


class Node(TypedDict):
    """What a node has in the lab."""

    endpoints: Endpoints
    devices: Devices


class Sight(TypedDict):
    """A device to look at."""

    name: str
    netns: str | None
    alike: NotRequired[bool]  # of several a path uses one


class EvidencePath(TypedDict):
    """A path as module evidence takes it."""

    name: str
    netns: str | None
    local_address: str | None
    address: str
    port: int
    data_port: int | None
    client_devices: list[Sight]
    server_devices: list[Sight]


def _devices(path: str, devices: Devices, netns: str | None) -> list[Sight]:
    """Return the underlay's devices, and the first of each other class that is in the path's own
    namespace.

    Of several underlay devices a path uses one: they are ``alike``.
    """
    sights: list[Sight] = [
        {"name": device["name"], "netns": device.get("netns")}
        for device in devices.get("underlay") or ()
    ]
    if len(sights) > 1:
        sights = [{**sight, "alike": True} for sight in sights]
    for name in PATHS[path].devices:
        if name != "underlay":
            inside = [device for device in devices.get(name) or () if device.get("netns") == netns]
            sights += [{"name": device["name"], "netns": netns} for device in inside[:1]]
    return sights


def evidence_paths(
    paths: Iterable[str],
    client: Node,
    server: Node,
    port: int = 12865,
    data_port: int | None = None,
) -> list[EvidencePath]:
    """Return ``paths`` as module evidence takes them. ``data_port``: see :func:`data_port` of
    trials.

    ``client`` and ``server`` have ``endpoints`` (by path) and ``devices`` (by class) of one node
    each.
    """
    asked: list[EvidencePath] = []
    for path in paths:
        end = pair_endpoints(
            path, {"client": client["endpoints"], "server": server["endpoints"]}, port
        )[0]
        there = (server["endpoints"][path].get("all") or [server["endpoints"][path]])[0]
        asked.append(
            {
                "name": path,
                "netns": end["netns"],
                "local_address": end["local"],
                "address": end["address"],
                "port": port,
                "data_port": data_port,
                "client_devices": _devices(path, client["devices"], end["netns"]),
                "server_devices": _devices(path, server["devices"], there.get("netns")),
            }
        )
    return asked
