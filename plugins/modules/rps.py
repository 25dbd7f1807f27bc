#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: rps
short_description: Set receive packet steering of network devices
version_added: 0.1.0
description:
  - Sets the CPUs that process the packets of each receive queue of a device (C(rps_cpus)).
  - All devices are read before the first one is changed.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes
options:
  devices:
    description: Devices of the network namespace that the module runs in.
    type: list
    elements: str
    required: true
  cpus:
    description:
      - V(off) leaves packets to the CPU that took the interrupt. V(all) spreads them over all CPUs that are online.
      - Otherwise a hexadecimal mask of CPUs, such as V(f), with commas between groups of 32 bits.
    type: str
    required: true
  missing:
    description:
      - What to do when a device does not exist or has no receive queues.
    type: str
    choices:
      error: Fail before anything is changed.
      skip: Leave it out.
    default: error
  allow_management_device:
    description:
      - Devices that may be changed although they carry the controller's SSH connection, or are under the device that
        does (bond members, bridge members, the parent of a VLAN). Without their names here they are refused.
    type: list
    elements: str
    default: []
notes:
  - Needs root.
seealso:
  - module: offload.lab.ethtool
"""

EXAMPLES = r"""
- name: Spread packets over all CPUs
  offload.lab.rps:
    devices: [eth0]
    cpus: all
"""

RETURN = r"""
devices:
  description: By device and file of a queue the mask after the task.
  returned: success
  type: dict
  sample: {eth0: {rx-0/rps_cpus: "f"}}
"""

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._base.errors import InputError
from ..module_utils._kinds import steering as rps
from ..module_utils._kinds.devices import MISSING
from ..module_utils._host.module import run_module
from ..module_utils._iproute import management
from ..module_utils._restore import node_state

ONLINE = "/sys/devices/system/cpu/online"


def read(name: str) -> dict[str, str]:
    """Return ``{queue file: mask}`` of a device, which must have receive queues."""
    queues = {
        queue: text
        for queue, text in node_state.read_rps(name).items()
        if queue.endswith("/rps_cpus")
    }
    if not queues:
        raise InputError(
            "there is no such device, or it has no receive queues",
            name,
            "'ip link' lists the devices of the namespace.",
        )
    return queues


def converge(module: AnsibleModule) -> dict[str, Any]:
    """Bring all devices to the wanted mask and return the module's result."""
    with open(ONLINE) as stream:
        mask = rps.wanted_mask(module.params["cpus"], stream.read())
    names = [
        name
        for name in map(network.device_name, module.params["devices"])
        if module.params.get("missing") != "skip" or node_state.read_rps(name)
    ]
    before = {name: read(name) for name in names}
    writes = {name: rps.plan(queues, mask) for name, queues in before.items()}
    management.check(
        [name for name, texts in writes.items() if texts], module.params["allow_management_device"]
    )
    if not module.check_mode:
        for name, texts in writes.items():
            for queue, text in texts.items():
                with open(os.path.join(node_state.QUEUES.format(name), queue), "w") as stream:
                    stream.write(text)
    after = {
        name: dict(queues, **writes[name]) if module.check_mode else read(name)
        for name, queues in before.items()
    }
    return {
        "changed": any(writes.values()),
        "devices": after,
        "diff": {"before": before, "after": after},
    }


def main() -> None:
    run_module(
        {
            "devices": {"type": "list", "elements": "str", "required": True},
            "cpus": {"type": "str", "required": True},
            "missing": MISSING,
            "allow_management_device": {"type": "list", "elements": "str", "default": []},
        },
        converge,
    )


if __name__ == "__main__":
    main()
