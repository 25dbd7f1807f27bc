#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: steps
short_description: Return what a campaign does next
version_added: 0.1.0
description:
  - Reads the plan and the record of a campaign and returns the blocks that are not complete, with the steps of each in
    their order. Role C(measure) does them one after the other.
  - With O(part=confirm) it decides, once all planned visits are made, which profiles to visit again, and writes the
    decision to C(decisions.jsonl) in the results folder. A resumed campaign goes on with that decision.
  - With O(part=search) it returns the rounds of a search. Once all visits of a round are made, it decides on the next
    round or the end of the search, and writes that there, too.
  - A visit is left where one of its planned trials is not recorded, or one that is due to be measured again. A trial is
    due that a guard left out for a cause outside the profile, within the plan's C(remeasure).
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.controller
  - offload.lab.attributes
attributes:
  check_mode:
    support: full
    details: In check mode it decides nothing.
  diff_mode:
    support: none
options:
  plan:
    description: Path of the campaign's C(plan.json), on the controller.
    type: path
    required: true
  pairs:
    description: The pairs that measure, each with C(client) and C(server).
    type: list
    elements: dict
    required: true
  part:
    description: The part of the campaign, its planned visits, the rounds of a search, or the confirmation after them.
    type: str
    choices: [planned, search, confirm]
    default: planned
  block:
    description:
      - Return what is left of the block with this number. If an interim test is due it comes first. Factors that it
        settles leave the plan. Needs O(mtu).
    type: int
  mtu:
    description: With O(block), its MTU of the underlay in bytes.
    type: int
  lab_mtu:
    description: The MTU that the lab's underlay has, in bytes. A plan with this one alone does not set it.
    type: int
  store:
    description:
      - Whether something is done between two visits. The results go into a store, or the run may end there.
      - Then the profile is set in one task and measured in another. So it is where the play has more hosts than Ansible
        has forks.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: See what is left of a campaign
  offload.lab.steps:
    plan: "{{ playbook_dir }}/results/demo/plan.json"
    pairs: [{client: node1, server: node2}]
  register: left

- name: See what is left of the third block, and how far the campaign is
  offload.lab.steps:
    plan: "{{ playbook_dir }}/results/demo/plan.json"
    pairs: [{client: node1, server: node2}]
    block: 3
    mtu: 9000
"""

RETURN = r"""
blocks:
  description:
    - The blocks in which something is left to do, in their order, each with C(part), C(mtu), C(block) and C(steps).
    - Of more than 800 steps in all, no block has C(steps). Ask for the steps of a block with O(block).
  returned: without O(block)
  type: list
  elements: dict
  sample: [{part: planned, mtu: 9000, block: 1}]
steps:
  description:
    - With O(block), its steps that are left.
    - A step has C(do), V(settings), V(apply) or V(measure), C(block), C(visit), C(mtu), C(profile), C(new_mtu), whether
      the MTU must be set, and C(pairs), those that measure at the same time.
  returned: with O(block)
  type: list
  elements: dict
  sample: [{do: visit, tasks: visit, block: 3, visit: 2}]
standing:
  description:
    - How far the campaign is. C(recorded) are all its trials in the record, those that were measured again among them.
    - C(planned) are the trials of the part, for the pairs that measure.
  returned: with O(block)
  type: dict
  sample: {campaign: demo, part: planned, mtu: 9000, block: 3, blocks: 8, recorded: 36, planned: 96}
profiles:
  description: The settings of each profile of the part by end (C(client), C(server)) and device class.
  returned: without O(block)
  type: dict
  sample: {all_off: {client: {underlay: {features: {tso: false}}}, server: {underlay: {features: {tso: false}}}}}
"""
