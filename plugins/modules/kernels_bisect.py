# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kernels_bisect
short_description: Find the kernel with which a fault or a slowdown began
version_added: 0.1.0
description:
  - Reads the campaigns that were measured under kernels of an ordered list, and says which kernel to measure next.
    Playbook C(kernels) measures it and asks again.
  - The first kernel is good and the last one bad. The module first asks for both, and fails if they do not differ.
  - A kernel whose measurement does not decide is measured up to three times. Then a neighbour takes its place.
  - All decisions share an error level of 1 %. It holds if only one kernel of the list brings the change.
  - All it remembers is in the results folders, so a stopped search goes on.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.controller
  - offload.lab.attributes
attributes:
  diff_mode:
    support: none
options:
  kernels:
    description: The kernels in order, two or more. They are packages such as C(linux-image-6.1.0-56-amd64), or folders.
    type: list
    elements: str
    required: true
  results:
    description: The folder of the results on the controller. Each kernel has a folder in it, with a file C(finished).
    type: path
    required: true
  question:
    description: The content of C(finished). Measurements with another content do not count.
    type: str
    required: true
  slower_percent:
    description:
      - The bad kernels are those under which an effect is worse by this many per cent or more.
      - With V(0) they are those under which the payload is broken.
    type: float
    default: 0
  failed:
    description: Kernels that could not be measured. Their neighbours take their place.
    type: list
    elements: str
    default: []
  changelogs:
    description:
      - The Debian changelogs of the kernels by name, as texts. RV(entries) has the entries of the first bad kernel that
        the last good one lacks.
    type: dict
    default: {}
requirements:
  - The Python package scipy on the controller
seealso:
  - module: offload.lab.kernels_report
"""

EXAMPLES = r"""
- name: Ask which kernel to measure next
  offload.lab.kernels_bisect:
    kernels:
      - linux-image-6.1.0-50-amd64
      - linux-image-6.1.0-53-amd64
      - linux-image-6.1.0-56-amd64
    results: results/kernels
    question: "{{ lookup('file', 'my_campaign.yml') | hash('sha256') }}"
    slower_percent: 10
  register: search
"""

RETURN = r"""
next:
  description: The kernel to measure next; null at the end of the search.
  returned: success
  type: str
  sample: linux-image-6.1.0-53-amd64
folder:
  description: The folder for its results.
  returned: success
  type: str
  sample: results/kernels/6.1.0-53-amd64
sides:
  description: The kernels whose side is known, C(good) or C(bad).
  returned: success
  type: dict
  sample: {linux-image-6.1.0-50-amd64: good, linux-image-6.1.0-56-amd64: bad}
range:
  description:
    - At the end of the search, the last kernel C(good), the first kernel C(bad), and C(between), the kernels that are
      not decided.
  returned: success
  type: dict
  sample: {good: linux-image-6.1.0-50-amd64, bad: linux-image-6.1.0-53-amd64, between: []}
follows:
  description: The difference between the first and the last kernel that the search follows.
  returned: success
  type: str
  sample: the payload on physical at MTU 9000 is broken
entries:
  description: The entries of the changelogs in the range.
  returned: success
  type: list
  elements: str
answer:
  description: What the search found, in sentences.
  returned: success
  type: list
  elements: str
  sample: ["The change is after 6.1.0-50 and not after 6.1.0-53."]
"""
