#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of an Open vSwitch bridge that converge."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ovs_ports
short_description: Ports of an Open vSwitch bridge, with their options
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Brings any number of ports of a bridge to the wanted state in one transaction.
  - Changed types and options are applied to existing ports, and options that are no longer listed are removed.
  - Ports that the module makes carry C(external_ids:offload-lab), whose value is O(owner).
  - A bridge without this mark, and a port without this mark or with another owner's, is never changed.
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.sign_of_life
options:
  bridge:
    description:
      - Name of the bridge.
      - It must exist, unless in check mode or if nothing is to be added.
    type: str
    default: br-int
  owner:
    description:
      - The mark of these ports.
    type: str
    default: ports
  ports:
    description:
      - The ports.
      - With O(purge=false), several calls may each give a part of an owner's ports.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the port and of its interface, at most 15 characters.
        type: str
        required: true
      type:
        description:
          - Type of the interface, such as V(vxlan) or V(internal).
          - The empty string means a device of the system, which must exist.
        type: str
        default: ''
      options:
        description:
          - Options of the interface, such as C(remote_ip), C(key), C(dst_port) and C(csum).
          - The interface has these and no others. Keys of IPsec such as C(psk) are refused.
        type: dict
        default: {}
      other_config:
        description:
          - Column C(other_config) of the port. It has these keys and no others.
        type: dict
        default: {}
      external_ids:
        description:
          - Column C(external_ids) of the port. Besides the mark it has these keys and no others.
        type: dict
        default: {}
      protected:
        description:
          - Whether the port exchanges no packets with other protected ports.
        type: bool
        default: false
      tag:
        description:
          - VLAN of an access port, 0 to 4095. Without it the port is a trunk.
        type: int
      trunks:
        description:
          - VLANs that a trunk carries, 0 to 4095. Without them it carries all.
        type: list
        elements: int
        default: []
  purge:
    description:
      - Whether to remove ports with the mark of O(owner) that are not listed.
      - Used with O(state=present).
    type: bool
    default: false
  state:
    description:
      - Whether the listed ports should exist.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: offload.lab.vxlan_device
  - module: offload.lab.tenants
"""

EXAMPLES = r"""
- name: Connect this node to two others over VXLAN
  offload.lab.ovs_ports:
    bridge: br-int
    owner: tunnel
    purge: true
    ports:
      - name: vxlan0
        type: vxlan
        protected: true
        options: {remote_ip: 198.18.0.2, key: 10, dst_port: 4789}
      - name: vxlan1
        type: vxlan
        protected: true
        options: {remote_ip: 198.18.0.3, key: 10, dst_port: 4789}

- name: Remove all tunnels
  offload.lab.ovs_ports:
    bridge: br-int
    owner: tunnel
    purge: true
    ports: []
"""

RETURN = r"""
ports:
  description: The ports of O(owner) on the bridge, as they are now or in check mode would be, by name.
  returned: success
  type: dict
  sample: {"vxlan0": {"type": "vxlan", "options": {"key": "10", "remote_ip": "198.18.0.2"}, "other_config": {},
           "external_ids": {}, "protected": true, "tag": null, "trunks": [], "owner": "tunnel"}}
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
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import checks, network
from ..module_utils._base.errors import InputError, LabError
from ..module_utils._host.module import Returned, result_of, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.runner import apply
from ..module_utils._ovs import database
from ..module_utils._ovs.ovs_state import OvsState, Port, check_ready, complaint
from ..module_utils._ovs.ports import ours, plan, wanted_ports
from ..module_utils._restore import watched_change

PORT_SPEC = {
    "name": {"type": "str", "required": True},
    "type": {"type": "str", "default": ""},
    "options": {"type": "dict", "default": {}},
    "other_config": {"type": "dict", "default": {}},
    "external_ids": {"type": "dict", "default": {}},
    "protected": {"type": "bool", "default": False},
    "tag": {"type": "int"},
    "trunks": {"type": "list", "elements": "int", "default": []},
}


def check_possible(state: OvsState, bridge: str, ports: dict[str, Port]) -> None:
    """Raise InputError when Open vSwitch could not do what is planned. In check mode nobody asks:
    what earlier roles only checked is not there yet.
    """
    if ports:
        check_ready(state, bridge)
    for name, port in ports.items():
        if port["type"] == "" and not os.path.exists(os.path.join("/sys/class/net", name)):
            raise InputError(
                "there is no such network device",
                name,
                "Make it first, or give the port a type that Open vSwitch makes itself.",
            )


def converge(module: AnsibleModule) -> Returned:
    """Bring the ports to what is wanted; return the module's result."""
    require(["CAP_NET_ADMIN"])
    params = module.params
    check_mode = module.check_mode
    bridge = network.device_name(params["bridge"], "bridge")
    present = params["state"] == "present"
    owner = checks.name(params["owner"], "owner")
    ports = wanted_ports(params["ports"], owner)
    state = database.read(missing_ok=check_mode or not (present and ports))
    before, after, steps = plan(state, bridge, ports, owner, present=present, purge=params["purge"])
    if not check_mode:
        check_possible(state, bridge, ports if present else {})
        apply(steps)
        state = database.read() if steps else state
        after = ours(state, bridge, owner)
        problem = complaint(state, ports) if present else None
        if problem:
            raise LabError(problem, bridge, "See ovs-vswitchd.log on the node.")
    return result_of("ports", before, after, steps)


def main() -> None:
    run_module(
        {
            "bridge": {"type": "str", "default": "br-int"},
            "owner": {"type": "str", "default": "ports"},
            "ports": {"type": "list", "elements": "dict", "default": [], "options": PORT_SPEC},
            "purge": {"type": "bool", "default": False},
            "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
            **watched_change.OPTIONS,
        },
        watched_change.watching(converge),
    )


if __name__ == "__main__":
    main()
