# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Turn a campaign into a plan of visits in random order
version_added: 0.1.0
description:
  - Checks a campaign and completes it with defaults.
  - Writes the plan to C(plan.json) in the campaign's results folder on the controller.
  - The plan has every visit and cell in the order in which they are measured, which follows from the campaign's seed.
  - An existing plan must be the same, so that a stopped campaign goes on in its own order. A different one is an error.
  - In check mode it is a dry run. It shows visits, cells, time and the smallest effects that the plan can find, and
    writes nothing.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.campaign
  - offload.lab.campaign.own_paths
  - offload.lab.attributes.controller
  - offload.lab.attributes
options:
  results_dir:
    description: The folder that contains a folder for each campaign.
    type: path
    default: results
  lab_mtu:
    description:
      - MTU of the lab's underlay in bytes, for campaigns that name no C(mtus). The default is 9000.
    type: int
  engine:
    description: What makes the load of a campaign that names no engine. V(auto) and V(netperf) change nothing.
    type: str
  scatter_from:
    description:
      - The results folder of an earlier campaign. From its scatter between trials, visits and blocks the dry run
        predicts how long it takes to find effects of several sizes, and which cell duration answers soonest.
      - By default the scatter of what the campaign itself has measured, else of a typical machine.
    type: path
  chunk_seconds:
    description: About how many seconds one module call measures at most.
    type: int
    default: 150
  stored:
    description: Whether what is measured goes into a results store visit by visit. Then a call is 30 s at most.
    type: bool
    default: false
  readings:
    description:
      - The C(devices) of M(offload.lab.ethtool_info), one for each node. With these a screen or a search leaves out
        factors whose features are fixed on all devices they are for, and says so.
    type: list
    elements: dict
    default: []
  classes:
    description: With O(readings), in the same order, the C(devices) of M(offload.lab.lab_node).
    type: list
    elements: dict
    default: []
notes:
  - One of O(campaign) and O(campaign_file) is required.
"""

EXAMPLES = r"""
- name: Plan a campaign
  offload.lab.plan:
    campaign:
      name: first
      factors: [tx, tso, gso, gro]
      paths: [physical, tenant_vxlan]
  register: plan

- name: Plan the campaign of a file, with the answers of a survey
  offload.lab.plan:
    campaign_file: campaigns/one_at_a_time.yml
    results_dir: /srv/results
    overrides:
      blocks: "8"
      mtus: "9000, 1500"
"""

RETURN = r"""
results:
  description: The campaign's folder on the controller.
  returned: success
  type: str
  sample: /srv/results/first
plan_file:
  description: The path of C(plan.json).
  returned: success
  type: str
  sample: /srv/results/first/plan.json
campaign:
  description: The name of the campaign.
  returned: success
  type: str
  sample: first
seed:
  description: The seed that decides the order.
  returned: success
  type: int
  sample: 1
design:
  description: The design.
  returned: success
  type: str
  sample: on_off
blocks:
  description: The number of blocks.
  returned: success
  type: int
  sample: 6
control:
  description: The profile that all others are compared with.
  returned: success
  type: str
  sample: all_off
mtus:
  description: MTUs of the underlay in bytes.
  returned: success
  type: list
  elements: int
  sample: [9000]
paths:
  description: The paths that are measured.
  returned: success
  type: list
  elements: str
  sample: [physical, tenant_vxlan]
pairs:
  description: The pairs that are measured, each with C(client) and C(server). Empty for the first two nodes.
  returned: success
  type: list
  elements: dict
  sample: []
measuring:
  description:
    - The pairs that measure, RV(pairs) or else the first two hosts of the play. Tenants that are hosts of their own, in
      the group C(lab_tenants), come before nodes.
  returned: success
  type: list
  elements: dict
  sample: [{client: node1, server: node2}]
servers_are_shared:
  description: Whether two of RV(measuring) have one server, and so take turns.
  returned: success
  type: bool
  sample: false
members:
  description: By host what it does in the campaign, the hosts of RV(measuring) and the nodes of those that are tenants.
  returned: success
  type: dict
  contains:
    member:
      description: Whether it takes part.
      type: bool
      returned: always
    end:
      description: The end whose settings it gets, C(client) or C(server).
      type: str
      returned: always
    pairs:
      description: The pairs whose client it is.
      type: list
      elements: dict
      returned: always
    partners:
      description: The hosts that it measures with. Of a node that is here for its tenants, each tenant and its partner.
      type: list
      elements: str
      returned: always
    needed:
      description: The hosts that must have taken a profile for that.
      type: list
      elements: str
      returned: always
    lost_without:
      description: By each of them the partners that are lost with it.
      type: dict
      returned: always
    elsewhere:
      description: Classes of devices that another host has and this one does not.
      type: list
      elements: str
      returned: always
  sample:
    node1:
      member: true
      end: client
      pairs: [{client: node1, server: node2}]
      partners: [node2]
      needed: [node2]
      lost_without: {node2: [node2]}
      elsewhere: []
homes:
  description: By tenant that is a host its node.
  returned: success
  type: dict
  sample: {}
forwarder:
  description: The host of the group C(lab_forwarders), which is between the nodes. Empty where there is none.
  returned: success
  type: str
  sample: ""
rounds:
  description: Lists of RV(pairs) that are measured at the same time, in the order of the rounds.
  returned: success
  type: list
  elements: list
  sample: []
tests:
  description: The tests of the workloads.
  returned: success
  type: list
  elements: str
  sample: [TCP_STREAM, UDP_STREAM]
sampling:
  description: The engine whose streams are sampled, and by which the paths are tried.
  returned: success
  type: str
  sample: netperf
servers:
  description: How many servers each address needs of each engine of the workloads, and of RV(sampling).
  returned: success
  type: dict
  sample: {netperf: 1}
estimated_s:
  description: A rough estimate of the time in seconds.
  returned: success
  type: float
  sample: 540.0
visit_s:
  description: A rough estimate of the time that one visit takes at most, all its rounds, in seconds.
  returned: success
  type: float
  sample: 30.0
chunk_s:
  description: About how many seconds one module call measures at most.
  returned: success
  type: int
  sample: 150
pieces:
  description: Into how many pieces a visit is cut. After each piece the results store is brought up to date.
  returned: success
  type: int
  sample: 1
lease_s:
  description: For how many seconds the lock of a results store is valid without a sign of life.
  returned: success
  type: float
  sample: 60.0
confirm:
  description: The number of blocks of the confirmation, 0 where there is none.
  returned: success
  type: int
  sample: 6
profiles:
  description: The settings of each profile by end (C(client), C(server)) and device class.
  returned: success
  type: dict
  sample: {all_off: {client: {underlay: {features: {tso: false}}}, server: {underlay: {features: {tso: false}}}}}
totals:
  description: How many C(visits) and C(cells) the plan has.
  returned: success
  type: dict
  sample: {visits: 18, cells: 72}
visits:
  description:
    - The visits in order, with C(block), C(visit), C(mtu), C(profile), C(repeat) and the number of C(cells).
    - The first 800; C(plan.json) has all.
  returned: success
  type: list
  elements: dict
  sample: [{block: 1, visit: 1, mtu: 9000, profile: all_on, cells: 4}]
"""
