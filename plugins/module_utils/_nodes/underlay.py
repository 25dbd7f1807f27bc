# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the underlay of a single-host lab: a veth for each node, or two taps with a network card in
user space between them, joined by a bridge in the fabric's namespace.

In a lab with a forwarder the fabric has a bridge for each segment. What leaves a port of such a
segment is cut to the MTU, as on a wire: a veth would carry super-packets whole, and the forwarder
would have nothing to merge.
"""

from __future__ import annotations

import ipaddress
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, TypedDict

from .._base.steps import Step
from .node import DEVICE, INNER_BRIDGE, MORE, Node, bridge_of, mac_of

# Not every kernel knows the second; where it does not there is nothing to switch off
CUTS = (("tso", "tx-udp-segmentation"), ("tx-gso-list",))


class Join(NamedTuple):
    """How a device of a node is joined to the fabric."""

    device: str
    port: str
    addresses: list[str]
    mac: str
    segment: int


class NodeLink(TypedDict):
    """What the plan needs to know of an existing device."""

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
    name = node["name"]
    port = port_of(node["name"])
    addresses = (
        [] if node.get("forwards") == "bridged" else node["addresses"]
    )  # its bridge has them
    joins_of_node = [Join(DEVICE, port, addresses, mac_of(name), node.get("segment", 0))]
    for more in node.get("more") or ():
        second_port = (
            f"{port}-{more['name'][0] + more['name'][-1]}"  # node1-u1; node1-u0 of uplink0
        )
        mac = mac_of(name + more["name"])
        join = Join(more["name"], second_port, more["addresses"], mac, more.get("segment", 0))
        joins_of_node.append(join)
    return joins_of_node


def joined(device: NodeLink | None, port: NodeLink | None) -> bool:
    """Return whether a node's device and a port of the fabric are the two ends of one veth."""
    return bool(
        device and port and device["peer"] == port["ifindex"] and port["peer"] == device["ifindex"]
    )


def has_taps(node: Node, join: Join) -> bool:
    """Return whether a device is a tap that a network card in user space serves, not a veth."""
    return bool(node.get("nic")) and join.device == DEVICE


def both_taps(device: NodeLink | None, port: NodeLink | None) -> bool:
    """Return whether a node's device and a port of the fabric are there and no ends of a veth."""
    return bool(device and port and device["peer"] is None and port["peer"] is None)


def bridge_lines(name: str, bridge: NodeLink | None) -> list[str]:
    """Return the ``ip -batch`` lines that make a bridge; it floods and forwards from its first
    moment on.
    """
    if bridge and bridge["up"]:
        return []
    lines = [] if bridge else [f"link add name {name} type bridge stp_state 0 mcast_snooping 0"]
    return lines + [f"link set dev {name} up"]


def delete_line(device: object, name: str) -> list[str]:
    """Return the line (none or one) that deletes a device if it is there."""
    return [f"link del dev {name}"] if device else []


def new_port_lines(node: Node, join: Join) -> list[str]:
    """Return the lines, for the fabric, that make a node's veth, or the tap beyond its own; ``join``
    is of :func:`joins`.
    """
    device, name, _addresses, mac, segment = join
    mtu = node["mtu"]
    bridge = bridge_of(segment)
    if has_taps(node, join):
        return [tap_line(name), f"link set dev {name} up mtu {mtu} master {bridge}"]
    # The other end is made directly in its namespace: moving it there would cost 16 ms a node.
    return [
        f"link add name {name} up mtu {mtu} master {bridge} type veth peer name {device} mtu {mtu} "
        f"address {mac} netns {node['name']}"
    ]


def cut_steps(ports: Iterable[str], netns: str) -> list[Step]:
    """Return the steps by which ports of the fabric cut what leaves them to the MTU."""
    steps = []
    for port in ports:
        for features in CUTS:
            argv = ["ethtool", "-K", port]
            for feature in features:
                argv += [feature, "off"]
            steps.append(Step(argv, None, netns, check=features is CUTS[0]))
    return steps


def port_lines(node: Node, join: Join, port: NodeLink) -> list[str]:
    """Return the lines, for the fabric, that repair a node's port."""
    lines = []
    name = join.port
    bridge = bridge_of(join.segment)
    if port["mtu"] != node["mtu"]:
        lines.append(f"link set dev {name} mtu {node['mtu']}")
    if port["master"] != bridge:
        lines.append(f"link set dev {name} master {bridge}")
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
    name = join.device
    addresses = join.addresses
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


def inner_bridge_lines(node: Node, join: Join) -> list[str]:
    """Return the line, for a node that bridges, that puts a new device on its bridge; or none."""
    if node.get("forwards") != "bridged":
        return []
    return [f"link set dev {join.device} master {INNER_BRIDGE}"]


def route_lines(node: Node) -> list[str]:
    """Return the lines, for the node, that set its routes; the kernel removed them with a device that is made
    again.
    """
    return [f"route replace {route['to']} via {route['via']}" for route in node.get("routes") or ()]


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
    wires: list[str]  # ports of the fabric that are to cut what leaves them


def underlay_lines(
    wanted_nodes: Iterable[Node],
    ports: Links,
    links: Mapping[str, Links],
    port_of: Callable[[str], str],
) -> UnderlayLines:
    """Return the lines that join the nodes.

    ``ports`` are the devices seen in the fabric, ``links`` those seen in each node, both by name;
    ``port_of`` gives the name of a node's port.
    """
    nodes = list(wanted_nodes)
    result = UnderlayLines({}, [], _bridges_lines(nodes, ports, port_of), {}, [])
    for node in nodes:
        name = node["name"]
        devices = links.get(node["name"], {})
        wanted_joins = joins(node, port_of)
        result.cuts[name] = _gone_lines(wanted_joins, devices)
        loopback = devices.get("lo")
        result.last[name] = [] if loopback and loopback["up"] else ["link set dev lo up"]
        for join in wanted_joins:
            _add_join(result, node, join, devices.get(join.device), ports.get(join.port))
        if any(join.port in result.wires for join in wanted_joins):
            result.last[name] += route_lines(node)
    return result


def _gone_lines(joins_of_node: Iterable[Join], links: Links) -> list[str]:
    """Return the lines that delete the devices of a node that it is not to have any more."""
    kept = [join.device for join in joins_of_node]
    gone = [old for old in links if MORE.fullmatch(old) and old not in kept]
    return [f"link del dev {old}" for old in gone]


def _bridges_lines(nodes: Iterable[Node], ports: Links, port_of: Callable[[str], str]) -> list[str]:
    """Return the lines that make the bridge that all nodes share, and the bridges of other segments."""
    segments = {0}
    for node in nodes:
        segments |= {join.segment for join in joins(node, port_of)}
    lines = []
    for segment in sorted(segments):
        name = bridge_of(segment)
        lines += bridge_lines(name, ports.get(name))
    return lines


def _add_join(
    result: UnderlayLines, node: Node, join: Join, device: NodeLink | None, port: NodeLink | None
) -> None:
    """Add the lines for one veth between a node and the fabric."""
    name = node["name"]
    device_name = join.device
    port_name = join.port
    mac = join.mac
    by_taps = has_taps(node, join)
    after: list[str] = []
    if port and (both_taps if by_taps else joined)(device, port):
        result.lines.extend(port_lines(node, join, port))
    else:
        result.cuts[name].extend(delete_line(device, device_name))
        result.ports_cut.extend(delete_line(port, port_name))
        result.lines.extend(new_port_lines(node, join))
        result.wires.extend([port_name] if join.segment else [])
        after = inner_bridge_lines(node, join)
        device = None
        if by_taps:
            set_up = f"link set dev {device_name} address {mac} mtu {node['mtu']}"
            result.last[name].extend([tap_line(device_name), set_up])
    result.last[name].extend(device_lines(node, join, device) + after)
