#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: lab_node
short_description: Return what a node has in the lab
version_added: 0.1.0
description:
  - Derives from a node's variables C(offload_lab_*), which role C(common) sets, its tenants, the addresses and devices
    by which it is measured, and the tunnels it needs.
  - A host of the group C(lab_tenants) is a tenant. It has one device, and an end of one path. A host of the group
    C(lab_forwarders) has the devices C(offload_lab_forwarder_devices), and no end of a path.
  - Works on the controller alone. It needs no connection to the node, and the lab need not be there.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.controller
  - offload.lab.attributes.info
options:
  part:
    description:
      - What to return. V(devices) needs no address and no MTU, V(tunnels) the addresses of all nodes.
      - V(own) makes the paths of an existing network, from what M(offload.lab.discover_info) found at the
        nodes of the play.
    type: str
    choices: [ends, devices, tunnels, own]
    default: ends
  datapath:
    description: The datapath of the switch. With V(netdev) the tunnels are devices.
    type: str
    choices: [system, netdev]
    default: system
  own_paths:
    description: The paths of a network that exists already, as RV(own) has them. The node gets its ends and devices.
    type: dict
    default: {}
seealso:
  - module: offload.lab.request
"""

EXAMPLES = r"""
- name: Set the variables of the lab
  ansible.builtin.import_role:
    name: offload.lab.common

- name: Find out what the node has in the lab
  offload.lab.lab_node:
  register: mine

- name: Show the devices of the tenants
  ansible.builtin.debug:
    msg: "{{ mine.devices.tenant }}"
"""

RETURN = r"""
addresses:
  description: The addresses of RV(endpoints) that the lab gives, each once in a lab.
  returned: with O(part=ends)
  type: list
  elements: str
  sample: [198.18.0.1, 192.168.10.1]
datapath:
  description: The O(datapath).
  returned: with O(part=ends)
  type: str
  sample: netdev
devices:
  description: By class the devices of the node, each with C(name) and, inside a namespace, C(netns).
  returned: with O(part=ends) and O(part=devices)
  type: dict
  sample: {underlay: [{name: eth1}], tenant: [{name: tenant1-veth0, netns: tenant1}]}
endpoints:
  description: By path the node's end, C(address) and C(netns), and C(all), a list of these where there are several.
  returned: with O(part=ends)
  type: dict
  sample: {physical: {address: 198.18.0.1, netns: null}}
guest_ports:
  description:
    - The ports of the node's switch for tenants that are hosts of their own, as M(offload.lab.ovs_ports) takes them.
      Those that a hypervisor connects are not among them.
  returned: with O(part=ends)
  type: list
  elements: dict
  sample: [{name: guest1-0}]
links:
  description: The devices that have the underlay's MTU, C(outer), and those that have what the tunnel leaves, C(inner).
  returned: with O(part=ends)
  type: dict
  sample: {outer: [{name: eth1}], inner: [{name: tenant1-veth0, netns: tenant1}]}
own:
  description:
    - The paths of an existing network, by name. C(classes) of devices that a campaign may vary, C(vni) and
      C(port) of VXLAN, C(mtu) of the path's own packets, and C(nodes), the end and the devices of each node.
  returned: with O(part=own)
  type: dict
  sample: {pods: {classes: [underlay, tenant], vni: 1, port: 8472, mtu: 1450, nodes: {}}}
other_ends:
  description: What the node's own ends have at the other side, C(address), and C(netns) from which it is reached.
  returned: with O(part=own)
  type: list
  elements: dict
  sample: [{netns: pod, address: 10.244.2.5}]
tenants:
  description: The tenants, as M(offload.lab.tenants) takes them.
  returned: with O(part=ends)
  type: list
  elements: dict
  sample: [{name: tenant1, addresses: [192.168.10.1/24]}]
ports:
  description: The ports of the tunnels, as M(offload.lab.ovs_ports) takes them.
  returned: with O(part=tunnels)
  type: list
  elements: dict
  sample: [{name: vxlan0}]
uplink:
  description: The port of the uplink that tenants without a tunnel use, as M(offload.lab.ovs_ports) takes it.
  returned: with O(part=tunnels)
  type: list
  elements: dict
  sample: []
vxlan_devices:
  description: The VXLAN devices that the ports need, with C(name), C(vni), C(local) and C(remotes).
  returned: with O(part=tunnels)
  type: list
  elements: dict
  sample: [{name: vxlan0, vni: 10, remotes: [198.18.0.2]}]
"""
