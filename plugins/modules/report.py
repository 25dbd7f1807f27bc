# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Make the report of a campaign from its results folder
version_added: 0.1.0
description:
  - Analyses the trials of a campaign on the controller and writes the results into the campaign's results folder.
  - C(report.html) is one file with its figures inside. It loads nothing from a network.
  - C(report.md) has the same facts for a merge request, C(report.txt) the comparison for a console.
  - C(junit.xml) is for pipelines. It has a failure when the campaign is unfinished, a profile fails more often than
    the control, or the payload of a path is broken.
  - C(metrics.prom) has values and effects as OpenMetrics text for Prometheus.
  - C(analysis.json) and C(trials.csv) have the numbers, C(recommended.yml) the settings that the evidence supports.
  - C(issue.md) is there where the payload of a path is broken. It has at most 40 lines to paste into an issue tracker,
    and names no host.
  - C(reproduce.sh) is there where an offload breaks a path. It shows the fault without Ansible. It has names
    of devices and addresses.
  - C(daemonset.yml) is there where a cure is for devices of the nodes themselves, such as a tunnel. It keeps the cure
    on each node of a cluster of Kubernetes.
  - The lab is not needed. The same folder gives the same files, byte for byte, on any controller.
  - Files are replaced whole, and only when their content differs.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.campaign.name
  - offload.lab.attributes.controller
  - offload.lab.attributes
options:
  results:
    description:
      - The folder of one campaign on the controller, with C(plan.json) and C(trials.jsonl).
      - Without C(manifest.json) the report says that the conditions are not known.
      - By default the folder of O(campaign) or O(campaign_file) in O(results_dir).
    type: path
  live:
    description:
      - V(refresh) makes the report of a running campaign, C(report.html), C(report.md) and C(report.txt), with the
        standing of each comparison, the nominee and the time left. It claims nothing, and the page in a browser
        reloads itself.
      - It is skipped when it would take more than 0.3 s for each visit since the last one, or 5 % of the time.
      - V(end) makes the ordinary report if a live one was made.
      - Neither of them fails the task, the campaign goes on without it.
    type: str
    choices: [refresh, end]
requirements:
  - The Python packages scipy and Jinja2 on the controller
notes:
  - With fewer than six blocks there are no intervals and no tests, and the report says so.
"""

EXAMPLES = r"""
- name: Make the report of a campaign
  offload.lab.report:
    results: results/demo
  register: report

- name: Show the comparison
  ansible.builtin.debug:
    msg: "{{ report.table.splitlines() }}"
"""

RETURN = r"""
made:
  description: Whether the report was made.
  returned: with O(live)
  type: bool
  sample: true
line:
  description: How the campaign stands in one line, or why no report was made.
  returned: with O(live)
  type: str
  sample: "live report: 24 of 64 visits done, about 4 min left"
cost:
  description: Seconds that the report took.
  returned: with O(live=refresh), where it was made
  type: float
  sample: 0.4
states:
  description: How many effects of factors are in each state, over all tables and metrics.
  returned: success
  type: dict
  sample: {better: 3, same: 4, unknown: 1}
recommended:
  description: The level of each factor that is recommended, by factor. Empty where nothing is.
  returned: success
  type: dict
  sample: {tso: "on"}
payload:
  description:
    - What checks of the payload say. C(paths) has C(path), C(mtu), C(verdict), C(kind), C(trials), C(troubled),
      C(blames), C(bounds), C(hops), C(off) and C(text) of each checked path, as C(analysis.json) has them.
    - C(cure) has the settings to switch off for all paths together, where something is broken.
  returned: without O(live)
  type: dict
  sample: {paths: [{path: pods, mtu: 1450, verdict: broken, "off": [tx]}], cure: {"off": {tx: "off"}, confirmed: true}}
recommendation:
  description: What role P(offload.lab.apply#role) takes as O(offload.lab.apply#role:main:offload_lab_recommended).
  returned: without O(live)
  type: dict
  sample: {campaign: demo, profile: null, client: {}, server: {}}
report:
  description: The path of C(report.html) on the controller.
  returned: success
  type: str
  sample: /srv/results/demo/report.html
files:
  description: The paths of all files of the report, by name.
  returned: success
  type: dict
  sample: {report.html: /srv/results/demo/report.html, report.md: /srv/results/demo/report.md}
headline:
  description: The answer of the campaign in one or two sentences.
  returned: success
  type: str
  sample: "Set tso=on: 84 % more throughput than all_off (71 to 97 %)."
table:
  description: The comparison as text of at most 100 columns.
  returned: success
  type: str
  sample: "all_on    5205    5021 to 5377    1.65    1.59 to 1.70"
"""
