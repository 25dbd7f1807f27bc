#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: dead_man_switch
short_description: Restore a node when its controller is not heard of any more
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Starts a process on the node that waits. When no sign of life came for O(minutes), it does what
    M(offload.lab.restore) does, with nothing but the node. The snapshot is kept then.
  - Each trial that is measured is a sign of life at both of its ends, and so is this module with O(state=armed).
  - It is a transient unit of systemd where systemd runs, and otherwise a process of its own session.
  - After it has restored a node, nothing more is measured there until it is armed anew.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  state:
    description: Whether it waits. A switch that waits already is told that the controller lives.
    type: str
    choices: [armed, disarmed]
    default: armed
  minutes:
    description:
      - How many minutes it waits for a sign of life, from V(0.05). It should be longer than any trial.
    type: float
    default: 15
  path:
    description: The snapshot, a file of the node.
    type: path
    default: /var/lib/offload-lab/snapshot.json
seealso:
  - module: offload.lab.restore
notes:
  - Needs root, and a snapshot.
"""

EXAMPLES = r"""
- name: Restore the node if nobody is heard of for a quarter of an hour
  offload.lab.dead_man_switch:
    minutes: 15

- name: Somebody else takes care of the node now
  offload.lab.dead_man_switch:
    state: disarmed
"""

RETURN = r"""
pid:
  description: The process that waits, V(null) where there is none.
  returned: success
  type: int
  sample: 4711
fired:
  description: Whether it had restored the node before this task.
  returned: success
  type: bool
  sample: false
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.offload.lab.plugins.module_utils import _dead_man, _sign_of_life
from ansible_collections.offload.lab.plugins.module_utils._errors import InputError, LabError


def converge(params, check_mode):
    """Bring the switch to the wanted state and return the module's result."""
    minutes, path = params["minutes"], params["path"]
    if not 0.05 <= minutes <= 1440:
        raise InputError("not from 0.05 to 1440", "minutes {0}".format(minutes),
                         "Use 'state: disarmed' to go without it.")
    state, fired = _dead_man.find(), os.path.exists(_sign_of_life.FIRED)
    same = state is not None and (state["minutes"], state["path"]) == (minutes, path)
    armed = params["state"] == "armed"
    changed = not same if armed else bool(_dead_man.leftovers())
    if not check_mode:
        if changed:
            _dead_man.disarm()
        if armed:
            state = _dead_man.arm(minutes, path) if changed else state
            _sign_of_life.renew()
        else:
            state = None
    before = "armed\n" if same else "disarmed\n"
    return {"changed": changed, "pid": state["pid"] if state else None, "fired": fired,
            "diff": {"before": before, "after": params["state"] + "\n"}}


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["armed", "disarmed"], "default": "armed"},
            "minutes": {"type": "float", "default": 15},
            "path": {"type": "path", "default": "/var/lib/offload-lab/snapshot.json"},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**converge(module.params, module.check_mode))
    except LabError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg="{0}: {1}".format(error.filename, error.strerror or error))


if __name__ == "__main__":
    main()
