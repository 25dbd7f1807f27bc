# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that read a campaign."""

from __future__ import annotations


class ModuleDocFragment:
    """Which campaign is meant; ``.NAME`` if only its name matters; ``.OWN_PATHS``: its existing paths."""

    DOCUMENTATION = r"""
options:
  campaign:
    description:
      - The campaign as a mapping, see C(docs/data-format.md) of the collection.
      - Only C(name) is required in it.
    type: dict
  campaign_file:
    description:
      - A YAML file with the campaign.
      - Ansible searches a relative path in the folder where it was started, next to the playbook, and one folder up.
    type: path
  overrides:
    description:
      - Keys of the campaign to replace, with values as an AWX survey gives them. Lists may be texts with commas.
      - Keys are C(name), C(seed), C(blocks), C(time_budget), C(design), C(paths), C(mtus), C(sides), C(factors),
        C(workloads), C(duration) and C(confirm). Empty values are ignored.
    type: dict
    default: {}
  own_paths:
    description:
      - By name the paths of a network that exists already, see RV(offload.lab.lab_node#module:own).
      - A campaign that names no paths has these.
    type: dict
    default: {}
"""

    OWN_PATHS = r"""
options:
  own_paths:
    description:
      - The paths of an existing network by name, as module M(offload.lab.lab_node) returns them in
        RV(offload.lab.lab_node#module:own).
      - A campaign that names no paths has these.
    type: dict
    default: {}
"""

    NAME = r"""
options:
  campaign:
    description: The campaign. Only its C(name) is used.
    type: dict
  campaign_file:
    description:
      - The YAML file with the campaign. Only its C(name) is used.
      - Ansible searches a relative path in the folder where it was started, next to the playbook, and one folder up.
    type: path
  overrides:
    description: Keys of the campaign that are replaced. Only C(name) is used.
    type: dict
    default: {}
  results_dir:
    description: The folder on the controller that holds a folder for each campaign.
    type: path
    default: results
"""
