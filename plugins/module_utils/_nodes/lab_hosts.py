# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of a single-host lab and their variables, for its inventory. Pure."""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, Union

from .._base.errors import InputError
from .node import (
    DEVICE,
    FORWARDS,
    MOST_SEGMENTS,
    UPLINK,
    DeviceOptions,
    NodeOptions,
    Route,
    validate,
)

FORWARDER = "forwarder"  # its name in the inventory
ROUTING = ("routed", "nat")
MOST_NODES = 254
MOST_PORTS = 9
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
HostVariables = Dict[str, Any]  # of one host, as Ansible has them


def lab_hosts(
    name: str,
    nodes: int,
    mtu: int,
    underlay: str,
    *,
    ports: int = 1,
    uplink: bool = False,
    nic: str = "",
    forwarder: str = "none",
) -> dict[str, HostVariables]:
    """Return the hosts of a lab with their variables, by inventory name; raise :class:`InputError`.

    Each of the ``ports`` is a device with a network of its own: ``underlay`` and those that follow
    it. With a fault as ``nic`` the first node has a network card in user space. With a
    ``forwarder`` each node is in a segment of its own, and :data:`FORWARDER` joins them.
    """
    network = _checked_network(underlay, nodes, ports)
    between = _checked_forwarder(forwarder, network, nodes, ports)
    hosts: dict[str, HostVariables] = {}
    for index in range(1, nodes + 1):
        addresses = _addresses(network, index, ports, between)
        more: list[DeviceOptions] = [
            {"name": f"underlay{number}", "addresses": [f"{address}/{network.prefixlen}"]}
            for number, address in enumerate(addresses)
            if number
        ]
        if uplink:
            more.append({"name": UPLINK, "addresses": []})
        node: NodeOptions = {
            "name": f"{name}-node{index}",
            "mtu": mtu,
            "addresses": [f"{addresses[0]}/{network.prefixlen}"],
            "more": more,
        }
        if nic and index == 1:
            node["nic"] = nic
        if between:
            node["segment"] = index
            node["routes"] = _routes(network, index, nodes, between)
        validate(name, [node])
        hosts[f"node{index}"] = {
            **_variables(node, addresses[0], network.prefixlen),
            "offload_lab_index": index,
            **(_variables_of_more(addresses, uplink) if more else {}),
        }
    if between:
        hosts[FORWARDER] = _forwarder(f"{name}-{FORWARDER}", between, network, nodes, mtu)
    return hosts


def _checked_forwarder(kind: str, network: Network, nodes: int, ports: int) -> str:
    """Return what the forwarder does, empty for none; raise InputError where there can be none."""
    if kind in ("", "none"):
        return ""
    where = f"forwarder {kind}"
    if kind not in FORWARDS:
        raise InputError("not what a forwarder does", where, f"Use none, {', '.join(FORWARDS)}.")
    if network.version == 6:
        raise InputError("it forwards IPv4 alone", where, "Give a network of IPv4 as 'underlay'.")
    if not 2 <= nodes <= MOST_SEGMENTS or ports > 1:
        raise InputError(
            f"{nodes} nodes with {ports} ports cannot be around it",
            where,
            f"Give 2 to {MOST_SEGMENTS} nodes, and one port.",
        )
    return kind


def _addresses(network: Network, index: int, ports: int, between: str) -> list[str]:
    """Return the addresses of a node's ports; with a router each node has a network of its own."""
    first = index - 1 if between in ROUTING else 0
    places = [number * network.num_addresses + index for number in range(first, first + ports)]
    return [str(network[0] + position) for position in places]


def _gateway(network: Network, index: int) -> str:
    """Return the forwarder's address in the network of node ``index``: the last."""
    return str(network[0] + index * network.num_addresses - 2)


def _routes(network: Network, index: int, nodes: int, between: str) -> list[Route]:
    """Return the routes of a node to the networks of all others, where a forwarder routes."""
    if between not in ROUTING:
        return []
    others = [number for number in range(1, nodes + 1) if number != index]
    return [
        {
            "to": f"{network[0] + (number - 1) * network.num_addresses}/{network.prefixlen}",
            "via": _gateway(network, index),
        }
        for number in others
    ]


def _forwarder(name: str, forwards: str, network: Network, nodes: int, mtu: int) -> HostVariables:
    """Return the variables of the host between the nodes; its device ``underlay0`` is the first
    node's.
    """
    prefix = network.prefixlen
    more: list[DeviceOptions] = []
    for index in range(2, nodes + 1):
        addresses = [] if forwards == "bridged" else [f"{_gateway(network, index)}/{prefix}"]
        more.append({"name": f"underlay{index - 1}", "addresses": addresses, "segment": index})
    node: NodeOptions = {
        "name": name,
        "mtu": mtu,
        "addresses": [f"{_gateway(network, 1)}/{prefix}"],
        "more": more,
        "segment": 1,
        "forwards": forwards,
    }
    return {
        **_variables(node, _gateway(network, 1), prefix),
        "offload_lab_forwarder_devices": [DEVICE, *(device["name"] for device in more)],
    }


def _checked_network(underlay: str, nodes: int, ports: int) -> Network:
    """Return the network of the first ports; raise InputError where it has no room for all nodes."""
    try:
        network = ipaddress.ip_network(underlay)
    except ValueError as error:
        raise InputError(
            f"{underlay!r} is not a network ({error})", "underlay", "Write it like 198.18.0.0/24."
        )
    most = min(MOST_NODES, network.num_addresses - 2)
    if not 1 <= nodes <= most:
        raise InputError(
            f"{nodes} nodes are not in the range 1 to {most}, the addresses of {network}",
            "nodes",
            f"Use fewer nodes, or a larger network (up to {MOST_NODES} nodes).",
        )
    if not 1 <= ports <= MOST_PORTS:
        raise InputError(
            f"{ports} ports are not in the range 1 to {MOST_PORTS}",
            "ports",
            "Give a number of devices.",
        )
    return network


def _variables(node: NodeOptions, address: str, prefix: int) -> HostVariables:
    """Return the variables of a node with one device."""
    return {
        "ansible_connection": "offload.lab.namespace",
        "ansible_host": node["name"],
        "ansible_python_interpreter": "/usr/bin/python3",
        "offload_lab_underlay_device": DEVICE,
        "offload_lab_underlay_address": address,
        "offload_lab_underlay_prefix": prefix,
        "offload_lab_underlay_mtu": node["mtu"],
        "offload_lab_node": node,
    }


def _variables_of_more(addresses: list[str], uplink: bool) -> HostVariables:
    """Return the variables that further devices add to a node's."""
    return {
        "offload_lab_more_ports": [
            {"device": f"underlay{number}", "address": address}
            for number, address in enumerate(addresses)
            if number
        ],
        "offload_lab_uplink_device": UPLINK if uplink else "",
    }
