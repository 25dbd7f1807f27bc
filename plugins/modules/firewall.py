#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: firewall
short_description: Let the traffic of the lab through the host's firewall
version_added: 0.1.0
description:
  - Lets in netperf's control and data connections, the probe and the tunnel, from the addresses in O(sources) alone.
  - In nftables the rules go to the top of an existing chain, with the comment C(offload.lab ...). Rules in a table of
    their own could not stop another table from dropping the packets.
  - In firewalld they are rich rules in the device's zone with the priority -4789. A reload of firewalld removes them.
  - Other rules are never changed.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes
options:
  method:
    description: The firewall of the host.
    type: str
    choices: [nftables, firewalld]
    required: true
  sources:
    description: Addresses and networks of the other nodes. Needed with O(state=present).
    type: list
    elements: str
    default: []
  chain:
    description: Family, table and chain of nftables that filters incoming packets.
    type: str
    default: inet filter input
  device:
    description: The device whose zone of firewalld is changed. Needed with O(method=firewalld).
    type: str
  netperf_port:
    description: Port of netserver. Data connections use the 2000 ports that begin 5 above it.
    type: int
    default: 12865
  probe_port:
    description: TCP port of the probe.
    type: int
    default: 12866
  tunnel_type:
    description: What carries the tenants' packets. V(gre) is an IP protocol of its own, the others use UDP.
    type: str
    choices: [vxlan, geneve, gre]
    default: vxlan
  vxlan_port:
    description: UDP port of VXLAN. Geneve's is 6081.
    type: int
    default: 4789
  state:
    description: With V(absent) all rules of the lab are removed.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: offload.lab.preflight_info
"""

EXAMPLES = r"""
- name: Let the other node in
  offload.lab.firewall:
    method: nftables
    sources: [198.18.0.2]

- name: Close it again
  offload.lab.firewall:
    method: nftables
    state: absent
"""

RETURN = r"""
rules:
  description: The rules of the lab that are there afterwards.
  returned: success
  type: list
  elements: str
  sample: ["tcp 12865-14869 from 198.18.0.2", "udp 4789 from 198.18.0.2"]
commands:
  description: What was run, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: ["nft delete rule inet filter input handle 7"]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base import network
from ..module_utils._base.errors import InputError
from ..module_utils._host.module import Returned, run_module
from ..module_utils._host.privileges import require
from ..module_utils._host.runner import run
from ..module_utils._lab import firewall


def converge(module: AnsibleModule) -> Returned:
    """Bring the lab's rules to what is wanted; return the module's result."""
    require(["CAP_NET_ADMIN"])
    params = module.params
    rules = []
    if params["state"] == "present":
        if not params["sources"]:
            raise InputError(
                "nobody would be let in", "sources", "Give the addresses of the other nodes."
            )
        ports = {**firewall.TUNNEL_PORTS, "vxlan": params["vxlan_port"]}
        rules = firewall.wanted(
            params["sources"],
            params["netperf_port"],
            params["probe_port"],
            ports[params["tunnel_type"]],
        )
    program = (
        firewall.Nftables(params["chain"])
        if params["method"] == "nftables"
        else firewall.Firewalld(params["device"])
    )
    before = program.read(missing_ok=params["state"] == "absent")
    commands = firewall.plan(program, before, rules)
    after = [str(rule) for rule in rules]
    if not module.check_mode:
        for command in commands:
            run(command)
        after = list(program.read()) if commands else list(before)
    return {
        "changed": bool(commands),
        "rules": sorted(after),
        "commands": [" ".join(line) for line in commands],
        "diff": {"before": {"rules": sorted(before)}, "after": {"rules": sorted(after)}},
    }


def main() -> None:
    run_module(
        {
            "method": {"type": "str", "choices": ["nftables", "firewalld"], "required": True},
            "sources": {"type": "list", "elements": "str", "default": []},
            "chain": {"type": "str", "default": "inet filter input"},
            "device": {"type": "str"},
            "netperf_port": {"type": "int", "default": network.NETSERVER_PORT},
            "probe_port": {"type": "int", "default": network.PROBE_PORT},
            "tunnel_type": {
                "type": "str",
                "default": "vxlan",
                "choices": ["vxlan", *firewall.TUNNEL_PORTS],
            },
            "vxlan_port": {"type": "int", "default": network.VXLAN_PORT},
            "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        },
        converge,
        required_if=[("method", "firewalld", ["device"])],
    )


if __name__ == "__main__":
    main()
