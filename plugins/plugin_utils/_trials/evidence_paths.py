# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the devices that the packets of each path meet at both ends of a pair."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NotRequired, TypedDict

from .._paths.path import UNDERLAY, Devices, MetDevice, OnNode, Path, underlay_met
from .trials import pair_endpoints


class EvidencePath(TypedDict):
    """A path as module evidence takes it."""

    name: str
    netns: str | None
    local_address: str | None
    address: str
    port: int
    data_port: int | None
    client_devices: list[MetDevice]
    server_devices: list[MetDevice]
    forwarder_devices: NotRequired[list[MetDevice]]


def evidence_paths(
    paths: Iterable[Path],
    client: OnNode,
    server: OnNode,
    port: int = 12865,
    *,
    data_port: int | None = None,
    forwarder: Devices | None = None,
) -> list[EvidencePath]:
    """Return ``paths`` as module evidence takes them; ``data_port``: see :func:`.trials.data_port`.

    Where the nodes have several ends of a path, the stream runs between the first of them.
    ``forwarder`` has the devices of a host between the nodes; a path by uplink does not meet it.
    """
    endpoints = {"client": client["endpoints"], "server": server["endpoints"]}
    options: list[EvidencePath] = []
    for path in paths:
        first = pair_endpoints(path, endpoints, port)[0]
        there = path.end_on("server", server["endpoints"])[0]
        options.append(
            {
                "name": path.name,
                "netns": first["netns"],
                "local_address": first["local"],
                "address": first["address"],
                "port": port,
                "data_port": data_port,
                "client_devices": path.devices_met(client["devices"], first["netns"]),
                "server_devices": path.devices_met(server["devices"], there.get("netns")),
            }
        )
        if forwarder and not path.by_uplink:
            options[-1]["forwarder_devices"] = underlay_met(forwarder.get(UNDERLAY) or [])
    return options


def crossed_devices(paths: Iterable[Path], devices: Devices) -> list[MetDevice]:
    """Return all devices of a node where some of ``paths`` are its own network, in whatever namespace;
    no devices where the lab has built all of them.

    In each of these namespaces the kernel may refuse packets, and counts them there.
    """
    if not any(path.nodes for path in paths):
        return []
    return [
        {"name": device["name"], "netns": device.get("netns")}
        for device in chain.from_iterable(devices.values())
    ]
