# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of a single-host lab and their variables, for its inventory. Pure."""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, Union

from .._base.errors import InputError
from .node import DEVICE, UPLINK, DeviceOptions, NodeOptions, validate

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
) -> dict[str, HostVariables]:
    """Return the hosts of a lab with their variables, by inventory name; raise :class:`InputError`.

    Each of the ``ports`` is a device with a network of its own: ``underlay`` and those that follow
    it. With a fault as ``nic`` the first node has a network card in user space.
    """
    network = _checked_network(underlay, nodes, ports)
    hosts: dict[str, HostVariables] = {}
    for index in range(1, nodes + 1):
        addresses = [
            str(network[0] + number * network.num_addresses + index) for number in range(ports)
        ]
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
        validate(name, [node])
        hosts[f"node{index}"] = {
            **_variables(node, index, addresses[0], network.prefixlen),
            **(_variables_of_more(addresses, uplink) if more else {}),
        }
    return hosts


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
            f"A larger network has room for more, up to {MOST_NODES}.",
        )
    if not 1 <= ports <= MOST_PORTS:
        raise InputError(
            f"{ports} ports are not in the range 1 to {MOST_PORTS}",
            "ports",
            "Give a number of devices.",
        )
    return network


def _variables(node: NodeOptions, index: int, address: str, prefix: int) -> HostVariables:
    """Return the variables of a node with one device."""
    return {
        "ansible_connection": "offload.lab.namespace",
        "ansible_host": node["name"],
        "ansible_python_interpreter": "/usr/bin/python3",
        "offload_lab_index": index,
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
