#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: traffic_info
short_description: Count what offloads do with a host's own traffic, and why packets are dropped
version_added: 0.1.0
description:
  - Counts tracepoints of the kernel for some seconds, with C(perf_event_open). It needs no BPF and no package.
  - For each device it counts packets that the device is left to cut or to checksum, packets that GRO merges, and
    packets above the MTU that nothing cuts. For the host it counts drops by the kernel's reason, and retransmits.
  - It sends nothing and changes nothing, writes no file, and ends after O(seconds).
  - A tracepoint knows the name of a device. Where the kernel has no field for the namespace, all devices of this name
    count, and RV(devices) says how many namespaces have one. Drops and retransmits always cover the whole host.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.action
  - offload.lab.attributes.info
options:
  seconds:
    description: How long the module counts, 1 to 300 seconds.
    type: float
    default: 10
  devices:
    description: The devices to count at. By default the four with the most packets, without the loopback device.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The name of the device.
        type: str
        required: true
      netns:
        description: The name of its network namespace. By default the host's own.
        type: str
  limit_percent:
    description:
      - The share of the host's CPU time that counting may cost, in per cent. With much traffic the module counts in
        short turns. Counts are then of these turns, RV(cost.counted_seconds) in all.
    type: float
    default: 1
notes:
  - Needs root. Where a container or a locked kernel does not allow tracepoints, RV(note) says so. The other counters
    are returned.
seealso:
  - module: offload.lab.ethtool_info
"""

EXAMPLES = r"""
- name: See what the offloads of the busiest devices do
  offload.lab.traffic_info:
  register: traffic

- name: See why packets are dropped
  ansible.builtin.debug:
    msg: "{{ traffic.traced.drops }}"
"""

RETURN = r"""
seconds:
  description: How long packets and bytes were counted.
  returned: success
  type: float
  sample: 9.5
devices:
  description:
    - By device C(packets_in), C(bytes_in), C(packets_out) and C(bytes_out) in these seconds, and C(mtu). C(same_name)
      is the number of namespaces with a device of this name.
  returned: success
  type: dict
  sample: {eth0: {packets_in: 81234, packets_out: 4123, mtu: 1500, same_name: 1}}
traced:
  description:
    - What tracepoints counted, C(devices) by device and C(host). C(drops) has C(reason), C(place) (a function of the
      kernel) and C(count). C(segments) is the average number of segments of a packet that a device cuts.
    - Null where tracepoints are not allowed.
  returned: success
  type: dict
  sample: {devices: {eth0: {sent: 275, cut: 213}}, drops: [{reason: TCP_CSUM, place: tcp_v4_rcv, count: 5}]}
errors:
  description: The counters of errors that rose, such as C(TcpRetransSegs), and by how much.
  returned: success
  type: dict
  sample: {TcpRetransSegs: 2}
cost:
  description:
    - What counting cost. C(cpu_seconds) is the CPU time of the module. C(packet_seconds) is about the CPU time that the
      kernel spent on counting packets.
  returned: success
  type: dict
  contains:
    counted_seconds:
      description: For how long tracepoints were counted.
      returned: success
      type: float
  sample: {counted_seconds: 9.5, cpu_seconds: 0.02, packet_seconds: 0.01, counters: 54, cpus: 2}
note:
  description: Why tracepoints were not counted; empty where they were.
  returned: success
  type: str
  sample: ""
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._base.errors import InputError
from ..module_utils._host.module import Returned, run_module
from ..module_utils._observe import traffic

LONGEST = 300  # s


def chosen(device: dict[str, Any]) -> traffic.CountedAt:
    """Return a device that the user names."""
    netns = device["netns"] and network.namespace_name(device["netns"])
    return traffic.CountedAt(network.device_name(device["name"]), netns or None)


def watched(module: AnsibleModule) -> Returned:
    """Count, and return what was counted."""
    seconds, percent = module.params["seconds"], module.params["limit_percent"]
    if not 1 <= seconds <= LONGEST:
        raise InputError("not a number of seconds", seconds, f"Use 1 to {LONGEST}.")
    if not 0 < percent <= 100:
        raise InputError("not a share of CPU time", percent, "Use a number up to 100 (per cent).")
    choices = [chosen(device) for device in module.params["devices"]]
    return {"changed": False, **traffic.watch(choices, seconds, percent / 100)}


def main() -> None:
    run_module(
        {
            "seconds": {"type": "float", "default": 10},
            "devices": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "name": {"type": "str", "required": True},
                    "netns": {"type": "str"},
                },
            },
            "limit_percent": {"type": "float", "default": 1},
        },
        watched,
    )


if __name__ == "__main__":
    main()
