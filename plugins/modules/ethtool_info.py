#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: ethtool_info
short_description: Read offload features and other ethtool settings of network devices
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Reads features (offloads), channels, rings, interrupt coalescing, receive hashing, driver, statistics and the tunnel
    ports of any number of network devices.
  - A setting that a device does not support is returned as such, and is not an error.
extends_documentation_fragment:
  - offload.lab.attributes.info
options:
  devices:
    description:
      - The devices to read. An item is a name, or a dictionary with the keys C(name) and C(netns).
      - Without it, all devices of the network namespace are read.
    type: list
    elements: raw
  netns:
    description:
      - The network namespace of the devices that do not name their own.
      - Without it, the network namespace that the module runs in.
    type: str
  gather:
    description: What to read. V(features), V(channels), V(rings), V(coalesce) and V(tunnels) are cheap, each other
      kind starts at least one process per device. V(others) are all other kinds of settings that
      M(offload.lab.ethtool) and M(offload.lab.steering) set.
    type: list
    elements: str
    choices:
      - features
      - channels
      - rings
      - coalesce
      - rx_flow_hash
      - rss
      - driver
      - tunnels
      - others
      - statistics
      - kernel_log
    default: [features, channels, rings, coalesce, rx_flow_hash, rss, driver, tunnels]
  flow_types:
    description: The flow types whose hash fields are read with O(gather=rx_flow_hash).
    type: list
    elements: str
    default: [tcp4, udp4, tcp6, udp6]
  missing:
    description:
      - What to do when a device does not exist.
    type: str
    choices:
      error: Fail.
      skip: Leave it out.
    default: error
seealso:
  - module: offload.lab.ethtool
notes:
  - Needs C(ethtool) on the node.
  - Needs root for other network namespaces, and where the kernel log is restricted.
"""

EXAMPLES = r"""
- name: Read everything of all devices
  offload.lab.ethtool_info:
  register: found

- name: Read the features of two devices
  offload.lab.ethtool_info:
    devices:
      - eth0
      - name: tenant1-veth0
        netns: tenant1
    gather: [features]
  register: earlier

- name: Restore later what was read
  offload.lab.ethtool:
    devices: "{{ earlier.restore }}"

- name: Say which devices can segment VXLAN packets
  ansible.builtin.debug:
    msg: "{{ found.devices | dict2items
      | selectattr('value.features.tx-udp_tnl-segmentation.active', 'defined')
      | map(attribute='key') }}"
"""

RETURN = r"""
devices:
  description: What was read of each device, under its name, or C(netns/name).
  returned: success
  type: dict
  contains:
    name:
      description: The device.
      type: str
    netns:
      description: Its network namespace, V(null) for the one that the module runs in.
      type: str
    features:
      description:
        - The rows of C(ethtool -k), each with C(active), C(fixed) and C(requested).
        - C(requested) is V(null) where it is the active state.
      type: dict
      sample: {tx-tcp-segmentation: {active: false, fixed: false, requested: true}}
    features_wanted:
      description: The wanted bit of each single feature that can be changed, to be restored by M(offload.lab.ethtool).
      type: dict
      sample: {tx-tcp-segmentation: true}
    groups:
      description: The summary rows among the features, and the single features that each stands for.
      type: dict
      sample: {tcp-segmentation-offload: [tx-tcp-segmentation, tx-tcp6-segmentation]}
    channels:
      description:
        - C(supported); if so C(current) and C(maximum), numbers of queues by name; if not, C(reason).
        - V(null) stands for what the device does not have.
      type: dict
      sample: {supported: true, current: {combined: 4}, maximum: {combined: 8}}
    rings:
      description: As RV(devices.channels), in descriptors.
      type: dict
      sample: {supported: false, reason: Operation not supported}
    coalesce:
      description: C(supported); if so C(current), times in microseconds and numbers of frames; if not, C(reason).
      type: dict
      sample: {supported: true, current: {adaptive-rx: false, rx-usecs: 3}}
    rx_flow_hash:
      description:
        - C(supported); if so C(current), the letters of the hashed fields by flow type; if not, C(reason).
        - A flow type that cannot be read is V(null), with its reason in C(reasons).
      type: dict
      sample: {supported: true, current: {tcp4: sdfn, udp4: sd}, reasons: {}}
    rss:
      description:
        - C(supported); if so C(rings), the number of rings, C(indirection), the ring of each entry of the table,
          C(key), the hash key in hexadecimal or V(null), and C(functions), the hash functions; if not, C(reason).
      type: dict
      sample: {supported: true, rings: 2, indirection: [0, 1, 0, 1], key: null, functions: {toeplitz: true}}
    driver:
      description: C(supported); if so the rows of C(ethtool -i), such as C(driver) and C(version); if not, C(reason).
      type: dict
      sample: {supported: true, driver: veth, version: '1.0'}
    tunnels:
      description:
        - C(supported); if so C(tables), the UDP ports that the device takes for tunnels; if not, C(reason).
        - A table has C(size), C(types) and C(entries); an entry has C(port) and C(type).
      type: dict
      sample: {supported: true, tables: [{size: 4, types: [vxlan], entries: [{port: 4789, type: vxlan}]}]}
    statistics:
      description: C(supported); if so C(counters), by the names that the driver gives them; if not, C(reason).
      type: dict
      sample: {supported: true, counters: {rx_packets: 12}}
restore:
  description:
    - What was read that can be set, as a list for the option O(offload.lab.ethtool#module:devices), which restores it.
    - The RSS table is not among it.
  returned: success
  type: list
  elements: dict
  sample: [{name: eth0, features_wanted: {tx-tcp-segmentation: true}}]
kernel_log:
  description: C(supported); if so C(lines), what the kernel log says about tunnel offloads; if not, C(reason).
  returned: with O(gather=kernel_log)
  type: dict
  sample: {supported: true, lines: ["be2net 0000:05:00.0: Enabled VxLAN offloads for UDP port 4789"]}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._ethtool.read import read_kernel_log
from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._kinds.devices import MISSING
from ..module_utils._kinds.info import (
    FLOW_TYPES,
    KINDS,
    SETTINGS,
    Gathering,
    read,
    restore_item,
)
from ..module_utils._restore import settings


def named(params: Options) -> list[Any] | None:
    """Return the devices to read, without those to skip."""
    if params["devices"] is None or params["missing"] == "error":
        return params["devices"]
    return settings.present(params["devices"], params["netns"])


def gather(module: AnsibleModule) -> Returned:
    """Return what was read of the devices."""
    gathering: Gathering = {
        "devices": named(module.params),
        "netns": module.params["netns"],
        "gather": module.params["gather"],
        "flow_types": module.params["flow_types"],
    }
    devices = read(gathering)
    result = {
        "changed": False,
        "devices": devices,
        "restore": [restore_item(device) for device in devices.values()],
    }
    if "kernel_log" in module.params["gather"]:
        result["kernel_log"] = read_kernel_log()
    return result


def main() -> None:
    run_module(
        {
            "devices": {"type": "list", "elements": "raw"},
            "netns": {"type": "str"},
            "gather": {"type": "list", "elements": "str", "choices": KINDS, "default": SETTINGS},
            "missing": MISSING,
            "flow_types": {"type": "list", "elements": "str", "default": FLOW_TYPES},
        },
        gather,
    )


if __name__ == "__main__":
    main()
