# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the underlay of a single-host lab: a veth for each node, or two taps with a network card in
user space between them, joined by a bridge in the fabric's namespace.
"""

from __future__ import annotations

import ipaddress
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Tuple, TypedDict

from .node import BRIDGE, DEVICE, MORE, Node, mac_of

Join = Tuple[str, str, List[str], str]  # a device, its port in the fabric, addresses, MAC address


class NodeLink(TypedDict):
    """What the plan needs to know of a device that is there."""

    ifindex: int
    peer: int | None
    mtu: int
    up: bool
    master: str | None
    addresses: list[str]


Links = Dict[str, NodeLink]
LinesOf = Dict[str, List[str]]  # by node


def joins(node: Node, port_of: Callable[[str], str]) -> list[Join]:
    """Return [(device, its port in the fabric, addresses, MAC address)] of a node."""
    name, port = node["name"], port_of(node["name"])
    joins_of_node = [(DEVICE, port, node["addresses"], mac_of(name))]
    for more in node.get("more") or ():
        place = f"{port}-{more['name'][0] + more['name'][-1]}"  # node1-u1; node1-u0 of uplink0
        joins_of_node.append((more["name"], place, more["addresses"], mac_of(name + more["name"])))
    return joins_of_node


def joined(device: NodeLink | None, port: NodeLink | None) -> bool:
    """Return whether a node's device and a port of the fabric are the two ends of one veth."""
    return bool(
        device and port and device["peer"] == port["ifindex"] and port["peer"] == device["ifindex"]
    )


def has_taps(node: Node, join: Join) -> bool:
    """Return whether a device is a tap that a network card in user space serves, not a veth."""
    return bool(node.get("nic")) and join[0] == DEVICE


def both_taps(device: NodeLink | None, port: NodeLink | None) -> bool:
    """Return whether a node's device and a port of the fabric are there and no ends of a veth."""
    return bool(device and port and device["peer"] is None and port["peer"] is None)


def bridge_lines(bridge: NodeLink | None) -> list[str]:
    """Return the ``ip -batch`` lines that make the bridge; it floods and forwards from its first
    moment on.
    """
    if bridge and bridge["up"]:
        return []
    made = [] if bridge else [f"link add name {BRIDGE} type bridge stp_state 0 mcast_snooping 0"]
    return made + [f"link set dev {BRIDGE} up"]


def delete_line(device: object, name: str) -> list[str]:
    """Return the line (none or one) that deletes a device if it is there."""
    return [f"link del dev {name}"] if device else []


def new_port_lines(node: Node, join: Join) -> list[str]:
    """Return the lines, for the fabric, that make a node's veth, or the tap beyond its own; ``join``
    is of :func:`joins`.
    """
    device, name, _addresses, mac = join
    mtu = node["mtu"]
    if has_taps(node, join):
        return [tap_line(name), f"link set dev {name} up mtu {mtu} master {BRIDGE}"]
    # The other end is made directly in its namespace: moving it there would cost 16 ms a node.
    return [
        f"link add name {name} up mtu {mtu} master {BRIDGE} type veth peer name {device} mtu {mtu} "
        f"address {mac} netns {node['name']}"
    ]


def port_lines(node: Node, name: str, port: NodeLink) -> list[str]:
    """Return the lines, for the fabric, that repair a node's port."""
    lines = []
    if port["mtu"] != node["mtu"]:
        lines.append(f"link set dev {name} mtu {node['mtu']}")
    if port["master"] != BRIDGE:
        lines.append(f"link set dev {name} master {BRIDGE}")
    if not port["up"]:
        lines.append(f"link set dev {name} up")
    return lines


def tap_line(name: str) -> str:
    """Return the line that makes a tap, whose packets have the header that says what is left to do."""
    return f"tuntap add dev {name} mode tap vnet_hdr"


def device_lines(node: Node, join: Join, device: NodeLink | None) -> list[str]:
    """Return the lines, for the node, that set one of its devices; ``device`` is None for a new
    one.
    """
    name, _port, addresses, _mac = join
    have = device["addresses"] if device else []
    lines = [f"address del {old} dev {name}" for old in have if old not in addresses]
    lines += [
        f"address add {new} dev {name}{flags_of(new)}" for new in addresses if new not in have
    ]
    if device and device["mtu"] != node["mtu"]:
        lines.append(f"link set dev {name} mtu {node['mtu']}")
    if not (device and device["up"]):
        lines.append(f"link set dev {name} up")
    return lines


def flags_of(address: str) -> str:
    """Return the flags of a new address: an IPv6 address skips duplicate detection, which would
    take a second.
    """
    return " nodad" if ipaddress.ip_interface(address).version == 6 else ""


class UnderlayLines(NamedTuple):
    """Lines of ``ip -batch``, in the order in which they have to run."""

    cuts: LinesOf  # for each node: they delete devices that are not two ends of one veth
    ports_cut: list[str]  # for the fabric: they delete such ports
    lines: list[str]  # for the fabric
    last: LinesOf  # for each node


def underlay_lines(
    wanted: Iterable[Node], ports: Links, links: Mapping[str, Links], port_of: Callable[[str], str]
) -> UnderlayLines:
    """Return the lines that join the nodes.

    ``ports`` are the devices seen in the fabric, ``links`` those seen in each node, both by name;
    ``port_of`` gives the name of a node's port.
    """
    found = UnderlayLines({}, [], bridge_lines(ports.get(BRIDGE)), {})
    for node in wanted:
        name, seen = node["name"], links.get(node["name"], {})
        wanted_joins = joins(node, port_of)
        kept = [join[0] for join in wanted_joins]
        gone = [old for old in seen if MORE.fullmatch(old) and old not in kept]
        found.cuts[name] = [f"link del dev {old}" for old in gone]
        loopback = seen.get("lo")
        found.last[name] = [] if loopback and loopback["up"] else ["link set dev lo up"]
        for join in wanted_joins:
            _add_join(found, node, join, seen.get(join[0]), ports.get(join[1]))
    return found


def _add_join(
    found: UnderlayLines, node: Node, join: Join, device: NodeLink | None, port: NodeLink | None
) -> None:
    """Add the lines for one veth between a node and the fabric."""
    name, (wanted, port_name, _addresses, mac) = node["name"], join
    by_taps = has_taps(node, join)
    if port and (both_taps if by_taps else joined)(device, port):
        found.lines.extend(port_lines(node, port_name, port))
    else:
        found.cuts[name].extend(delete_line(device, wanted))
        found.ports_cut.extend(delete_line(port, port_name))
        found.lines.extend(new_port_lines(node, join))
        device = None
        if by_taps:
            set_up = f"link set dev {wanted} address {mac} mtu {node['mtu']}"
            found.last[name].extend([tap_line(wanted), set_up])
    found.last[name].extend(device_lines(node, join, device))
