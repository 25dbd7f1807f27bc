# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: bundle
short_description: Write one archive of a campaign to share, without its names
version_added: 0.1.0
description:
  - Replaces hosts, addresses, network namespaces, names that a user chose and free texts by pseudonyms, in plan,
    manifest and trials. The same text has the same pseudonym everywhere.
  - Makes the report, C(issue.md) and C(reproduce.sh) of the result, so they have the pseudonyms, too.
  - Leaves out what the engines printed. Kernels, drivers, firmware, features and all numbers stay.
  - Writes nothing if a name that was to be replaced is still in a file of the archive.
  - C(bundle.tar.gz) is the archive. Its file C(REPLACED.txt) lists how much was replaced, and by what.
  - C(bundle.tar.gz.sha256) has its checksum, which playbook C(bundle) signs.
  - C(bundle.names.json) has the originals. It is for you alone.
  - The same folder gives the same archive, byte for byte.
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
    description: The results folder of a campaign on the controller. Nothing in it is changed, but for the new files.
    type: path
    required: true
  output:
    description: The folder for the three files. By default O(results).
    type: path
requirements:
  - The Python packages scipy and Jinja2 on the controller
"""

EXAMPLES = r"""
- name: Make an archive that can be attached to an issue
  offload.lab.bundle:
    results: results/integrity
  register: bundle

- name: Show which files it has
  ansible.builtin.debug:
    var: bundle.files
"""

RETURN = r"""
archive:
  description: The archive.
  returned: success
  type: str
  sample: results/integrity/bundle.tar.gz
checksum_file:
  description: The file with its SHA-256, as C(sha256sum) writes it.
  returned: success
  type: str
  sample: results/integrity/bundle.tar.gz.sha256
names:
  description: The file with the originals of the pseudonyms.
  returned: success
  type: str
  sample: results/integrity/bundle.names.json
replaced:
  description: How many texts of each kind were replaced.
  returned: success
  type: dict
  sample: {node: 2, IPv4: 4, text: 31}
files:
  description: The files in the archive.
  returned: success
  type: list
  elements: str
  sample: [REPLACED.txt, manifest.json, plan.json, trials.jsonl]
"""
