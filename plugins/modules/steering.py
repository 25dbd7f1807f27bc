#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: steering
short_description: Set the CPUs of the queues of network devices
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Sets which CPUs process the packets of each receive queue of a device (C(rps), receive packet steering), and which
    CPUs send through each transmit queue (C(xps), transmit packet steering).
  - The values are masks in sysfs, which the module reads back.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  devices:
    description:
      - Devices of this network namespace, each with C(name) and with C(rps), C(xps) or both.
      - Each of these is a mapping with C(cpus), which is V(off), V(all) for all CPUs that are online, or a hexadecimal
        mask of CPUs such as V(f), with commas between groups of 32 bits.
      - Give this or O(settings).
    type: list
    elements: dict
  settings:
    description:
      - The same by device class, each a mapping with C(rps), C(xps) or both. Settings of other kinds are left to other
        modules.
    type: dict
  classes:
    description:
      - The devices of each class, as lists of mappings with C(name). It goes with O(settings).
    type: dict
  elsewhere:
    description:
      - Device classes of O(settings) that another host has.
    type: list
    elements: str
    default: []
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
"""

RETURN = r"""
devices:
  description: By device and file of a queue the mask after the task.
  returned: success
  type: dict
  sample: {eth0: {rx-0/rps_cpus: "f"}}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import InputError
from ..module_utils._host.module import run_module
from ..module_utils._iproute import management
from ..module_utils._kinds.devices import MISSING, Device, devices_of_classes, parse_devices
from ..module_utils._kinds.kinds import STEERING
from ..module_utils._kinds.steering import asked_mask, path_of
from ..module_utils._restore.snapshot import exists


def devices_of(params: dict[str, Any]) -> list[Device]:
    """Return the devices that are meant, and what is asked of each."""
    items = params["devices"] or devices_of_classes(
        params.get("settings") or {},
        params.get("classes") or {},
        STEERING,
        params.get("elsewhere") or (),
    )
    devices = parse_devices(items, keys=STEERING)
    for device in devices:
        if device.netns:
            raise InputError(
                "is in another network namespace, where its queues cannot be steered",
                device.key,
                "Name devices of the node itself.",
            )
    if params["missing"] == "skip":
        return [device for device in devices if exists({"name": device.name})]
    return devices


def read(device: Device) -> dict[str, str]:
    """Return ``{queue file: mask}`` of the kinds that are asked of a device."""
    found: dict[str, str] = {}
    for group in device.asked:
        masks = STEERING[group].masks(device.name)
        if not masks:
            raise InputError(
                f"there is no such device, or it has no queues that {group} can steer",
                device.name,
                "'ip -d link' lists the devices of the namespace, and how many queues they have.",
            )
        found.update(masks)
    return found


def plan(device: Device, before: dict[str, str]) -> dict[str, str]:
    """Return ``{queue file: text to write}`` for the queues that are not as asked."""
    writes: dict[str, str] = {}
    for group, asked in device.asked.items():
        writes.update(STEERING[group].plan(before, asked_mask(asked, device.name)))
    return writes


def write(name: str, writes: dict[str, str]) -> None:
    """Write the masks of a device."""
    for queue, text in writes.items():
        with open(path_of(name, queue), "w") as stream:
            stream.write(text)


def converge(module: AnsibleModule) -> dict[str, Any]:
    """Bring all queues to the wanted masks and return the module's result."""
    params = module.params
    devices = devices_of(params)
    before = {device.name: read(device) for device in devices}
    writes = {device.name: plan(device, before[device.name]) for device in devices}
    changed = [name for name, texts in writes.items() if texts]
    management.check(changed, params["allow_management_device"])
    after = {name: {**queues, **writes[name]} for name, queues in before.items()}
    if not module.check_mode:
        for name, texts in writes.items():
            write(name, texts)
        after = {device.name: read(device) for device in devices}
    return {
        "changed": bool(changed),
        "devices": after,
        "diff": {"before": before, "after": after},
    }


def main() -> None:
    run_module(
        {
            "devices": {"type": "list", "elements": "dict"},
            "settings": {"type": "dict"},
            "classes": {"type": "dict"},
            "elsewhere": {"type": "list", "elements": "str", "default": []},
            "missing": MISSING,
            "allow_management_device": {"type": "list", "elements": "str", "default": []},
        },
        converge,
        mutually_exclusive=[("devices", "settings")],
        required_one_of=[("devices", "settings")],
        required_together=[("settings", "classes")],
    )


if __name__ == "__main__":
    main()
