# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: history
short_description: Show many campaigns over time on one page, and when something changed
version_added: 0.1.0
description:
  - Reads campaigns that were measured repeatedly with the same campaign file, such as every night.
  - Shows every quantity over the campaigns, and the control by version of kernel, driver, firmware and Open vSwitch.
  - Names the campaign at which something changed, and how its manifest differs from the one before it.
  - If nothing changed, it names a change with a probability of 5 %. The test permutes the campaigns, all quantities
    together, so that the scatter from day to day is taken into account.
  - A change needs eight campaigns in all, and two on each side of it.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.controller
  - offload.lab.attributes
attributes:
  diff_mode:
    support: none
options:
  results:
    description:
      - Folders on the controller. Each is the results folder of a campaign, or contains such folders.
      - Campaigns are ordered by the time they were planned, imported logs by name.
    type: list
    elements: path
    required: true
  output:
    description: A folder on the controller for C(history.html), C(history.md) and C(history.json).
    type: path
    required: true
requirements:
  - The Python package scipy on the controller
"""

EXAMPLES = r"""
- name: See what changed in a year of nightly campaigns
  offload.lab.history:
    results: [results/nightly]
    output: results/history
  register: history

- name: Fail where something changed in the last campaign but one
  ansible.builtin.assert:
    that: last not in history.changes | map(attribute='number')
  vars:
    last: "{{ history.campaigns - 1 }}"
"""

RETURN = r"""
campaigns:
  description: How many campaigns were found.
  returned: success
  type: int
  sample: 12
changes:
  description: The changes that were shown, each by the first campaign after it and its number.
  returned: success
  type: list
  elements: dict
  sample: [{campaign: "2026-07-01", number: 7, p: 0.0021}]
output:
  description: The folder with the files.
  returned: success
  type: str
  sample: results/history
"""
