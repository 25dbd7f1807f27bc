#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: ethtool
short_description: Set offload features and other ethtool settings, and read them back
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Sets features (offloads), receive hashing, channels, rings and interrupt coalescing of network devices.
  - All devices are read and planned before the first change. Wrong input for one device changes nothing on any.
  - Features are changed and compared as single bits of the kernel. After the change they are read back, because
    the exit status of C(ethtool -K) does not tell whether a change took effect, and because one change may cause
    others.
  - In check mode, RV(devices.after) is what the plan sets. Side effects of drivers are not predicted.
extends_documentation_fragment:
  - offload.lab.attributes
  - offload.lab.sign_of_life
options:
  devices:
    description:
      - The devices to set. An item is a name, or a dictionary.
      - "A dictionary has the keys C(name) and C(netns), and of this module's options C(features), C(rx_flow_hash),
        C(channels), C(rings) and C(coalesce), which win over the module's own value of the same name."
      - It may also have every other kind of setting of a device, such as C(rps), as M(offload.lab.steering) takes them.
      - "It may have C(features_wanted) instead of C(features): the exact wanted bits of single features, as
        M(offload.lab.ethtool_info) returns them. They are restored even if a bit cannot be active now."
    type: list
    elements: raw
  settings:
    description:
      - Instead of O(devices), what the devices of each class in O(classes) are set to, as C(recommended.yml) has it.
        A class has the keys of a device. Keys that are no kind of setting are ignored.
    type: dict
  classes:
    description: With O(settings), by class a list of devices with C(name) and C(netns), see M(offload.lab.lab_node).
    type: dict
  elsewhere:
    description:
      - With O(settings), classes that another host has, such as the node of a tenant. They are left to it.
      - The CPU time of this host so far is then returned, so that a node has a CPU in addition to its tenant's.
    type: list
    elements: str
    default: []
  netns:
    description:
      - The network namespace of the devices that do not name their own.
      - Without it, the network namespace that the module runs in.
    type: str
  features:
    description:
      - Features and whether they should be on.
      - Names are those that C(ethtool -k) lists, kernel names such as C(rx-gro), or the legacy names C(rx), C(tx),
        C(sg), C(tso), C(ufo), C(gso), C(gro), C(lro), C(rxvlan), C(txvlan), C(ntuple), C(rxhash) and their long forms.
      - A legacy name of a group, such as C(tso), sets every bit of the group that the device can change.
        Fixed bits of a group that stay different are returned in RV(devices.fixed).
      - A single bit wins over a group that contains it.
    type: dict
    default: {}
  rx_flow_hash:
    description:
      - Flow types such as C(udp4) and the fields that are hashed to choose a receive queue, as letters of
        C(ethtool -N), such as V(sd) or V(sdfn).
    type: dict
    default: {}
  channels:
    description:
      - Numbers of queues by the names C(rx), C(tx), C(other), C(combined); from 0 to the device's maximum.
    type: dict
    default: {}
  rings:
    description:
      - Ring sizes in descriptors by the names of C(ethtool -G), such as C(rx) and C(tx); up to the device's maximum.
    type: dict
    default: {}
  coalesce:
    description:
      - Interrupt coalescing by the names of C(ethtool -C), such as C(rx-usecs) in microseconds, C(rx-frames) in
        frames, C(adaptive-rx) as a boolean.
    type: dict
    default: {}
  fixed:
    description:
      - What to do when a fixed feature should change, or when the device does not support a setting.
      - A group is not an error when some of its bits can change, or when it should be on and a fixed bit keeps it on.
    type: str
    choices:
      error: Fail before anything is changed.
      report: Go on without it, and return it in RV(devices.fixed).
    default: error
  protect:
    description:
      - Devices that must not be changed, such as the one that carries the controller's connection.
      - Items are names, or C(netns/name) for a device in a named network namespace.
      - A protected device that needs no change is not an error.
    type: list
    elements: str
    default: []
  allow_management_device:
    description:
      - Devices that may be changed although they carry the controller's SSH connection, or are under the device that
        does - the parent of a VLAN, the members of a bond or a bridge.
      - Without their names here they are refused.
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
seealso:
  - module: offload.lab.ethtool_info
notes:
  - Needs C(ethtool) on the node. Any version that has C(-K) will do.
  - Needs root (C(CAP_NET_ADMIN), and C(CAP_SYS_ADMIN) for other network namespaces).
"""

EXAMPLES = r"""
- name: Turn segmentation off in software and hardware
  offload.lab.ethtool:
    devices: [eth0]
    features:
      tso: false
      gso: false

- name: Turn off what the tunnel would use, where the device can
  offload.lab.ethtool:
    devices:
      - eth0
      - name: tenant1-veth0
        netns: tenant1
    features:
      tx-udp_tnl-segmentation: false
    fixed: report
    protect:
      - "{{ ansible_facts.default_ipv4.interface }}"

- name: Spread VXLAN over the receive queues by its source port
  offload.lab.ethtool:
    devices: [eth0]
    rx_flow_hash:
      udp4: sdfn
    channels:
      combined: 4

- name: Set what a campaign recommends for the transmitter
  offload.lab.ethtool:
    settings: "{{ offload_lab_recommended.client }}"
    classes:
      underlay: [{name: eth0}]

- name: Remember how a device is set
  offload.lab.ethtool_info:
    devices: [eth0]
  register: earlier

- name: Restore what was read earlier
  offload.lab.ethtool:
    devices: "{{ earlier.restore }}"
"""

RETURN = r"""
cpu:
  description:
    - What all CPUs of the host have done since it booted, the seconds of each kind together, and when that was.
    - The difference of two such readings is a window.
  returned: with O(elsewhere)
  type: dict
  sample: {time: 1795440000.0, boot_id: 4b1d, seconds: {user: 12.5, system: 4.1, idle: 903.2}}
devices:
  description: The result for each device, under its name, or C(netns/name).
  returned: success
  type: dict
  contains:
    before:
      description:
        - The state before, a dictionary of kinds such as C(features) or C(rings).
        - Contains what was asked for and what changed along with it. M(offload.lab.ethtool_info) returns everything.
        - A feature is a dictionary of C(active), C(fixed) and C(requested) as in C(ethtool -k); C(requested) is
          V(null) where it is the active state. A setting is its value.
      type: dict
      sample: {features: {tx-checksum-ip-generic: {active: true, fixed: false, requested: null}}}
    after:
      description: The state after, of the same shape as RV(devices.before).
      type: dict
      sample: {features: {tx-checksum-ip-generic: {active: false, fixed: false, requested: null}}}
    steps:
      description: The commands that change the device, as lists of arguments; in check mode those that would.
      type: list
      elements: list
      sample: [[ethtool, -K, veth0, tx-checksum-ip-generic, "off"]]
    failed_steps:
      description:
        - The steps that ended with another exit status than 0, with C(cmd), C(rc) and C(reason).
        - ethtool ends so also when it has done a part; see RV(devices.not_honoured) for what is not as asked.
      type: list
      elements: dict
    not_honoured:
      description:
        - By kind and name, what is not as asked, with C(asked), C(active), and C(requested) for features.
        - A feature that is wanted but cannot be active now, because it depends on another one, is among them.
      type: dict
      sample: {features: {tx-tcp-segmentation: {asked: true, active: false, requested: true}}}
    side_effects:
      description: By kind and name, what changed without being asked for, with C(before) and C(after).
      type: dict
      sample: {features: {tx-tcp-segmentation: {before: true, after: false}}}
    fixed:
      description:
        - By kind and name, what the device cannot change although it was asked for.
        - A feature has C(asked) and C(active), a setting has C(asked) and C(reason).
        - A feature that is not fixed has a C(reason), too. The device takes TSO, but not this variant of it.
      type: dict
      sample: {features: {tx-udp_tnl-segmentation: {asked: false, active: true}}}
cannot_vary:
  description: What RV(devices.fixed) has, a sentence each.
  returned: success
  type: list
  elements: str
  sample: ["eth0: tx-udp_tnl-segmentation is fixed on"]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._host.privileges import require
from ..module_utils._kinds.change import Reports, cannot_vary, lines, warnings
from ..module_utils._kinds.change import change as change_devices
from ..module_utils._kinds.devices import (
    MISSING,
    Device,
    devices_of_classes,
    parse_devices,
)
from ..module_utils._observe.reading import cpu_since_boot
from ..module_utils._restore import watched_change
from ..module_utils._restore.snapshot import exists

# The kinds that are options of their own; a device may have all kinds.
OPTIONS = ["features", "rx_flow_hash", "channels", "rings", "coalesce"]


def capabilities(devices: list[Device], check_mode: bool) -> list[str]:
    """Return the capabilities that a change needs; reading needs them in other namespaces alone."""
    if any(device.netns for device in devices):
        return ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]
    return [] if check_mode else ["CAP_NET_ADMIN"]


def asked(params: Options) -> list[Device]:
    """Return the devices that are meant, and what is asked of each."""
    common = {group: params[group] for group in OPTIONS if params[group]}
    items = params["devices"] or devices_of_classes(
        params.get("settings") or {},
        params.get("classes") or {},
        elsewhere=params.get("elsewhere") or (),
    )
    devices = parse_devices(items, params["netns"], common)
    if params.get("missing") != "skip":
        return devices
    return [device for device in devices if exists({"name": device.name, "netns": device.netns})]


def change(params: Options, check_mode: bool) -> Reports:
    """Return the result for each device after the change, or in check mode of the change that would
    be made.
    """
    devices = asked(params)
    require(capabilities(devices, check_mode))
    return change_devices(
        devices,
        check_mode,
        params["fixed"] == "report",
        params["protect"],
        params.get("allow_management_device", ()),
    )


def converge(module: AnsibleModule) -> Returned:
    """Bring the devices to what is wanted; return the module's result."""
    devices = change(module.params, module.check_mode)
    for text in warnings(devices):
        module.warn(text)
    cpu = {"cpu": cpu_since_boot()} if module.params["elsewhere"] else {}
    return {
        "changed": any(device["steps"] for device in devices.values()),
        "devices": devices,
        **cpu,
        "cannot_vary": cannot_vary(devices),
        "diff": {"before": lines(devices, "before"), "after": lines(devices, "after")},
    }


def main() -> None:
    run_module(
        {
            "devices": {"type": "list", "elements": "raw"},
            "settings": {"type": "dict"},
            "classes": {"type": "dict"},
            "elsewhere": {"type": "list", "elements": "str", "default": []},
            "netns": {"type": "str"},
            **{group: {"type": "dict", "default": {}} for group in OPTIONS},
            "fixed": {"type": "str", "choices": ["error", "report"], "default": "error"},
            "protect": {"type": "list", "elements": "str", "default": []},
            "allow_management_device": {"type": "list", "elements": "str", "default": []},
            "missing": MISSING,
            **watched_change.OPTIONS,
        },
        watched_change.watching(converge),
        mutually_exclusive=[("devices", "settings")],
        required_one_of=[("devices", "settings")],
        required_together=[("settings", "classes")],
    )


if __name__ == "__main__":
    main()
