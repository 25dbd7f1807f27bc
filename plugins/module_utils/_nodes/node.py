# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node of a single-host lab is: its names, its places on the machine, its addresses."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from typing import Iterable, TypedDict

from .._base import checks, network
from .._base.errors import InputError
from .._host import files
from .._host.netns import path_of
from . import faults

ROOT = files.STATE_FOLDER
DEVICE = "underlay0"
MAX_MTU_TAP = 65521  # a frame of 65,535 bytes, less its Ethernet header
UPLINK = "uplink0"
MORE = re.compile(r"underlay[1-9]|uplink0")  # devices after the first
# Names reserved in the fabric; a node cannot use them
RESERVED = re.compile(r"fabric|lo|br[0-9]*")
FORWARDS = ("routed", "nat", "bridged")  # what a node between others does with their packets
INNER_BRIDGE = "bridge0"  # of a node that bridges
# All of /run is private (OVS sockets, tenants' namespaces, pid files, no systemd of the machine),
# and these too.
PRIVATE = (
    "/etc/openvswitch",
    "/var/lib/openvswitch",
    "/var/log/openvswitch",
    "/var/lib/offload-lab",
)
MOST_SEGMENTS = 10
LAB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
NODE_SUFFIX = re.compile(r"[A-Za-z0-9_]{1,15}")


class _Named(TypedDict):
    name: str
    addresses: list[str]


class MoreDevice(_Named, total=False):
    """A further device of a node, after its first."""

    segment: int  # of the fabric; 0 or none: the one that all nodes share


class DeviceOptions(TypedDict, total=False):
    """A further device, as a user asks for it."""

    name: str
    addresses: list[str]
    segment: int


class Route(TypedDict):
    """A network behind another node, and that node's address."""

    to: str
    via: str


class NodeOptions(TypedDict, total=False):
    """A node as a user asks for it."""

    name: str
    addresses: list[str]
    mtu: int
    more: list[DeviceOptions]
    nic: str | None
    segment: int
    routes: list[Route]
    forwards: str | None


class _Wanted(TypedDict):
    name: str
    addresses: list[str]
    mtu: int
    more: list[MoreDevice]
    nic: str  # the fault of its network card in user space, or honest; empty: it is a veth


class Node(_Wanted, total=False):
    """A node that is wanted; what a lab without a forwarder does not have is left out."""

    segment: int  # of the fabric, of its first device
    routes: list[Route]
    forwards: str  # of FORWARDS


def home(node: str) -> str:
    """Return the directory of a node's files on the machine."""
    return f"{ROOT}/{node}"


def fabric(lab: str) -> str:
    """Return the name of the namespace whose bridge joins the underlays of a lab."""
    return lab + "-fabric"


def lab_of(node: str) -> str:
    """Return the lab that a node's name belongs to: all before the last hyphen, so that ``a`` never
    matches ``a-b``.
    """
    return node.rpartition("-")[0]


def port_of(node: str) -> str:
    """Return the name of a node's port on the bridge of the fabric."""
    return node.rpartition("-")[2]


def mac_of(node: str) -> str:
    """Return the MAC address of a node's underlay device, locally administered.

    It follows from the name, so the ARP caches of its neighbours stay right when a node is
    recreated.
    """
    return ":".join(["02"] + [f"{byte:02x}" for byte in hashlib.sha256(node.encode()).digest()[:5]])


def natural(name: str) -> list[int | str]:
    """Sort ``node2`` before ``node10``."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]


def enter(node: str, argv: list[str]) -> list[str]:
    """Return ``argv`` as it runs inside the namespaces of a node."""
    return [
        "nsenter",
        f"--net={path_of(node)}",
        f"--mount={home(node)}/mnt",
        f"--uts={home(node)}/uts",
        "--",
    ] + argv


def validate(lab: str, nodes: Iterable[NodeOptions]) -> list[Node]:
    """Return the wanted nodes with normalised addresses; raise :class:`InputError` for what cannot
    be.
    """
    if not LAB_NAME.fullmatch(lab):
        raise InputError(
            f"{lab!r} is not a name for a lab",
            "name",
            "Use 1 to 40 letters, digits, hyphens and underscores, a letter or digit first.",
        )
    by_name: dict[str, Node] = {}
    owners: dict[network.Address, str] = {}
    for node in nodes:
        name = node["name"]
        check_node(lab, name)
        if name in by_name:
            raise InputError(
                f"the node {name!r} is listed twice", "nodes", "Give every node its own name."
            )
        addresses = _own(name, node["addresses"], owners, "Give every node its own addresses.")
        check_mtu(name, node["mtu"], addresses)
        nic = node.get("nic") or ""
        if nic:
            faults.parse(nic)
            checks.number(node["mtu"], f"{name}: MTU of a tap", network.MIN_MTU, MAX_MTU_TAP)
        by_name[name] = {
            "name": name,
            "addresses": [str(address) for address in addresses],
            "mtu": node["mtu"],
            "more": more_devices(name, node.get("more") or [], owners),
            "nic": nic,
        }
        _add_place(by_name[name], node)
    return list(by_name.values())


def _add_place(checked: Node, node: NodeOptions) -> None:
    """Add to a node what it has in a lab with a forwarder: its segment, its routes, what it
    forwards.
    """
    name = node["name"]
    segment = node.get("segment") or 0
    forwards = node.get("forwards")
    if segment:
        checked["segment"] = checks.number(segment, f"{name}: segment", 0, MOST_SEGMENTS)
    if node.get("routes"):
        checked["routes"] = [_route(name, route) for route in node.get("routes") or ()]
    if forwards:
        checked["forwards"] = forwards
        if len(checked["more"]) == 0:
            raise InputError(
                "it has one device, and what is forwarded comes by one and leaves by another",
                name,
                "Give it another device in 'more'.",
            )


def _route(node: str, route: Route) -> Route:
    try:
        to = str(ipaddress.ip_network(route["to"]))
    except ValueError as error:
        raise InputError(f"{error}", f"{node}: route", "Write it like 198.18.1.0/24.")
    return {"to": to, "via": str(network.address(route["via"], f"{node}: via"))}


def layout_of(node: Node) -> str:
    """Return what a node was made with that is not repaired but made again: one that differs is
    removed first. Empty in a lab without a forwarder.
    """
    parts = [f"segment {node['segment']}"] if node.get("segment") else []
    parts += [f"route {route['to']} {route['via']}" for route in node.get("routes") or ()]
    parts += [f"forwards {node['forwards']}"] if node.get("forwards") else []
    return "\n".join(parts)


def bridge_of(segment: int) -> str:
    """Return the name of the bridge that is a segment of the fabric."""
    return f"br{segment}"


def _own(
    node: str, texts: Iterable[str], owners: dict[network.Address, str], to_do: str
) -> list[network.Interface]:
    """Return the checked addresses of a node, after adding them to ``owners``, which has the node
    of each address; raise InputError for one that has an owner already.
    """
    addresses = [network.interface(text, f"address of {node}") for text in texts]
    for address in addresses:
        if address.ip in owners:
            raise InputError(
                f"the address {address.ip} is already given to {owners[address.ip]}", node, to_do
            )
        owners[address.ip] = node
    return addresses


def more_devices(
    node: str, devices: Iterable[DeviceOptions], owners: dict[network.Address, str]
) -> list[MoreDevice]:
    """Return the checked devices of a node after its first; ``owners`` has the nodes of the
    addresses so far.
    """
    by_name: dict[str, MoreDevice] = {}
    for device in devices:
        name = device["name"]
        if not MORE.fullmatch(name) or name in by_name:
            raise InputError(
                f"{name!r} is not a name for one more device, or is listed twice",
                node,
                f"Use underlay1 to underlay9, or {UPLINK}.",
            )
        texts = device.get("addresses") or []
        addresses = _own(node, texts, owners, "Give every device its own addresses.")
        by_name[name] = {"name": name, "addresses": [str(address) for address in addresses]}
        if device.get("segment"):
            where = f"{node} {name}: segment"
            by_name[name]["segment"] = checks.number(device["segment"], where, 0, MOST_SEGMENTS)
    if by_name and len(port_of(node)) > 13:
        raise InputError(
            "the name is too long for a node with several devices",
            node,
            "Use at most 13 characters.",
        )
    return [by_name[name] for name in sorted(by_name)]


def check_node(lab: str, name: str) -> None:
    """Raise :class:`InputError` if a node of the lab cannot have this name."""
    if (
        lab_of(name) != lab
        or not NODE_SUFFIX.fullmatch(port_of(name))
        or RESERVED.fullmatch(port_of(name))
    ):
        raise InputError(
            f"{name!r} is not a name for a node of the lab {lab!r}",
            "nodes",
            f"Use {lab}-NODE, NODE being 1 to 15 letters, digits or underscores, but none of "
            "fabric, lo, br0, br1 and so on.",
        )


def check_mtu(name: str, mtu: int, addresses: Iterable[network.Interface]) -> None:
    """Raise :class:`InputError` if the underlay device cannot have this MTU with these addresses."""
    checks.number(mtu, f"{name}: MTU", network.MIN_MTU, network.MAX_MTU)
    if mtu < network.MIN_MTU_IPV6 and any(address.version == 6 for address in addresses):
        raise InputError(
            f"the MTU {mtu} is too small for IPv6",
            name,
            f"Use {network.MIN_MTU_IPV6} or more.",
        )
