#!/usr/bin/python
# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: results_store
short_description: Keep a campaign's results on a host that outlives the job
version_added: 0.1.0
description:
  - A job in a container, such as in AWX, loses its folder when it ends. This module keeps the results of a campaign in
    a folder of a host instead. A job fetches them when it begins and pushes new ones while it measures.
  - The task is delegated to that host. Without O(folder) the results stay on the controller, and the module only
    handles the campaign's lock and the time limit.
  - In AWX a results folder that disappears with the job is refused unless there is a O(folder), or O(temporary) allows
    it.
author:
  - The offload.lab developers (@offload-lab)
extends_documentation_fragment:
  - offload.lab.campaign.name
  - offload.lab.attributes
attributes:
  check_mode:
    support: partial
    details: Nothing is fetched, locked or pushed in check mode.
  diff_mode:
    support: none
  platform:
    platforms: posix
  action:
    description: Its action plugin works with the files of the controller.
    support: full
options:
  state:
    description:
      - V(fetched) gets the results from the store.
      - V(claimed) locks the campaign first. Another live controller is an error. When it cannot tell whether the
        other one lives, it waits until that one's lease ends, at most about a minute.
      - V(pushed) writes what is new to the store, and renews the lock if O(lock) is set.
      - V(released) does that for the last time, and releases the lock.
    type: str
    choices: [fetched, claimed, pushed, released]
    required: true
  folder:
    description: The folder of the store, on the host that the task is delegated to. It has a folder for each campaign.
    type: path
  lock:
    description: Whether V(pushed) needs the lock. A report does not.
    type: bool
    default: true
  lease:
    description: How many seconds the lock stays valid without another task of this module.
    type: float
    default: 60
  files:
    description:
      - The files to push.
      - By default the record, V(plan.json), V(manifest.json), V(trials.jsonl), and what the campaign decided,
        V(decisions.jsonl).
    type: list
    elements: str
  before:
    description: The result of the previous task, so that only new data is sent.
    type: dict
    default: {}
  max_minutes:
    description: The minutes after V(claimed) until RV(time_is_up). V(0) means no limit.
    type: float
    default: 0
  only_between:
    description:
      - The hours of a day in which the network may be measured, by the controller's clock, such as V(22:00-05:30).
      - Outside of them V(claimed) is refused, and RV(time_is_up) is true.
    type: str
    default: ""
  temporary:
    description: Whether the results may disappear with the job.
    type: bool
    default: false
  results:
    description: The results folder of one campaign on the controller. By default that campaign's in O(results_dir).
    type: path
  request:
    description: Set by the action plugin; not for playbooks.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Lock a campaign, and get what earlier jobs have measured
  offload.lab.results_store:
    state: claimed
    results: results/demo
    folder: /srv/offload-lab
  delegate_to: store.example.org
  run_once: true
  register: store

- name: Write what is new to the store
  offload.lab.results_store:
    state: pushed
    results: results/demo
    folder: /srv/offload-lab
    before: "{{ store }}"
  delegate_to: store.example.org
  run_once: true
"""

RETURN = r"""
results:
  description: The results folder of the campaign on the controller.
  returned: success
  type: str
  sample: /runner/project/results/demo
files:
  description: The files of the store, each with C(size) and C(sha256).
  returned: success
  type: dict
  sample: {}
since:
  description: When the campaign was claimed, in seconds since the epoch.
  returned: success
  type: float
  sample: 1700000000.0
standing:
  description: The C(campaign), its C(planned) and its C(recorded) trials, which may be more.
  returned: with O(state=released)
  type: dict
  sample: {campaign: demo, planned: 72, recorded: 72}
begun:
  description: The bytes of the record when the campaign was claimed.
  returned: success
  type: int
  sample: 0
time_is_up:
  description: Whether O(max_minutes) are over, or the hours of O(only_between).
  returned: success
  type: bool
  sample: false
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host import lease, store
from ..module_utils._host.module import Returned, run_module


def converge(module: AnsibleModule) -> Returned:
    """Do what the action plugin asks: take or give back the lock, write what is new, and list the
    files.
    """
    request = module.params["request"]
    folder = request["folder"]
    owner = request.get("owner")
    answer: dict[str, Any] = {"changed": False, "taken": True}
    if owner:
        answer.update(
            lease.take(store.lock_of(folder), owner, request["lease"], silent=request.get("silent"))
        )
    if answer["taken"] and (request.get("append") or request.get("whole")):
        store.write(folder, request.get("append"), request.get("whole") or {})
        answer["changed"] = True
    if request.get("release"):
        lease.give_back(store.lock_of(folder), owner)
    return dict(answer, files=store.listing(folder))


def main() -> None:
    run_module(store.SPEC, converge)


if __name__ == "__main__":
    main()
