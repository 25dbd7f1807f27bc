#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: manifest_info
short_description: Read the conditions of a node under which a campaign is measured
version_added: 0.1.0
description:
  - Reads what can change a result besides the offloads - kernel, CPU, governor, mitigations, NUMA, sysctls, interrupts
    of the devices, packet steering, Open vSwitch and its tunnels, and versions of the tools.
  - What a node does not have is left out.
  - Of the kernel's command line only the values that affect performance are kept, because it may carry secrets. What
    stands behind C(--) is for the first process, and is left out.
  - Of Open vSwitch the bridges are kept that are the lab's own or have one of the devices, and of C(options) and
    C(other_config) only keys that bear on a measurement. Keys of IPsec such as C(psk) are never read into a result.
  - M(offload.lab.ethtool_info) reads the settings of the devices themselves.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.action
  - offload.lab.attributes
attributes:
  check_mode:
    support: full
    details: In check mode nothing is written on the controller.
  diff_mode:
    support: none
options:
  devices:
    description: Network devices to read, in the node's own network namespace.
    type: list
    elements: str
    default: []
  results:
    description:
      - A campaign's results folder on the controller. The conditions are written to its C(manifest.json), with the
        settings of the devices in O(settings_of).
    type: path
  campaign:
    description: With O(results), the name of the campaign.
    type: str
  part:
    description: With O(results), whether this is before or after the campaign.
    type: str
    choices: [before, after]
    default: before
  settings_of:
    description: With O(results), the devices whose settings are kept too, as M(offload.lab.ethtool_info) takes them.
    type: list
    elements: raw
    default: []
  classes:
    description:
      - With O(results), by device class its devices, each with C(name) and, in another network namespace, C(netns).
        The manifest keeps their names.
    type: dict
  exchange:
    description:
      - With O(results), paths to other nodes. Each is tried by ping and by TCP to the server of payload checks. Where
        one of the two does not pass, datagrams are sent for 4 seconds.
      - What this node sent, what arrived and what its devices counted becomes C(exchanges) of the manifest.
      - The other nodes must do the same at the same time, as one task of a play does.
    type: dict
    suboptions:
      endpoints:
        description: The ends of the paths on this node, by path, each with C(address) and optionally C(netns).
        type: dict
        required: true
      peers:
        description: The ends on the other nodes, by node and path.
        type: dict
        required: true
      paths:
        description: The names of the paths.
        type: list
        elements: str
        required: true
      devices:
        description: The devices of this node that the paths cross, by device class.
        type: dict
        required: true
      port:
        description: TCP port of the netserver; the server of payload checks is 3 above it.
        type: int
        default: 12865
  tenant_of:
    description:
      - With O(results), the node whose tenant this host is; empty for one whose node is not in the inventory.
      - Without it this host is a node.
    type: str
"""

EXAMPLES = r"""
- name: Conditions of the node
  offload.lab.manifest_info:
    devices: [underlay0]
  register: conditions
"""

RETURN = r"""
host:
  description: Kernel, CPUs, sysctls and tools of the node.
  returned: success
  type: dict
  sample: {kernel: 6.1.0, cpus: {model: AMD EPYC, governor: performance}, tools: {netperf: Netperf version 2.7.0}}
links:
  description: By device its MTU in bytes, speed in Mbit/s, PCI address, NUMA node, steering and interrupt affinity.
  returned: success
  type: dict
  sample: {underlay0: {mtu: 9000, speed_mbps: 10000}}
programs:
  description: By device and hook (XDP, tc, tcx) the C(id), C(name) and C(tag) of BPF programs, where there are any.
  returned: success
  type: dict
  sample: {eth0: {xdp native: {id: 12, name: cil_xdp_entry, tag: 614b434cd8324ecc}}}
ovs:
  description: Version and C(other_config) of Open vSwitch, and by bridge on a path its datapath and ports; or
    C(reason). Ports of the userspace datapath have their receive buffer in bytes.
  returned: success
  type: dict
  sample: {supported: true, version: 3.1.0, bridges: {br-int: {datapath: netdev}}}
"""

from typing import Any, Collection, Iterable

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._base.errors import CommandError
from ..module_utils._ethtool.read import read_kernel_log
from ..module_utils._host import runner
from ..module_utils._host.module import Returned, run_module
from ..module_utils._kinds.info import FLOW_TYPES, SETTINGS, Gathering, read
from ..module_utils._observe import conditions
from ..module_utils._ovs import database, ovs_state
from ..module_utils._ovs.tables import parse_tables
from ..module_utils._preflight import exchange

EXCHANGE = {
    **{name: {"type": "dict", "required": True} for name in ("endpoints", "peers", "devices")},
    "paths": {"type": "list", "elements": "str", "required": True},
    "port": {"type": "int", "default": network.NETSERVER_PORT},
}
TABLES = [
    "--",
    "list",
    "Open_vSwitch",
    "--",
    "list",
    "Bridge",
    "--",
    "list",
    "Port",
    "--",
    "list",
    "Interface",
]


def read_ovs(on_path: Collection[str]) -> dict[str, Any]:
    """Return what Open vSwitch is and how its bridges on a path are set up, or why that is not
    known.
    """
    try:
        text = runner.run(["ovs-vsctl", "--timeout=5", "--format=json"] + TABLES).out
    except CommandError as error:
        return {"supported": False, "reason": error.what}
    roots, *tables = parse_tables(text)
    return {
        "supported": True,
        **ovs_state.switch(roots[0] if roots else {}),
        "bridges": ovs_state.bridges(tables, on_path, database.port_buffers()),
    }


def of_host(items: Iterable[Any]) -> list[str]:
    """Return the names of devices in the node's own network namespace."""
    named = [item if isinstance(item, dict) else {"name": item} for item in items]
    return [str(item.get("name")) for item in named if not item.get("netns")]


def gather(module: AnsibleModule) -> Returned:
    """Return what the node is and how it is set up."""
    devices = [network.device_name(device) for device in module.params["devices"]]
    manifest = {
        "changed": False,
        "host": conditions.host(),
        "ovs": read_ovs([*devices, *of_host(module.params["settings_of"])]),
        "links": {device: conditions.link(device) for device in devices},
        "programs": conditions.programs([*devices, *module.params["settings_of"]]),
    }
    if module.params["results"] and not module.check_mode:
        gathering: Gathering = {
            "devices": module.params["settings_of"],
            "netns": None,
            "gather": SETTINGS,
            "flow_types": FLOW_TYPES,
        }
        manifest.update(devices=read(gathering), kernel_log=read_kernel_log())
        if module.params["exchange"]:
            manifest["exchanges"] = exchange.exchanges(module.params["exchange"])
    return manifest


def main() -> None:
    run_module(
        {
            "devices": {"type": "list", "elements": "str", "default": []},
            "results": {"type": "path"},
            "campaign": {"type": "str"},
            "part": {"type": "str", "choices": ["before", "after"], "default": "before"},
            "settings_of": {"type": "list", "elements": "raw", "default": []},
            "classes": {"type": "dict"},
            "tenant_of": {"type": "str"},
            "exchange": {"type": "dict", "options": EXCHANGE},
        },
        gather,
        required_together=[("results", "campaign")],
    )


if __name__ == "__main__":
    main()
