# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: request
short_description: Check variables, campaign and nodes before any node is changed
version_added: 0.1.0
description:
  - Checks the variables C(offload_lab_*) of all nodes against the argument specs of the roles,
    names, types, choices, ranges, networks and addresses.
  - Checks the campaign, if one is given, and that its nodes exist and have an end of each of its paths.
  - With O(campaign_required) checks that the campaign's results can be written where they are to be.
  - With O(readings) it judges the nodes by what was read there, such as programs, ports, devices, MTUs and privileges.
  - Works on the controller alone. It needs no connection to a node.
  - Shows everything that is wrong, and fails with the first problem.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.campaign
  - offload.lab.campaign.own_paths
  - offload.lab.attributes.controller
  - offload.lab.attributes.info
options:
  group:
    description: The group of the nodes.
    type: str
    default: lab_nodes
  campaign_required:
    description: Whether a missing campaign is an error.
    type: bool
    default: false
  results_dir:
    description: The folder that contains a folder for each campaign. It need not be there yet.
    type: path
    default: results
  engine:
    description:
      - The engine of the lab, which also makes the load of a campaign that names none.
      - V(auto) is netperf where each node of O(readings) has it, else iperf3.
    type: str
    default: netperf
  readings:
    description:
      - By node the C(preflight) that M(offload.lab.preflight_info) returned.
      - Then the nodes are judged instead of the variables, and the result is a table of all nodes.
    type: dict
    default: {}
  names_only:
    description:
      - Whether only the names of variables are checked, of the controller and of all hosts in the inventory.
      - Each name that begins with C(offload_lab_) must be one that a role has. The message proposes the nearest name.
      - Every playbook of this collection begins with this check.
    type: bool
    default: false
seealso:
  - module: offload.lab.preflight_info
  - module: offload.lab.plan
"""

EXAMPLES = r"""
- name: Check the variables and the campaign
  offload.lab.request:
    campaign_file: campaigns/one_at_a_time.yml
  run_once: true

- name: Refuse a misspelt variable
  offload.lab.request:
    names_only: true
  run_once: true

- name: Judge the nodes
  offload.lab.request:
    readings:
      node1: "{{ hostvars.node1.preflight.preflight }}"
  run_once: true
"""

RETURN = r"""
engine:
  description:
    - What makes the load of a campaign that names no engine.
    - V(auto) becomes an engine when O(readings) are given.
    - Without a lab it is V(sockets) for a campaign that checks the payload alone.
  returned: unless O(names_only)
  type: str
  sample: netperf
needed:
  description: The engines that the lab and the campaign need.
  returned: unless O(names_only)
  type: list
  elements: str
  sample: [netperf, iperf3]
"""
