#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which applied settings are no longer there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: applied_info
short_description: Say which applied settings are no longer there
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Compares what M(offload.lab.applied) has written to O(path) with how the devices are set now.
  - Playbook C(drift) reports it for all hosts.
extends_documentation_fragment:
  - offload.lab.attributes.info
options:
  path:
    description: The file of what was applied, on the node.
    type: path
    default: /var/lib/offload-lab/applied.json
seealso:
  - module: offload.lab.applied
notes:
  - Needs root to read the file, and for devices in other network namespaces.
"""

EXAMPLES = r"""
- name: See whether the settings are still there
  offload.lab.applied_info:
  register: applied

- name: Refuse to go on where one is not
  ansible.builtin.assert:
    that: applied.devices | map(attribute='drifted') | select | length == 0
"""

RETURN = r"""
since:
  description: When settings were applied for the last time, in seconds since the epoch; V(null) where none were.
  returned: success
  type: float
  sample: 1795440000.0
age_s:
  description: How long ago that was, in seconds.
  returned: success
  type: float
  sample: 432000.0
rebooted:
  description: Whether the host was rebooted since.
  returned: success
  type: bool
  sample: false
devices:
  description: The devices whose settings were applied; none where nothing was.
  returned: success
  type: list
  elements: dict
  contains:
    device:
      description: The device, C(name) or C(netns/name).
      type: str
    settings:
      description: How many settings were applied to it.
      type: int
    missing:
      description: Whether it is not there.
      type: bool
    drifted:
      description: The settings that are no longer as they were applied, with C(kind), C(name), C(applied) and C(now).
      type: list
      elements: dict
    programs:
      description: The BPF programs of others at this device now, their names by hook such as C(xdp).
      type: dict
  sample: [{device: eth0, settings: 2, missing: false, programs: {}}]
"""

import time
from typing import cast

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.module import Returned, run_module
from ..module_utils._kinds.xdp import OURS
from ..module_utils._observe import conditions
from ..module_utils._restore import applied, identity, settings, snapshot


def state(module: AnsibleModule) -> Returned:
    """Return what became of the settings that were applied."""
    kept = cast(snapshot.KeptApplied, snapshot.read(module.params["path"]) or {}).get("applied")
    if kept is None:
        return {"since": None, "age_s": None, "rebooted": False, "devices": []}
    rebooted = kept["boot_id"] != snapshot.boot_id()
    devices = identity.resolve(kept["devices"], same_boot=not rebooted)
    now = settings.read_settings(settings.places(devices.items), missing="skip")
    return {
        "since": kept["since"],
        "age_s": max(0.0, time.time() - kept["since"]),
        "rebooted": rebooted,
        "devices": [
            {**row, "programs": foreign_programs(row["device"])}
            for row in applied.drift(devices.items, now) + applied.drift(devices.gone, [])
        ],
    }


def foreign_programs(device: str) -> dict[str, str]:
    """Return the names of the BPF programs of others at a device, by hook."""
    space, _slash, name = device.rpartition("/")
    listed = conditions.programs([{"name": name, "netns": space or None}])
    names = {hook: str(program.get("name")) for hook, program in listed.get(device, {}).items()}
    return {hook: program for hook, program in names.items() if program != OURS}


def main() -> None:
    run_module(
        {"path": {"type": "path", "default": "/var/lib/offload-lab/applied.json"}},
        state,
    )


if __name__ == "__main__":
    main()
