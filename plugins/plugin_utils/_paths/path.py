# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a path is: how packets travel from one node to another. Pure.

All that follows from a path is asked of it here: its encapsulation, the MTU and the MSS, the VNIs
on the underlay, the devices that its packets meet, its two ends. Nothing else knows paths by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._base.network import OVERHEAD

FORWARDER = "forwarder"  # the end that is none: a host between the two that forwards
FORWARDERS = "lab_forwarders"  # the group of such hosts in an inventory
UNDERLAY = "underlay"  # the class of the devices by which a node's packets leave it
TCP_HEADERS = {4: 40, 6: 60}  # bytes of IP and TCP, by the IP version of the path
TIMESTAMPS = 12  # bytes of the TCP option that each segment carries while tcp_timestamps is on


class PathDevice(TypedDict):
    """A device of a node, in the node's own network namespace or in another."""

    name: str
    netns: NotRequired[str]


class MetDevice(TypedDict):
    """A device that a path's packets meet."""

    name: str
    netns: str | None
    alike: NotRequired[bool]  # the path uses one of several such devices


class End(TypedDict):
    """A node's end of a path."""

    netns: str | None
    address: str
    all: NotRequired[list[End]]  # where the node has several ends


class Pair(TypedDict):
    """Two nodes that measure together: the names of a path's two ends."""

    client: str
    server: str


class CampaignHost(TypedDict):
    """What a host does in a campaign."""

    member: bool
    end: str  # whose settings it gets
    pairs: list[Pair]  # whose client it is
    partners: list[str]  # the hosts that it measures with; of a node "GUEST PARTNER" of its guests
    needed: list[str]  # hosts that must have taken the profile, too
    lost_without: dict[str, list[str]]  # {one of them: the partners that are lost without it}
    elsewhere: list[str]  # classes of devices that are another host's alone


Devices = dict[str, list[PathDevice]]  # {device class: devices}
Endpoints = dict[str, End]  # {path: end}


class OnNode(TypedDict):
    """What one node has of all its paths."""

    endpoints: Endpoints
    devices: Devices


class Existing(TypedDict):
    """What one node has of an existing path."""

    end: End
    devices: Devices


@dataclass(frozen=True)
class Encapsulation:
    """What is put around the packets of a path."""

    name: str
    overhead: Mapping[int, int]  # bytes of the underlay's MTU, by the IP version of the underlay
    vni: int | None = None  # None: the lab's, offload_lab_vni
    port: int | None = None  # of UDP; None: the lab's, offload_lab_vxlan_port


PLAIN = Encapsulation("none", {4: 0, 6: 0})
VXLAN = Encapsulation("vxlan", OVERHEAD["vxlan"])
GENEVE = Encapsulation("geneve", OVERHEAD["geneve"])
GRE = Encapsulation("gre", OVERHEAD["gre"])


@dataclass(frozen=True)
class Path:
    """A path between any two nodes."""

    name: str
    devices: tuple[str, ...]  # the classes that its packets meet, which a campaign varies on it
    encapsulation: Encapsulation = PLAIN
    by_uplink: bool = False  # it leaves a node by the last device of the underlay, not the first
    several: bool = False  # a node may have several ends of it, and a workload may use them all
    needs: str = ""  # what a user sets to give a node an end of it
    # By node, of an existing path; the lab's paths are planned
    nodes: Mapping[str, Existing] = field(default_factory=dict)

    @property
    def tunnelled(self) -> bool:
        """Return whether the path's packets are encapsulated on the underlay."""
        return self.encapsulation.name != PLAIN.name

    def overhead(self, underlay_ip: int = 4, tag: int = 0) -> int:
        """Return the bytes of the underlay's MTU that the encapsulation takes; ``tag`` are the
        bytes of a VLAN tag on the inner frames.
        """
        return self.encapsulation.overhead[underlay_ip] + (tag if self.tunnelled else 0)

    def mtu(self, underlay_mtu: int, underlay_ip: int = 4, tag: int = 0) -> int:
        """Return the MTU in bytes that the path's own packets must keep to."""
        return underlay_mtu - self.overhead(underlay_ip, tag)

    def mss(self, mtu: int, path_ip: int = 4, timestamps: bool = True) -> int:
        """Return the bytes of data in a full TCP segment, where packets have :meth:`mtu` bytes."""
        return mtu - TCP_HEADERS[path_ip] - (TIMESTAMPS if timestamps else 0)

    def vnis(self, lab_vni: int) -> list[int]:
        """Return the VNIs that the path's packets show on the underlay: one, or none."""
        if not self.tunnelled:
            return []
        return [lab_vni if self.encapsulation.vni is None else self.encapsulation.vni]

    def end_on(self, end: str, endpoints: Mapping[str, End] | None) -> list[End]:
        """Return all ends that a node has of the path; ``end`` is client or server, for messages."""
        try:
            first = (endpoints or {})[self.name]
            return first.get("all") or [first]
        except (KeyError, TypeError, AttributeError):
            raise InputError(
                f"the {end} has no endpoint on this path",
                f"path {self.name}",
                "Give 'endpoints' for every path of the plan, or leave the path out of the campaign.",
            ) from None

    def devices_met(self, devices: Devices, netns: str | None) -> list[MetDevice]:
        """Return the devices that packets meet on a node whose end of the path is in ``netns``.

        They are all devices of the underlay, although the path uses one, and the first device of
        each other class in the namespace of the end.
        """
        met = underlay_met(devices.get(UNDERLAY) or [])
        for name in self.devices:
            if name != UNDERLAY:
                met += _first_in(netns, devices.get(name) or [])
        return met


def underlay_met(underlay: list[PathDevice]) -> list[MetDevice]:
    """Return the devices of an underlay; a path uses one of several, or of a forwarder two."""
    if len(underlay) > 1:
        return [
            {"name": device["name"], "netns": device.get("netns"), "alike": True}
            for device in underlay
        ]
    return [{"name": device["name"], "netns": device.get("netns")} for device in underlay]


def _first_in(netns: str | None, devices: list[PathDevice]) -> list[MetDevice]:
    """Return the first of the devices that is in a namespace, in a list; or none."""
    inside = [device for device in devices if device.get("netns") == netns]
    return [{"name": device["name"], "netns": netns} for device in inside[:1]]
