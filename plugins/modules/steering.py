#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: steering
short_description: Set what else than ethtool steers the packets of network devices
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Sets kinds of settings that ethtool does not set, such as which CPUs process the packets of each receive queue of a
    device (C(rps), receive packet steering), and which CPUs send through each transmit queue (C(xps), transmit packet
    steering). The table of factors in the collection's documentation has all kinds with their settings.
  - All devices are read and planned before the first change, and read back after it.
  - M(offload.lab.ethtool) sets these kinds too, in addition to its own.
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.sign_of_life
options:
  devices:
    description:
      - Devices, each with C(name), C(netns) where it is in another network namespace, and with one or more kinds.
      - C(rps) and C(xps) are mappings with C(cpus), which is V(off), V(all) for all CPUs that are online, or a
        hexadecimal mask of CPUs such as V(f), with commas between groups of 32 bits. Instead of C(cpus) a queue may be
        named, such as C(rx-0), with a mask of its own.
      - The device C(lo) has the kinds of the whole host, such as C(busy_poll).
      - Give this or O(settings).
    type: list
    elements: dict
  settings:
    description:
      - The same by device class, each a mapping of kinds. Kinds that ethtool sets are left to M(offload.lab.ethtool).
    type: dict
  classes:
    description:
      - The devices of each class, as lists of mappings with C(name) and C(netns). Use it with O(settings).
    type: dict
  elsewhere:
    description:
      - Device classes of O(settings) that another host has.
    type: list
    elements: str
    default: []
  fixed:
    description:
      - What to do when a device does not support a setting.
    type: str
    choices:
      error: Fail before anything is changed.
      report: Go on without it, and return it in RV(devices).
    default: error
  missing:
    description:
      - What to do when a device does not exist.
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
  - The kernel has no C(xps) for a device with one transmit queue.
seealso:
  - module: offload.lab.ethtool
  - name: Scaling in the Linux networking stack
    description: The kernel's description of RPS and XPS, and the format of the masks.
    link: https://docs.kernel.org/networking/scaling.html
"""

EXAMPLES = r"""
- name: Spread received packets over all CPUs
  offload.lab.steering:
    devices:
      - name: eth0
        rps: {cpus: all}

- name: Let CPUs 0 to 3 send through every queue
  offload.lab.steering:
    devices:
      - name: eth0
        xps: {cpus: f}

- name: Let select and poll ask the devices for packets for 50 microseconds
  offload.lab.steering:
    devices:
      - name: lo
        busy_poll: {us: 50}

- name: Attach an XDP program that passes each packet on, in the driver
  offload.lab.steering:
    devices:
      - name: eth0
        xdp: {program: native}

- name: Let TCP receive buffers grow to 64 MiB
  offload.lab.steering:
    devices:
      - name: lo
        tcp_rmem: {max: 67108864}
"""

RETURN = r"""
devices:
  description: By device C(before), C(after), C(steps), C(failed_steps), C(not_honoured), C(side_effects) and
    C(fixed), as M(offload.lab.ethtool) returns them.
  returned: success
  type: dict
  sample:
    eth0:
      before: {rps: {rx-0: "0"}}
      after: {rps: {rx-0: "f"}}
      steps: [[tee, /sys/class/net/eth0/queues/rx-0/rps_cpus, f]]
      failed_steps: []
      not_honoured: {}
      side_effects: {}
      fixed: {}
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._kinds.change import change, lines, warnings
from ..module_utils._kinds.devices import MISSING, Device, devices_of_classes, parse_devices
from ..module_utils._kinds.kinds import STEERING
from ..module_utils._restore import watched_change
from ..module_utils._restore.snapshot import exists


def devices_of(params: Options) -> list[Device]:
    """Return the devices that are meant, and what is asked of each."""
    items = params["devices"] or devices_of_classes(
        params.get("settings") or {},
        params.get("classes") or {},
        STEERING,
        params.get("elsewhere") or (),
    )
    devices = parse_devices(items, keys=STEERING)
    if params["missing"] == "skip":
        return [
            device for device in devices if exists({"name": device.name, "netns": device.netns})
        ]
    return devices


def converge(module: AnsibleModule) -> Returned:
    """Bring the devices to what is wanted; return the module's result."""
    params = module.params
    devices = change(
        devices_of(params),
        module.check_mode,
        params["fixed"] == "report",
        allow=params["allow_management_device"],
    )
    for text in warnings(devices):
        module.warn(text)
    return {
        "changed": any(device["steps"] for device in devices.values()),
        "devices": devices,
        "diff": {"before": lines(devices, "before"), "after": lines(devices, "after")},
    }


def main() -> None:
    run_module(
        {
            "devices": {"type": "list", "elements": "dict"},
            "settings": {"type": "dict"},
            "classes": {"type": "dict"},
            "elsewhere": {"type": "list", "elements": "str", "default": []},
            "fixed": {"type": "str", "choices": ["error", "report"], "default": "error"},
            "missing": MISSING,
            "allow_management_device": {"type": "list", "elements": "str", "default": []},
            **watched_change.OPTIONS,
        },
        watched_change.watching(converge),
        mutually_exclusive=[("devices", "settings")],
        required_one_of=[("devices", "settings")],
        required_together=[("settings", "classes")],
    )


if __name__ == "__main__":
    main()
