# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory of the single-host lab: any number of nodes made of namespaces of this machine."""

from __future__ import annotations

DOCUMENTATION = r"""
name: single_host
short_description: The nodes of the single-host lab
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Gives the hosts C(node1), C(node2) and so on in the group C(lab_nodes).
  - The nodes themselves are made by the playbook C(offload.lab.nodes) and entered by the connection plugin
    P(offload.lab.namespace#connection).
  - Each host gets C(offload_lab_index), C(offload_lab_underlay_device), C(offload_lab_underlay_address),
    C(offload_lab_underlay_prefix), C(offload_lab_underlay_mtu), C(offload_lab_more_ports),
    C(offload_lab_uplink_device), C(offload_lab_install_packages), C(offload_lab_service_manager), and
    C(offload_lab_node), which is what the playbook makes of it. All hosts get C(offload_lab_name).
  - No other variables are needed, so one file is a whole inventory.
notes:
  - The name of the file must end with C(single_host.yml) or C(single_host.yaml).
  - An option in the file wins over its environment variable.
options:
  plugin:
    description: The name of this plugin, V(offload.lab.single_host).
    type: str
    required: true
    choices: [offload.lab.single_host]
  nodes:
    description: The number of nodes, 1 to 254.
    type: int
    default: 2
    env:
      - name: OFFLOAD_LAB_NODES
  name:
    description:
      - Name of the lab. The names of its nodes and namespaces begin with it, so labs of different names can be on one
        machine at the same time.
      - 1 to 40 letters, digits, hyphens and underscores.
    type: str
    default: lab
    env:
      - name: OFFLOAD_LAB_NAME
  mtu:
    description: MTU of the underlay in bytes, 68 to 65535, or 1280 to 65535 over IPv6.
    type: int
    default: 9000
    env:
      - name: OFFLOAD_LAB_MTU
  ports:
    description:
      - Number of underlay devices of a node, 1 to 9, each with a network of its own, which follow O(underlay).
    type: int
    default: 1
    env:
      - name: OFFLOAD_LAB_PORTS
  uplink:
    description:
      - Whether a node has the device C(uplink0), through which tenants' packets go without a tunnel. It has no address.
    type: bool
    default: false
    env:
      - name: OFFLOAD_LAB_UPLINK
  underlay:
    description:
      - Network of the underlay. The node with number N has its address number N.
      - The default is in the range for benchmarks of RFC 2544. C(2001:2::/64) is its counterpart for IPv6 (RFC 5180).
    type: str
    default: 198.18.0.0/24
    env:
      - name: OFFLOAD_LAB_UNDERLAY
  forwarder:
    description:
      - What is between the nodes. V(none) is a bridge that they all are on.
      - Else each node is in a segment of its own, and the host C(forwarder) in the group C(lab_forwarders) joins the
        segments. V(routed) gives each node an IPv4 network of its own, which follow O(underlay), and routes. V(nat)
        gives what C(node1) sends the forwarder's address, too. V(bridged) leaves all nodes in one network.
      - The number of nodes is 2 to 10 then, and O(ports) is 1.
    type: str
    default: none
    env:
      - name: OFFLOAD_LAB_FORWARDER
  nic:
    description:
      - What the network card of C(node1) does to packets, to see what is reported. Without it C(underlay0) is a veth,
        as on all other nodes.
      - With it C(underlay0) is a tap, and a process carries packets between it and the fabric. V(honest) keeps the
        contract of offloads.
      - V(KIND[:RATE[:CONDITION[+CONDITION]]]) breaks it for what C(node1) sends. V(bit_flipped:0.01:tso) flips a bit
        in one of a hundred packets that the card has to cut, V(checksum_unfilled:1:tunnel+tx) leaves out each checksum
        of what is tunnelled.
      - With the condition V(gro) it breaks what C(node1) receives, while GRO is on.
      - A wrong value lists the kinds and conditions.
    type: str
    default: ''
    env:
      - name: OFFLOAD_LAB_NIC
"""

EXAMPLES = r"""
# inventories/single_host/lab.single_host.yml
plugin: offload.lab.single_host

# A router with NAT between two nodes:
# plugin: offload.lab.single_host
# forwarder: nat

# Eight nodes with an ordinary MTU:
# plugin: offload.lab.single_host
# nodes: 8
# mtu: 1500
"""

from itertools import product
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin

from ..module_utils._base.errors import InputError
from ..module_utils._nodes.lab_hosts import FORWARDER, lab_hosts
from ..plugin_utils._paths.path import FORWARDERS

try:
    from ansible.template import trust_as_template
except ImportError:  # ansible-core 2.18 has no such marks

    def trust_as_template(value: str) -> str:
        return value


GROUP = "lab_nodes"
# A node shares the packages of its machine (the playbook nodes installs them) and has no service
# manager.
GROUP_VARIABLES = {"offload_lab_install_packages": False, "offload_lab_service_manager": "ovs-ctl"}


def _trusted(value: Any) -> Any:
    """Return a value whose texts need no mark as unsafe: AWX takes ``{"__ansible_unsafe": ...}``
    for a mapping.

    They are names and addresses that :func:`lab_hosts` checked.
    """
    if isinstance(value, dict):
        return {key: _trusted(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_trusted(part) for part in value]
    return trust_as_template(value) if isinstance(value, str) else value


class InventoryModule(BaseInventoryPlugin):
    """Hosts, group and variables of the lab, worked out by :func:`lab_hosts`."""

    NAME = "offload.lab.single_host"

    def verify_file(self, path: str) -> bool:
        return super().verify_file(path) and path.endswith(("single_host.yml", "single_host.yaml"))

    def parse(
        self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True
    ) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        options = {
            name: self.get_option(name)
            for name in ("name", "nodes", "mtu", "underlay", "ports", "uplink", "nic", "forwarder")
        }
        try:
            hosts = lab_hosts(**options)
        except InputError as error:
            raise AnsibleParserError(str(error)) from error
        inventory.add_group(GROUP)
        inventory.set_variable("all", "offload_lab_name", _trusted(options["name"]))
        groups = [GROUP]
        if FORWARDER in hosts:
            inventory.add_group(FORWARDERS)
            groups.append(FORWARDERS)
            inventory.set_variable("all", "offload_lab_forwarding", _trusted(options["forwarder"]))
        for group, (name, value) in product(groups, GROUP_VARIABLES.items()):
            inventory.set_variable(group, name, _trusted(value))
        for host, variables in hosts.items():
            inventory.add_host(host, group=FORWARDERS if host == FORWARDER else GROUP)
            for name, value in variables.items():
                inventory.set_variable(host, name, _trusted(value))
