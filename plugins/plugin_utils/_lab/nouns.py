# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nouns of a lab: tenant, device, end of a path, tunnel."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Neighbor(TypedDict):
    """What a tenant knows of another one."""

    address: str
    mac: str


class Tenant(TypedDict):
    """A tenant as module tenants takes it."""

    name: str
    addresses: NotRequired[list[str]]  # with prefix length
    mac: NotRequired[str]
    mtu: NotRequired[int]  # bytes
    namespace: NotRequired[bool]  # False: the host's own end
    neighbors: NotRequired[list[Neighbor]]
    flat: NotRequired[bool]  # reached by an uplink, without a tunnel
    linux_bridge: NotRequired[bool]
    tag: NotRequired[int]  # VLAN inside the switch


class Device(TypedDict):
    """A device that a campaign can vary."""

    name: str
    netns: NotRequired[str]


class Port(TypedDict):
    """A port of a switch for a tenant that is a host of its own."""

    name: str
    tag: NotRequired[int]  # VLAN inside the switch, 0 for none


class End(TypedDict):
    """A node's end of a path."""

    netns: str | None
    address: str
    all: NotRequired[list[End]]  # where a path has several


class Tunnel(TypedDict):
    """A tunnel to other nodes."""

    name: str
    vni: int
    local: str  # address of the underlay
    remotes: list[str]
    tag: int | None  # VLAN inside the switch, 0 for none


class Links(TypedDict):
    """Devices by the MTU that they have."""

    outer: list[Device]  # the underlay's
    inner: list[Device]  # what the tunnel leaves of it


Devices = dict[str, list[Device]]  # {device class: devices}
Endpoints = dict[str, End]  # {path: end}
