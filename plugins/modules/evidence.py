#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: evidence
short_description: See in the packets what the settings of both ends do
version_added: 0.1.0
description:
  - Sends warm-up traffic along each path and meanwhile samples packets on the devices of both ends.
  - The share of bytes in packets longer than the MTU shows whether a device segments (outgoing) or whether packets were
    merged (incoming). The checksum state shows who computes checksums. The outer header on the underlay shows whether
    traffic is encapsulated, with which VNI, and with or without an outer checksum.
  - Runs on the client. The server's devices are sampled by its probe, see M(offload.lab.probe).
  - Reads only. The traffic goes to the addresses that are given, which must be the lab's.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.action
  - offload.lab.attributes
  - offload.lab.probe
attributes:
  check_mode:
    support: full
    details: In check mode no traffic is sent and nothing is sampled.
  diff_mode:
    support: none
options:
  ends:
    description:
      - Instead of O(paths), the ends of a lab. C(paths) is a list of names of paths, C(client) and C(server) have
        C(endpoints) and C(devices) as M(offload.lab.lab_node) returns them.
    type: dict
  features:
    description: The C(devices) of M(offload.lab.ethtool_info) on the client. With it RV(rows) are returned.
    type: dict
  paths:
    description: The paths to sample. Either this or O(ends) is needed.
    type: list
    elements: dict
    suboptions:
      name:
        description: The path, such as V(physical) or V(tenant_vxlan).
        type: str
        required: true
      netns:
        description: The client's network namespace on this path; the node's own by default.
        type: str
      local_address:
        description: The client's address on this path.
        type: str
        required: true
      address:
        description: The server's address on this path, where a netserver listens.
        type: str
        required: true
      port:
        description: The netserver's port.
        type: int
        default: 12865
      data_port:
        description:
          - The server's port of the data connection, by default O(paths[].port) plus 5.
          - Clients that use one netserver at the same time need ports that differ.
        type: int
      client_devices:
        description:
          - The client's devices to sample, each with C(name) and, inside a namespace, C(netns).
          - C(alike) marks devices where the path uses one of several, such as ports; each other one must see traffic.
        type: list
        elements: dict
        required: true
      server_devices:
        description: The server's devices to sample, as O(paths[].client_devices).
        type: list
        elements: dict
        required: true
  tests:
    description: The directions of the warm-up traffic, as netperf's tests. Both are sampled simultaneously, or
      one after the other where one starves the other.
    type: list
    elements: str
    choices: [TCP_STREAM, TCP_MAERTS]
    default: [TCP_STREAM]
  seconds:
    description:
      - How long each path is sampled at most, in seconds, 0.05 to 10.
      - It ends when each device has seen 200 packets of the stream, in both directions where both are sampled.
    type: float
    default: 0.3
  token:
    description: The token of the netserver, which M(offload.lab.netserver) returns.
    type: str
  vxlan_port:
    description: The tunnel's UDP port.
    type: int
    default: 4789
"""

EXAMPLES = r"""
- name: See what the underlay does with a TCP stream
  offload.lab.evidence:
    paths:
      - name: physical
        local_address: 198.18.0.1
        address: 198.18.0.2
        client_devices: [{name: underlay0}]
        server_devices: [{name: underlay0}]
    probe:
      address: 198.18.0.2
      token: "{{ probe.token }}"
"""

RETURN = r"""
packets:
  description:
    - By path, test, end (V(client), V(server)) and device (C(name) or C(netns/name)) what was seen, C(out) and C(in).
    - C(super_share), C(tunnel_super_share), C(csum_not_ready_share) and C(csum_valid_share) are shares of bytes, 0 to
      1, null where no packet was seen. C(mtu) and C(longest) are in bytes, without the Ethernet header.
    - C(counters) are the driver's counters (C(ethtool -S)) that concern offloads and went up, with the increase.
    - C(checksums) counts the first packets that arrived, by what their checksums are when made again, C(right),
      C(vouched) (wrong, and the device said that it is right), C(unfilled) (left to the sender's device) and C(wrong).
    - A path without traffic has C(error) instead.
  returned: success
  type: dict
  sample: {physical: {TCP_STREAM: {client: {underlay0: {mtu: 9000, out: {super_share: 0.98}}}}}}
rows:
  description:
    - The offloads that are on or may be changed, with C(device), C(feature), C(state), C(fixed), C(proof), what the
      packets prove, and C(line), all of it as a line of a table. Those that are fixed off share a row a device.
  returned: with O(features)
  type: list
  elements: dict
  sample: [{device: eth0, feature: gro, state: "on", proof: proven}]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._host.module import Returned, run_module
from ..module_utils._load.spec import PROBE, SAMPLES
from ..module_utils._observe import evidence
from ..module_utils._observe.probe import Probe


def gather(module: AnsibleModule) -> Returned:
    """Sample every path in every direction."""
    params = module.params
    evidence.check(params)
    if module.check_mode:
        return {"changed": False, "packets": {}}
    probe = Probe(params["probe"]["address"], params["probe"]["port"], params["probe"]["token"])
    try:
        return {"changed": False, "packets": evidence.sample(params, probe)}
    finally:
        probe.close()


def main() -> None:
    run_module(
        {
            "ends": {"type": "dict"},
            "features": {"type": "dict"},
            "paths": {
                "type": "list",
                "elements": "dict",
                "options": {
                    "name": {"type": "str", "required": True},
                    "netns": {"type": "str"},
                    "local_address": {"type": "str", "required": True},
                    "address": {"type": "str", "required": True},
                    "port": {"type": "int", "default": network.NETSERVER_PORT},
                    "data_port": {"type": "int"},
                    "client_devices": {"type": "list", "elements": "dict", "required": True},
                    "server_devices": {"type": "list", "elements": "dict", "required": True},
                },
            },
            **SAMPLES,
            "token": {"type": "str", "no_log": True},
            "probe": {"type": "dict", "options": PROBE},
        },
        gather,
        required_one_of=[("ends", "paths")],
        required_by={"paths": ["probe"]},
    )


if __name__ == "__main__":
    main()
