#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make and remove the nodes of the single-host lab."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodes
short_description: Make and remove the nodes of a single-host lab
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Makes nodes out of namespaces, so that a lab needs only one machine.
  - A node has its own network, mount and uts namespace. Its host name is its name.
  - A node has its own C(/sys), C(/run), C(/etc/openvswitch), C(/var/lib/openvswitch), C(/var/log/openvswitch) and
    C(/var/lib/offload-lab), so that each node runs its own Open vSwitch and has its own network namespaces.
    It shares the other files, the list of processes and the clock with the machine.
  - A node has one or more Ethernet devices, C(underlay0) first.
  - Each is a veth, whose other end is on a Linux bridge in the network namespace C(LAB-fabric), which joins the nodes
    of a lab. Two labs never see each other.
  - To see what a broken offload does, the first may be a tap with a network card in user space that breaks it.
  - The machine keeps a node's files in C(/run/offload-lab/NODE). A reboot of the machine removes the node.
  - An incomplete node, such as after a crash, is removed and made again.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  name:
    description:
      - Name of the lab. Its nodes' names begin with it and a hyphen.
      - 1 to 40 letters, digits, hyphens and underscores.
    type: str
    default: lab
  nodes:
    description:
      - The nodes.
      - Other nodes of the lab are left as they are.
      - For O(state=absent) only their names count, and an empty list means every node of the lab.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the node, which is also its host name and the name of its network namespace.
          - It is the name of the lab, a hyphen, and 1 to 15 letters, digits or underscores.
        type: str
        required: true
      addresses:
        description:
          - The addresses of C(underlay0) with their prefix lengths. It has these and no others.
        type: list
        elements: str
        default: []
      mtu:
        description:
          - MTU of C(underlay0) and of its port on the bridge, in bytes, 68 to 65535.
        type: int
        default: 9000
      nic:
        description:
          - Makes C(underlay0) a tap in place of a veth, with a network card in user space that carries its packets.
          - V(honest) keeps the contract of offloads, V(KIND[:RATE[:CONDITION[+CONDITION]]]) breaks it, such as
            V(bit_flipped:0.01:tso).
          - The card is a process in the node's network namespace. It ends with the node, and is started again with
            another value, or if it is not there.
        type: str
      segment:
        description:
          - Number of the segment that C(underlay0) is on, for a lab with a forwarder, 1 to 10. V(0) is the bridge that
            nodes share.
          - What leaves a port of such a segment is cut to the MTU, as on a wire.
        type: int
        default: 0
      routes:
        description: Routes of the node.
        type: list
        elements: dict
        default: []
        suboptions:
          to:
            description: A network.
            type: str
            required: true
          via:
            description: The address of the node behind which it is.
            type: str
            required: true
      forwards:
        description:
          - What the node does with packets for others. V(routed) turns on IPv4 forwarding, V(nat) also gives packets
            that leave by another device than C(underlay0) the address of that one, V(bridged) joins its devices by the
            bridge C(bridge0), which has O(nodes[].addresses).
          - It is done inside the node. A node that forwards otherwise is removed and made again, as is one with other
            O(nodes[].routes) or another O(nodes[].segment).
        type: str
        choices: [routed, nat, bridged]
      more:
        description:
          - More devices, connected like C(underlay0). The node has these and no others.
          - An uplink without addresses is for a switch to carry tenants' packets without a tunnel.
        type: list
        elements: dict
        suboptions:
          name:
            description: C(underlay1) to C(underlay9), or C(uplink0).
            type: str
            required: true
          addresses:
            description: Its addresses with their prefix lengths.
            type: list
            elements: str
            default: []
          segment:
            description: The segment that it is on, as O(nodes[].segment).
            type: int
            default: 0
  state:
    description:
      - V(present) makes the nodes, V(absent) ends their processes and removes them.
      - With the last node of a lab its fabric is removed too.
    type: str
    choices: [present, absent]
    default: present
notes:
  - It must run as root, on the machine itself, with C(iproute2) and C(util-linux).
  - A process belongs to a node if it is in one of its namespaces. It gets SIGTERM, and after 3 seconds SIGKILL.
seealso:
  - plugin: offload.lab.namespace
    plugin_type: connection
  - plugin: offload.lab.single_host
    plugin_type: inventory
"""

EXAMPLES = r"""
- name: Make two nodes
  offload.lab.nodes:
    name: lab
    nodes:
      - name: lab-node1
        addresses: [198.18.0.1/24]
      - name: lab-node2
        addresses: [198.18.0.2/24]
        mtu: 9000

- name: Remove all nodes of the lab
  offload.lab.nodes:
    name: lab
    state: absent
"""

RETURN = r"""
nodes:
  description: The nodes of the lab, only O(nodes) if it was given, in their present or (check mode) planned state.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the node.
      type: str
      returned: success
      sample: lab-node1
    addresses:
      description: Addresses of its underlay device.
      type: list
      elements: str
      returned: success
      sample: [198.18.0.1/24]
    mtu:
      description: MTU of its underlay device in bytes; null if it has none.
      type: int
      returned: success
      sample: 9000
nics:
  description: The nodes whose network card in user space was started or ended, or would be.
  returned: success
  type: list
  elements: str
  sample: []
stopped:
  description: The nodes whose processes were ended, or would be.
  returned: success
  type: list
  elements: str
  sample: []
commands:
  description: The commands that were run, or would be.
  returned: success
  type: list
  elements: dict
  contains:
    argv:
      description: The command and its arguments.
      type: list
      elements: str
      returned: success
    stdin:
      description: What it reads from standard input, or null.
      type: str
      returned: success
  sample: [{"argv": ["ip", "-batch", "-"], "stdin": "netns add lab-node1\n"}]
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import files
from ..module_utils._host.lease import lock_labs
from ..module_utils._host.module import Returned, result_of, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.processes import end_processes
from ..module_utils._host.runner import apply, run
from ..module_utils._nodes import wire
from ..module_utils._nodes.node import Node, validate
from ..module_utils._nodes.node_steps import (
    inodes_of,
    plan_absent,
    plan_nics,
    plan_present,
    predict,
    summary,
)
from ..module_utils._nodes.read_nodes import read_state

NODE_SPEC = {
    "name": {"type": "str", "required": True},
    "addresses": {"type": "list", "elements": "str", "default": []},
    "mtu": {"type": "int", "default": 9000},
    "nic": {"type": "str"},
    "more": {
        "type": "list",
        "elements": "dict",
        "options": {
            "name": {"type": "str", "required": True},
            "addresses": {"type": "list", "elements": "str", "default": []},
            "segment": {"type": "int", "default": 0},
        },
    },
    "segment": {"type": "int", "default": 0},
    "routes": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "to": {"type": "str", "required": True},
            "via": {"type": "str", "required": True},
        },
    },
    "forwards": {"type": "str", "choices": ["routed", "nat", "bridged"]},
}


def make(lab: str, nodes: list[Node], state: str, names: list[str], check_mode: bool) -> Returned:
    """Bring the nodes to what is wanted; return the module's result."""
    present = state == "present"
    before = read_state(run, lab, names)
    plan = plan_present(lab, nodes, before) if present else plan_absent(lab, names, before)
    nics = plan_nics(lab, nodes, before) if present else {}
    was = summary(lab, before, names)
    now = predict(was, nodes if present else [], plan.stop)
    if not check_mode:
        end_processes(inodes_of(plan.stop, before))
        wire.stop(nics)
        if present:
            files.make_state_folder()
        apply(plan.steps)
        wire.start_all(nics)
        now = summary(lab, read_state(run, lab, names), names) if plan.steps else was
    more = {"changed": bool(plan.steps or nics), "stopped": plan.stop, "nics": list(nics)}
    return result_of("nodes", was, now, plan.steps, **more)


def converge(module: AnsibleModule) -> Returned:
    """Check what is asked and what may be done, then bring the nodes to it."""
    lab = module.params["name"]
    state = module.params["state"]
    nodes = validate(lab, module.params["nodes"])
    # The connection to the nodes needs root too, so "become" in one task is not enough.
    require(["CAP_NET_ADMIN", "CAP_SYS_ADMIN"], to_do="Run the playbook with sudo, or as root.")
    os.umask(0o022)  # the nodes' directories are for all their users, whatever root's own umask is
    lock_labs()
    return make(lab, nodes, state, [node["name"] for node in nodes], module.check_mode)


def main() -> None:
    run_module(
        {
            "name": {"type": "str", "default": "lab"},
            "nodes": {"type": "list", "elements": "dict", "default": [], "options": NODE_SPEC},
            "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        },
        converge,
    )


if __name__ == "__main__":
    main()
