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
  - When it restores a node it also ends the servers of M(offload.lab.netserver) and the probe of
    M(offload.lab.probe) that were started since it was armed. Those that ran before stay.
  - After it has restored a node, nothing is measured or changed there until it is armed again. The snapshot is kept
    until M(offload.lab.restore) has read the node back, or until it is armed again.
  - A process that is killed is started again. Where something cannot be restored it tries again, less and less often.
  - With O(harms) it also restores the node at the first harm to a network on which others work, within 2 seconds.
extends_documentation_fragment:
  - offload.lab.attributes
options:
  state:
    description:
      - Whether the switch is armed. Arming an armed switch is a sign of life. A switch of another campaign is neither
        armed nor disarmed; the task fails.
      - V(alive) is a sign of life. It fails when the switch has restored the node, and when there is no snapshot,
        because the node was rebooted or restored.
      - V(claimed) takes the node for the campaign O(owner) and changes nothing else. It fails where another campaign
        has the node - one whose switch is armed, or that gave a sign of life in the last O(minutes), at least 15.
      - V(released) gives the node back where the campaign O(lease) has it. V(disarmed) and M(offload.lab.restore) with
        its option C(disarm) do that, too.
    type: str
    choices: [armed, alive, disarmed, claimed, released]
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
        O(minutes). Right after the third sign of a beat it is 60 seconds instead of 20, and before it O(minutes).
      - A beat is a command on the node, about 10 ms of CPU time.
    type: float
    default: 0
  path:
    description: The snapshot, a file of the node.
    type: path
    default: /var/lib/offload-lab/snapshot.json
  lease:
    description: The campaign that has the node, as RV(lease) of V(claimed).
    type: str
  owner:
    description: The campaign that takes the node, for O(state=claimed).
    type: dict
    suboptions:
      campaign:
        description: The campaign's name.
        type: str
        required: true
      results:
        description:
          - Its results folder on the controller. A campaign that goes on in the same folder is the same campaign,
            and takes its node over.
        type: str
      store:
        description: The host and the folder of its results store, instead of O(owner.results).
        type: str
      id:
        description: What the campaign and its folder are known by; the controller finds it.
        type: str
      controller:
        description: The controller's host name; the controller finds it.
        type: str
      user:
        description: The user on the controller; the controller finds it.
        type: str
  harms:
    description:
      - What is watched on the node, five times a second.
    type: dict
    suboptions:
      answers:
        description:
          - Addresses that have to answer to ICMP echo requests.
          - One that does not answer when the switch is armed is not watched, see RV(silent).
        type: list
        elements: dict
        default: []
        suboptions:
          address:
            description: The address.
            type: str
            required: true
          netns:
            description: The network namespace from which it is asked, by default the node's own.
            type: str
      controller:
        description: Whether the controller has to answer, too, where the connection is SSH.
        type: bool
        default: true
      devices:
        description: Devices that have to be there.
        type: list
        elements: dict
        default: []
        suboptions:
          name:
            description: The device's name.
            type: str
            required: true
          netns:
            description: The network namespace that it is in, by default the node's own.
            type: str
      commands:
        description:
          - Commands that have to end with status 0 within 2 seconds.
          - Each is a list of its words and is run again half a second after its end.
        type: list
        elements: list
        default: []
      patience:
        description:
          - Seconds without an answer that are a harm, from V(0.5) to V(60), and at least three requests.
          - Settings that restart a link, such as rings and channels of a network card, need more than the default.
        type: float
        default: 1.2
      strikes:
        description:
          - Whether the silence of one of O(harms.answers) is an answer of the campaign and no harm.
          - The switch then restores the node as it does at a harm, and goes on watching. Servers stay.
          - No module changes the node before one with its option C(after_strike) has ended the strike. This takes an
            address that answers again, and a node that was read back.
          - Where the address stays silent for 10 seconds with the settings as found, it is a harm.
        type: bool
        default: false
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

- name: Restore it, too, when the other end or a service does not answer
  offload.lab.dead_man_switch:
    harms:
      answers:
        - {netns: pod, address: 10.244.2.5}
      commands:
        - [curl, --silent, --fail, "http://127.0.0.1:8080/healthz"]

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
silent:
  description: Addresses of O(harms) that did not answer when the switch was armed, and are not watched.
  returned: when O(state) is V(armed) or V(disarmed)
  type: list
  elements: str
  sample: []
lease:
  description: What the campaign and its results folder are known by on the node, for the option of this name.
  returned: when O(state) is V(claimed)
  type: str
  sample: 6a2f0c9d4e1b4a7f
resumed:
  description: Whether the campaign had the node already, because an earlier controller of it was killed.
  returned: when O(state) is V(claimed)
  type: bool
  sample: false
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import InputError
from ..module_utils._host import files
from ..module_utils._host.daemons import ProcessState
from ..module_utils._host.module import Options, Returned, run_module
from ..module_utils._iproute import management
from ..module_utils._restore import dead_man, harm, node_lease, sign_of_life, snapshot

DEVICE = {"name": {"type": "str", "required": True}, "netns": {"type": "str"}}
ADDRESS = {"address": {"type": "str", "required": True}, "netns": {"type": "str"}}
STATES = ["armed", "alive", "disarmed", "claimed", "released"]
OWNER = {
    "campaign": {"type": "str", "required": True},
    **{key: {"type": "str"} for key in ("results", "store", "id", "controller", "user")},
}
HARMS = {
    "answers": {"type": "list", "elements": "dict", "default": [], "options": ADDRESS},
    "controller": {"type": "bool", "default": True},
    "devices": {"type": "list", "elements": "dict", "default": [], "options": DEVICE},
    "commands": {"type": "list", "elements": "list", "default": []},
    "patience": {"type": "float", "default": harm.PATIENCE_S},
    "strikes": {"type": "bool", "default": False},
}


def check(minutes: float, heartbeat: float) -> None:
    """Refuse times that no switch can have."""
    if not 0.05 <= minutes <= 1440:
        raise InputError(
            "not from 0.05 to 1440", f"minutes {minutes}", "Use 'state: disarmed' to go without it."
        )
    if heartbeat and not 1 <= heartbeat <= 60:
        raise InputError("not 0, and not from 1 to 60", f"heartbeat {heartbeat}", "Give seconds.")


def watched_of(params: Options) -> harm.Watchlist | None:
    """Return what the switch is to watch, None where no harm is asked for."""
    if params["harms"] is None:
        return None
    harms = harm.checked(params["harms"])
    connection = management.connection() if params["harms"]["controller"] else None
    if connection:
        controller = connection.split()[0].partition("%")[0]
        harms["answers"].append({"netns": None, "address": controller})
        harms["controller"] = controller
    return harms


def arm(params: Options, watched: harm.Watchlist | None) -> None:
    """Arm the switch again."""
    if watched:
        watched = harm.without_silent(watched)  # before: it takes seconds where one is silent
    dead_man.arm(params["minutes"], params["path"], watched)


def pid_of(state: ProcessState | None) -> int | None:
    """Return the process of a switch, None where there is none."""
    return state["pid"] if state else None


def watchlist() -> harm.Watchlist | None:
    """Return what the switch of this node watches, None for nothing that can be read."""
    try:
        return harm.remembered()
    except (OSError, ValueError):
        return None


def is_same(state: ProcessState | None, params: Options, watched: harm.Watchlist | None) -> bool:
    """Return whether the wanted switch waits already."""
    options = {"minutes": params["minutes"], "path": params["path"], "schema": snapshot.SCHEMA}
    if state is None or any(state.get(key) != value for key, value in options.items()):
        return False
    return harm.is_asked(watchlist(), watched)


def bring(params: Options, watched: harm.Watchlist | None, same: bool) -> None:
    """Arm the switch or disarm it."""
    if params["state"] == "disarmed":
        dead_man.disarm()
        node_lease.release(params["lease"] or None)
        return
    if not same:
        arm(params, watched)
    dead_man.expect_heartbeat(params["heartbeat"] > 0)
    sign_of_life.renew(lease=params["lease"])


def silent_of(state: ProcessState | None) -> list[str]:
    """Return the addresses that a switch cannot watch."""
    watched = watchlist() if state else None
    return [target["address"] for target in watched["silent"]] if watched else []


def alive(params: Options) -> dict[str, Any]:
    """Give a sign of life."""
    sign_of_life.renew(params["path"], params["lease"])
    return {"changed": False, "pid": pid_of(dead_man.find()), "fired": False, "diff": {}}


def converge(module: AnsibleModule) -> Returned:
    """Bring the switch to the wanted state and return the module's result."""
    params = module.params
    check(params["minutes"], params["heartbeat"])
    watched = watched_of(params)
    if params["state"] in ("claimed", "released"):
        return claim_or_release(module)
    if params["state"] == "alive":
        return alive(params)
    if module.check_mode:
        return arm_or_disarm(module, watched)
    with node_lease.settings_held():  # who restores the node now must not be ended
        return arm_or_disarm(module, watched)


def claim_or_release(module: AnsibleModule) -> Returned:
    """Take the node for a campaign, or give it back. Nothing of the node is changed by it."""
    params = module.params
    if module.check_mode:
        return {"changed": False}
    files.make_state_folder()
    with node_lease.settings_held():
        if params["state"] == "released":
            node_lease.release(params["lease"] or "")
            return {"changed": False}
        lease = lease_of(params)
        return {"changed": False, "lease": lease["id"], "resumed": node_lease.claim(lease)}


def lease_of(params: Options) -> node_lease.Lease:
    """Return the lease of the campaign that asks for the node."""
    owner = params["owner"]
    return {
        "id": owner["id"] or f"{owner['controller']} {owner['campaign']}",
        "campaign": owner["campaign"],
        "results": owner["store"] or owner["results"] or "no folder",
        "controller": owner["controller"] or "an unknown host",
        "user": owner["user"] or "an unknown user",
        "minutes": max(params["minutes"], node_lease.LEAST_MINUTES),
    }


def arm_or_disarm(module: AnsibleModule, watched: harm.Watchlist | None) -> Returned:
    """Arm the switch, or disarm it."""
    params = module.params
    node_lease.check_free(params["lease"])
    state = dead_man.find()
    fired = sign_of_life.fired() is not None
    same = not fired and is_same(state, params, watched)
    changed = not same if params["state"] == "armed" else bool(dead_man.leftovers())
    if not module.check_mode:
        bring(params, watched, same)
        state = dead_man.find()
        for address in silent_of(state):
            module.warn(f"{address} does not answer to echo requests, so it is not watched.")
    before = "armed\n" if same else "disarmed\n"
    return {
        "changed": changed,
        "pid": pid_of(state),
        "fired": fired,
        "silent": silent_of(state),
        "diff": {"before": before, "after": params["state"] + "\n"},
    }


def main() -> None:
    run_module(
        {
            "state": {"type": "str", "choices": STATES, "default": "armed"},
            "lease": {"type": "str"},
            "owner": {"type": "dict", "options": OWNER},
            "minutes": {"type": "float", "default": 15},
            "heartbeat": {"type": "float", "default": 0},
            "path": {"type": "path", "default": "/var/lib/offload-lab/snapshot.json"},
            "harms": {"type": "dict", "options": HARMS},
        },
        converge,
        required_if=[("state", "claimed", ["owner"])],
    )


if __name__ == "__main__":
    main()
