#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_info
short_description: Read what a lab needs of a host
version_added: 0.1.0
description:
  - Reads user and privileges, programs, ports, links, features, datapath, management device and clock in one task.
  - Tests whether the other nodes can be reached on the lab's TCP ports. A refused connection counts as reached.
  - Tests whether the other nodes' UDP port for VXLAN answers, unless this host already has a VXLAN device.
  - It judges nothing. M(offload.lab.request) does, for all nodes together.
  - It needs neither root nor any program. Values that cannot be read are left out.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.action
  - offload.lab.attributes.info
options:
  programs:
    description: The programs to look for.
    type: list
    elements: str
    default: []
  device:
    description: The device of the underlay, whose features are read.
    type: str
    required: true
  address:
    description: The address of the host on the underlay. Its ports are checked, and peers are reached from it.
    type: str
  ports:
    description: TCP ports that the lab listens on.
    type: list
    elements: int
    default: []
  peers:
    description: Addresses of the other nodes on the underlay.
    type: list
    elements: str
    default: []
  vxlan_port:
    description: UDP port of the tunnel. V(0) skips this test.
    type: int
    default: 0
  forwards:
    description: The devices between which the host forwards packets, whose features are read, too.
    type: list
    elements: str
    default: []
  bridge:
    description: Name of the bridge that the lab makes.
    type: str
    default: br-int
  datapath:
    description: The requested datapath.
    type: str
    choices: [auto, system, netdev]
    default: auto
seealso:
  - module: offload.lab.request
"""

EXAMPLES = r"""
- name: Read what the lab needs
  offload.lab.preflight_info:
    programs: [ip, ethtool, ovs-vsctl, netperf]
    device: ens1f0np0
    address: 198.18.0.1
    ports: [12865, 12866]
    peers: [198.18.0.2]
  register: preflight
"""

RETURN = r"""
preflight:
  description: What was read.
  returned: success
  type: dict
  contains:
    user:
      description: The C(name) of the user, and the capabilities that are C(missing).
      type: dict
      returned: success
    distribution:
      description: The C(id), C(like), C(version) and C(name) of the operating system.
      type: dict
      returned: success
    kernel:
      description: The release of the kernel.
      type: str
      returned: success
    programs:
      description: The path of each program, null where it is missing.
      type: dict
      returned: success
    iperf3_options:
      description: The long options that C(iperf3 --help) lists. Null without iperf3.
      type: list
      elements: str
      returned: success
    links:
      description: The links by name, with C(mtu), C(min_mtu), C(max_mtu), C(up) and the C(global) addresses.
      type: dict
      returned: success
    features:
      description: The features of the device. Null without ethtool.
      type: dict
      returned: success
    forwarded:
      description: The features of each existing device of O(forwards). Empty without ethtool.
      type: dict
      returned: success
    bpf:
      description: The BPF programs of the device, by hook, each with C(id), C(name) and C(tag).
      type: dict
      returned: success
    driver:
      description: The driver of the device. Null without ethtool.
      type: str
      returned: success
    management:
      description:
        - The devices that carry the controller's connection. Where it is not SSH, the devices of the default routes.
      type: list
      elements: str
      returned: success
    management_warning:
      description: What to know where the devices are only assumed, V(null) otherwise. It is a warning, too.
      type: str
      returned: success
    switch:
      description: The C(datapath) of the bridge, and why the lab is C(refused) the bridge, or null.
      type: dict
      returned: success
    taken:
      description: Ports that others hold, with C(port), C(program) and C(pids).
      type: list
      elements: dict
      returned: success
    peers:
      description: For each peer and port the C(answer), and whether it was C(reached).
      type: list
      elements: dict
      returned: success
    silent:
      description: The peers whose UDP port O(vxlan_port) did not answer.
      type: list
      elements: str
      returned: success
    vxlan_port:
      description: The port that was asked for.
      type: int
      returned: success
    measuring:
      description: Whether the host holds the snapshot of a campaign.
      type: bool
      returned: success
    clock:
      description: Seconds since 1970.
      type: float
      returned: success
  sample: {"user": {"name": "root", "missing": []}, "programs": {"ip": "/usr/sbin/ip", "netperf": null}}
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.module import Returned, run_module
from ..module_utils._preflight import host


def gather(module: AnsibleModule) -> Returned:
    """Return what the host is and has."""
    read = host.read(module.params)
    if read["management_warning"]:
        module.warn(read["management_warning"])
    return {"changed": False, "preflight": read}


def main() -> None:
    run_module(
        {
            "programs": {"type": "list", "elements": "str", "default": []},
            "device": {"type": "str", "required": True},
            "address": {"type": "str"},
            "ports": {"type": "list", "elements": "int", "default": []},
            "peers": {"type": "list", "elements": "str", "default": []},
            "vxlan_port": {"type": "int", "default": 0},
            "bridge": {"type": "str", "default": "br-int"},
            "forwards": {"type": "list", "elements": "str", "default": []},
            "datapath": {"type": "str", "default": "auto", "choices": ["auto", "system", "netdev"]},
        },
        gather,
    )


if __name__ == "__main__":
    main()
