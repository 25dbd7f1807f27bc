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
  - Sets the CPUs that take in the packets of every receive queue of a device (C(rps_cpus)).
  - All devices are read before the first is changed.
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

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.offload.lab.plugins.module_utils import _node_state, _rps
from ansible_collections.offload.lab.plugins.module_utils._errors import InputError, LabError

ONLINE = "/sys/devices/system/cpu/online"


def read(name):
    """Return ``{queue file: mask}`` of a device, which must have receive queues."""
    queues = dict((queue, text) for queue, text in _node_state.read_rps(name).items() if queue.endswith("/rps_cpus"))
    if not queues:
        raise InputError("there is no such device, or it has no receive queues", name,
                         "'ip link' lists the devices of the namespace.")
    return queues


def run(module):
    """Bring all devices to the wanted mask and return the module's result."""
    with open(ONLINE) as stream:
        mask = _rps.wanted_mask(module.params["cpus"], stream.read())
    before = dict((name, read(name)) for name in module.params["devices"])
    writes = dict((name, _rps.plan(queues, mask)) for name, queues in before.items())
    if not module.check_mode:
        for name, texts in writes.items():
            for queue, text in texts.items():
                with open(os.path.join(_node_state.QUEUES.format(name), queue), "w") as stream:
                    stream.write(text)
    after = dict((name, dict(queues, **writes[name]) if module.check_mode else read(name))
                 for name, queues in before.items())
    return {"changed": any(writes.values()), "devices": after, "diff": {"before": before, "after": after}}


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "devices": {"type": "list", "elements": "str", "required": True},
            "cpus": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**run(module))
    except (LabError, OSError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
