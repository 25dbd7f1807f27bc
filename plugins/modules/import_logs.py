# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: import_logs
short_description: Import the output of netperf or iperf3 as a campaign
version_added: 0.1.0
description:
  - Reads files on the controller that hold netperf's output, in any format of netperf 2.4 to 2.7, or the JSON of iperf3
    (C(iperf3 -J)), one document or several.
  - Writes them as a campaign marked C(imported).
  - M(offload.lab.report) and M(offload.lab.compare) read it like any other.
  - Runs with the same test, sizes, path, MTU and profile are counted as blocks. Fewer than six get no interval.
  - A truncated run is a failed trial. A confidence interval that netperf did not reach is shown with its width.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.attributes.controller
  - offload.lab.attributes
attributes:
  diff_mode:
    support: none
options:
  name:
    description: The name of the campaign and of its results folder.
    type: str
    required: true
  logs:
    description: The logs, or parts of them.
    type: list
    elements: dict
    required: true
    suboptions:
      file:
        description: The path of a text file on the controller.
        type: str
        required: true
      profile:
        description: The profile that was set during the measurement.
        type: str
        required: true
      path:
        description: The path of the traffic, such as C(tenant_vxlan), by default V(imported).
        type: str
      mtu:
        description: The MTU of the underlay in bytes, 68 to 65535, if it is known.
        type: int
      first_line:
        description: The first line of the part to import, from 1.
        type: int
      last_line:
        description: The last line of the part to import.
        type: int
  source:
    description: Where the logs are from, in words.
    type: str
  control:
    description: The profile that the others are compared with. By default the profile of the first log.
    type: str
  profiles:
    description: What the profiles were, as a mapping of profile to features and their levels.
    type: dict
  results_dir:
    description: The folder that holds a folder for each campaign.
    type: path
    default: results
"""

EXAMPLES = r"""
- name: Import a published comparison
  offload.lab.import_logs:
    name: published
    source: a published study of VXLAN offload
    control: offload_off
    profiles:
      offload_off: {tx-udp_tnl-segmentation: false}
      offload_on: {tx-udp_tnl-segmentation: true}
    logs:
      - file: netperf.log
        profile: offload_off
        path: tenant_vxlan
        mtu: 9000
        last_line: 95
      - file: netperf.log
        profile: offload_on
        path: tenant_vxlan
        mtu: 9000
        first_line: 96
"""

RETURN = r"""
results:
  description: The campaign's folder on the controller.
  returned: success
  type: str
  sample: /srv/results/published
trials:
  description: The number of runs that were found.
  returned: success
  type: int
  sample: 10
broken:
  description: The ids (file and line) of runs without a result, at most 50.
  returned: success
  type: list
  elements: str
  sample: ["netperf.log:123"]
"""
