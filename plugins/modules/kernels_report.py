# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kernels_report
short_description: Show one campaign under several kernels on one page, and between which kernels something changed
version_added: 0.1.0
description:
  - Reads the results folders of one campaign that was measured under several kernels, one folder for each kernel.
  - Shows each effect under each kernel with its interval, and names the kernels between which it changed.
  - Names what a device could be asked under one kernel and not under another, and which recommendation changes.
  - Where a workload checks the payload, it begins with under which kernel it is broken, and with which setting.
  - If nothing differs, it names a difference with a probability of 5 %, for all effects and all pairs of kernels
    together.
  - Kernels are put in the order of their versions. The version is the one in C(manifest.json).
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
      - Each of them needs C(manifest.json), and C(analysis.json) of module M(offload.lab.report).
    type: list
    elements: path
    required: true
  output:
    description: A folder on the controller for C(kernels.html), C(kernels.md) and C(kernels.json).
    type: path
    required: true
requirements:
  - The Python package scipy on the controller
seealso:
  - module: offload.lab.compare
  - module: offload.lab.history
"""

EXAMPLES = r"""
- name: See what changed between the kernels of a night
  offload.lab.kernels_report:
    results: [results/kernels]
    output: results/kernels
  register: kernels

- name: Fail where an effect became worse
  ansible.builtin.assert:
    that: kernels.changes | selectattr('verdict', 'eq', 'worse') | length == 0
"""

RETURN = r"""
kernels:
  description: The kernels in the order of their versions.
  returned: success
  type: list
  elements: str
  sample: [6.1.0-56-amd64, 6.12.107+deb12-amd64]
changes:
  description: The changes that were shown, the largest first, 50 at most.
  returned: success
  type: list
  elements: dict
  sample: [{before: 6.1, after: 6.12, ratio: 0.91, verdict: worse}]
output:
  description: The folder with the files.
  returned: success
  type: str
  sample: results/kernels
"""
