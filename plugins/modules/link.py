#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MTU and state of devices that exist."""

from __future__ import annotations

DOCUMENTATION = r"""
module: link
short_description: MTU and state of network devices
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Sets the MTU of devices that exist, and brings them up or down.
  - All devices are checked before any is changed.
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.sign_of_life
options:
  devices:
    description:
      - The devices.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description:
          - Name of the device.
        type: str
        required: true
      netns:
        description:
          - Network namespace of the device, see C(ip netns). The default is O(netns).
        type: str
      mtu:
        description:
          - MTU in bytes, within the range that the device's driver reports. The default is O(mtu).
        type: int
      up:
        description:
          - Whether the device is up. The default is O(up).
        type: bool
  netns:
    description:
      - Network namespace of the devices that name none. Without it they are in the namespace of the task.
    type: str
  mtu:
    description:
      - MTU in bytes of the devices that give none. Without it their MTU does not change.
    type: int
  up:
    description:
      - Whether the devices that do not say so are up. Without it they are left as they are.
    type: bool
  allow_management_device:
    description:
      - Devices that may be changed although they carry the controller's SSH connection, or are under the device that
        does - the parent of a VLAN, the members of a bond or a bridge.
      - Without their names here they are refused.
    type: list
    elements: str
    default: []
seealso:
  - module: offload.lab.ethtool
"""

EXAMPLES = r"""
- name: Use jumbo frames on the underlay
  offload.lab.link:
    mtu: 9000
    devices:
      - name: eth1

- name: Let a tenant and its port follow
  offload.lab.link:
    mtu: 8950
    up: true
    devices:
      - {name: tenant1-veth0, netns: tenant1}
      - {name: tenant1-veth1}
"""

RETURN = r"""
devices:
  description: The devices as they are now or in check mode would be, by C(name) or C(netns/name).
  returned: success
  type: dict
  sample: {"tenant1/tenant1-veth0": {"mtu": 8950, "up": true}}
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


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.module import Returned, result_of, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.runner import apply
from ..module_utils._iproute import management
from ..module_utils._iproute import read as links
from ..module_utils._iproute.link_plan import (
    LinksByNamespace,
    WantedLink,
    plan,
    wanted_devices,
)
from ..module_utils._restore import watched_change

DEVICE_SPEC = {
    "name": {"type": "str", "required": True},
    "netns": {"type": "str"},
    "mtu": {"type": "int"},
    "up": {"type": "bool"},
}


def read(devices: list[WantedLink]) -> LinksByNamespace:
    """Return the links of every namespace that a device is in."""
    namespaces = {device["netns"] for device in devices}
    return {netns: links.read(netns) for netns in namespaces}


def converge(module: AnsibleModule) -> Returned:
    """Bring the devices to what is wanted; return the module's result."""
    params = module.params
    devices = wanted_devices(params["devices"], params["netns"], params["mtu"], params["up"])
    elsewhere = any(device["netns"] for device in devices)
    require(["CAP_NET_ADMIN", "CAP_SYS_ADMIN"] if elsewhere else ["CAP_NET_ADMIN"])
    before, after, steps = plan(read(devices), devices)
    management.check(
        [key for key in before if before[key] != after[key]], params["allow_management_device"]
    )
    if steps and not module.check_mode:
        apply(steps)
        after = plan(read(devices), devices)[0]
    return result_of("devices", before, after, steps)


def main() -> None:
    run_module(
        {
            "devices": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": DEVICE_SPEC,
            },
            "netns": {"type": "str"},
            "mtu": {"type": "int"},
            "up": {"type": "bool"},
            "allow_management_device": {"type": "list", "elements": "str", "default": []},
            **watched_change.OPTIONS,
        },
        watched_change.watching(converge),
    )


if __name__ == "__main__":
    main()
