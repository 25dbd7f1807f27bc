#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: dead_man_switch
short_description: Restore a node that has lost its controller
version_added: 0.1.0
author:
  - The offload.lab developers (@offload-lab)
description:
  - Starts a process on the node. After O(minutes) without a sign of life it does what M(offload.lab.restore) does,
    without a controller.
  - Arm it before the snapshot is written, and disarm it when the node has been restored. Without a snapshot it only
    removes itself.
  - Signs of life are each trial, at both of its ends, this module, and M(offload.lab.ethtool) with its option
    C(sign_of_life).
  - When M(offload.lab.visit) loses its controller during a trial, both of its ends are restored immediately.
  - It is a transient unit of systemd where systemd runs, and otherwise a process in a session of its own.
  - After it has restored a node, nothing is measured there until it is armed again.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  state:
    description:
      - Whether the switch is armed. Arming an armed switch is a sign of life.
      - V(alive) is a sign of life. It fails when the switch has restored the node, and when there is no snapshot,
        because the node was rebooted or restored.
    type: str
    choices: [armed, alive, disarmed]
    default: armed
  minutes:
    description:
      - How many minutes it waits for a sign of life, at least V(0.05). It must be longer than any trial.
    type: float
    default: 15
  heartbeat:
    description:
      - Seconds between two beats of a process on the controller, from V(1) to V(60). V(0) is off.
      - The process goes on while the playbook waits for something, and ends with it. When its beats have stopped for 20
        seconds, and for four times the longest pause between two of them, the node is restored without waiting for
        O(minutes).
      - A beat is a command on the node, about 10 ms of CPU time.
    type: float
    default: 0
  path:
    description: The snapshot, a file of the node.
    type: path
    default: /var/lib/offload-lab/snapshot.json
seealso:
  - module: offload.lab.restore
notes:
  - Needs root.
"""

EXAMPLES = r"""
- name: Restore the node after 15 minutes without a sign of life
  offload.lab.dead_man_switch:
    minutes: 15

- name: Restore the node within 30 seconds after a job of AWX was cancelled
  offload.lab.dead_man_switch:
    minutes: 3
    heartbeat: 5

- name: Disarm the switch, because the node has been restored
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
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import InputError
from ..module_utils._host.daemons import ProcessState
from ..module_utils._host.module import run_module
from ..module_utils._restore import dead_man, sign_of_life


def check(minutes: float, heartbeat: float) -> None:
    """Refuse times that no switch can have."""
    if not 0.05 <= minutes <= 1440:
        raise InputError(
            "not from 0.05 to 1440", f"minutes {minutes}", "Use 'state: disarmed' to go without it."
        )
    if heartbeat and not 1 <= heartbeat <= 60:
        raise InputError("not 0, and not from 1 to 60", f"heartbeat {heartbeat}", "Give seconds.")


def arm(state: ProcessState | None, params: dict[str, Any], same: bool) -> ProcessState | None:
    """Arm the switch, unless the same one waits already; return its state."""
    if not same:
        dead_man.disarm()
        state = dead_man.arm(params["minutes"], params["path"])
    dead_man.expect_heartbeat(params["heartbeat"] > 0)
    sign_of_life.renew()
    return state


def pid_of(state: ProcessState | None) -> int | None:
    """Return the process of a switch, None where there is none."""
    return state["pid"] if state else None


def converge(module: AnsibleModule) -> dict[str, Any]:
    """Bring the switch to the wanted state and return the module's result."""
    params = module.params
    minutes, path = params["minutes"], params["path"]
    check(minutes, params["heartbeat"])
    if not module.check_mode:
        dead_man.settle()
    state, fired = dead_man.find(), os.path.exists(sign_of_life.FIRED)
    same = state is not None and (state["minutes"], state["path"]) == (minutes, path)
    if params["state"] == "alive":
        sign_of_life.renew(path)
        return {"changed": False, "pid": pid_of(state), "fired": False, "diff": {}}
    armed = params["state"] == "armed"
    changed = not same if armed else bool(dead_man.leftovers())
    if armed and not module.check_mode:
        state = arm(state, params, same)
    elif changed and not module.check_mode:
        dead_man.disarm()
        state = None
    before = "armed\n" if same else "disarmed\n"
    return {
        "changed": changed,
        "pid": pid_of(state),
        "fired": fired,
        "diff": {"before": before, "after": params["state"] + "\n"},
    }


def main() -> None:
    run_module(
        {
            "state": {"type": "str", "choices": ["armed", "alive", "disarmed"], "default": "armed"},
            "minutes": {"type": "float", "default": 15},
            "heartbeat": {"type": "float", "default": 0},
            "path": {"type": "path", "default": "/var/lib/offload-lab/snapshot.json"},
        },
        converge,
    )


if __name__ == "__main__":
    main()
