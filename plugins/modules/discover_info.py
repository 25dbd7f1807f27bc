#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: discover_info
short_description: Find the devices that the packets of a path meet on a host
version_added: 0.1.0
description:
  - Follows a path from where it begins on this host, a namespace, a process, a container or a pod, to the device by
    which it leaves. It goes by the route, and across veths, bridges, tunnels, VLANs and bonds.
  - It also lists all tunnels of the host and of its named namespaces.
  - It reads, and changes nothing.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.action
  - offload.lab.attributes.info
options:
  ends:
    description: Where paths begin on this host, and where they go to.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What the path is called. By default its address; without one it is required.
        type: str
      address:
        description:
          - The IPv4 or IPv6 address of the other end. Without it the path is not followed, but where O(others) has
            one end of the same name, with one address.
        type: str
      netns:
        description: Name of the network namespace in which it begins. By default the host's own.
        type: str
      pid:
        description: A process in whose network namespace it begins.
        type: int
      container:
        description:
          - A container in which it begins, V(podman:NAME), V(docker:NAME) or V(containerd:ID). The last is asked of
            C(crictl).
        type: str
      pod:
        description: A pod of Kubernetes in which it begins, V(NAMESPACE/NAME). It is asked of C(crictl).
        type: str
  others:
    description:
      - What this module returned as RV(begins) on the other hosts. An end without an address goes to the one of the
        same name among them.
    type: list
    elements: dict
  crictl:
    description: The path of C(crictl). By default where distributions of Kubernetes keep it.
    type: path
  ctr:
    description: The path of C(ctr), which is asked where there is no C(crictl). The module searches for it, too.
    type: path
  socket:
    description:
      - The socket of containerd or CRI-O. By default the socket that C(crictl) is configured for, or the first one that
        exists of containerd, CRI-O, k3s and MicroK8s.
    type: path
notes:
  - Needs root to see into namespaces.
  - What a bridge of Open vSwitch does inside is not followed. The path goes on at each of its tunnels.
seealso:
  - module: offload.lab.ethtool_info
"""

EXAMPLES = r"""
- name: Find what lies between a pod and one on the other node
  offload.lab.discover_info:
    ends:
      - name: pods
        container: podman:web
        address: 10.244.1.7
  register: found

- name: See which addresses the ends of a path have
  offload.lab.discover_info:
    ends: [{name: pods, pod: default/web}]
  register: begun

- name: Find what lies between them
  offload.lab.discover_info:
    ends: [{name: pods, pod: default/web}]
    others: >-
      {{ ansible_play_hosts | difference([inventory_hostname])
         | map('extract', hostvars) | map(attribute='begun.begins') | flatten }}

- name: Show the devices
  ansible.builtin.debug:
    msg: "{{ found.paths[0].devices | map(attribute='device') }}"
"""

RETURN = r"""
paths:
  description: What was found of each path.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name of the path.
      returned: always
      type: str
    address:
      description: The address of the other end.
      returned: always
      type: str
    local:
      description: The address that its packets are sent from, null where the route does not tell.
      returned: always
      type: str
    netns:
      description: The name of the namespace in which it begins, or its file; null for the host's own.
      returned: always
      type: str
    devices:
      description:
        - The devices in the order in which packets meet them, each with C(device), C(netns), C(kind), C(mtu) and C(how)
          they come to it. C(shared) counts what else uses it, C(ports) of the bridges that the path has crossed,
          C(routes) of the host by it, and C(tunnels) that leave by it.
      returned: always
      type: list
      elements: dict
  sample: [{name: pods, address: 10.244.1.7, netns: cni-1234}]
begins:
  description: Where each path begins, with C(name), C(netns) and the C(addresses) there that other hosts may reach.
  returned: success
  type: list
  elements: dict
  sample: [{name: pods, netns: cni-1234, addresses: [10.244.0.5]}]
management:
  description: The devices that carry the controller's connection, and those below them. A campaign leaves them alone.
  returned: success
  type: list
  elements: str
  sample: [eth0]
tunnels:
  description:
    - All tunnels, each with C(device), C(netns), C(kind), C(id) (the VNI), C(port) (UDP), C(remote), and the device
      C(under) it.
  returned: success
  type: list
  elements: dict
  sample: [{device: flannel.1, kind: vxlan, id: 1, under: eth0}]
notes:
  description: What a reader has to know, a sentence each, such as devices that are left out because of their names.
  returned: success
  type: list
  elements: str
  sample: ["device 'a;b' is left out: its name"]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._host.module import Returned, run_module
from ..module_utils._iproute import discover, management, runtimes
from ..module_utils._iproute.discover import Begin, PathEnd, other_address
from ..module_utils._iproute.walk import FoundPath


def followed(end: PathEnd, others: list[Begin] | None) -> list[FoundPath]:
    """Return what lies on the way of a path, nothing where its other end is not known yet."""
    if not end.get("address"):
        if others is None:
            return []
        end["address"] = other_address(end["name"], others)
    return [discover.find(end)]


def found(module: AnsibleModule) -> Returned:
    """Return what lies on the way of each path."""
    paths: list[FoundPath] = []
    choices = (module.params[name] or "" for name in runtimes.GivenPaths._fields)
    chosen = runtimes.GivenPaths(*choices)
    for end in module.params["ends"]:
        end["runtime"] = chosen
        paths += followed(end, module.params["others"])
    tunnels, notes = discover.all_tunnels()
    carrying = management.find()
    for note in [*notes, management.warning(carrying)]:
        if note:
            module.warn(note)
    return {
        "changed": False,
        "paths": paths,
        "begins": [discover.begin(end) for end in module.params["ends"]],
        "tunnels": tunnels,
        "notes": notes,
        "management": [name for name in carrying.devices if network.is_device_name(name)],
    }


def main() -> None:
    run_module(
        {
            "ends": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "mutually_exclusive": [("netns", "pid", "container", "pod")],
                "required_one_of": [("name", "address")],
                "options": {
                    "name": {"type": "str"},
                    "address": {"type": "str"},
                    "netns": {"type": "str"},
                    "pid": {"type": "int"},
                    "container": {"type": "str"},
                    "pod": {"type": "str"},
                },
            },
            "others": {"type": "list", "elements": "dict"},
            "crictl": {"type": "path"},
            "ctr": {"type": "path"},
            "socket": {"type": "path"},
        },
        found,
    )


if __name__ == "__main__":
    main()
