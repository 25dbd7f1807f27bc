# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: compare
short_description: Compare campaigns with a baseline, such as after a kernel upgrade
version_added: 0.1.0
description:
  - Compares the effect of each profile against the control between campaigns with the same tables.
  - Differences of effects have 95 % intervals by Welch's t on logarithms. Holm's correction covers all of them.
  - Where no difference is shown, an interval within ± C(matters) of the campaigns means no difference that matters.
    Otherwise it is not known whether there is one. Neither is a regression.
  - With fewer than six blocks in one of the campaigns there is no interval and no test.
  - The values of each profile are listed for information. They are not judged, because they depend on the day and on
    the machine's load.
  - Differences between the manifests are listed, too.
  - C(junit.xml) is for pipelines. It has a failure for each regression.
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
    description: The results folders of two campaigns or more on the controller. The first is the baseline.
    type: list
    elements: path
    required: true
  output:
    description:
      - A folder on the controller for C(comparison.json), C(comparison.md) and C(junit.xml).
      - Without it nothing is written.
    type: path
  threshold_percent:
    description:
      - In per cent of the baseline's effect. An effect that is shown to be worse, and by more than this, is a
        regression.
      - Campaigns without an effect in common are an error then, because nothing could be judged.
      - Without it nothing is judged.
    type: float
requirements:
  - The Python package scipy on the controller
"""

EXAMPLES = r"""
- name: Compare a new kernel with the old one
  offload.lab.compare:
    results: [results/kernel-6.12, results/kernel-6.18]
    output: results/compare
    threshold_percent: 5
  register: comparison

- name: Fail the pipeline on a regression
  ansible.builtin.assert:
    that: comparison.passed
    fail_msg: "{{ comparison.failures | join('; ') }}"
"""

RETURN = r"""
baseline:
  description: The name of the campaign that the others are compared with.
  returned: success
  type: str
  sample: kernel-6.12
passed:
  description: Whether nothing is shown to be worse by more than the threshold.
  returned: success
  type: bool
  sample: true
failures:
  description: The regressions, at most 50.
  returned: success
  type: list
  elements: str
  sample: ["new: physical/9000/tcp_stream, effect of tso: 0.912"]
output:
  description: The folder with the files, if one was given.
  returned: success
  type: str
  sample: results/compare
manifest_differences:
  description: How many values differ between the manifests.
  returned: success
  type: int
  sample: 3
"""
