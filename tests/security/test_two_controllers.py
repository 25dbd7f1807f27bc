# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two controllers, two campaigns, one node: the second one is refused before anything changes."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT, NODE_PYTHON, run
from ansible_collections.offload.lab.tests.unit.roles.test_measure_role import Pretended

# Each task with what the node must say. A and B are campaigns of different results folders.
PLAY = """
- hosts: localhost
  gather_facts: false
  connection: local
  module_defaults:
    offload.lab.dead_man_switch: {minutes: 5}
  tasks:
    - raw: ip link add ol-two0 type veth peer name ol-two1
    - name: A takes the node, arms its switch and sets a device
      block:
        - offload.lab.dead_man_switch: {state: claimed, owner: {campaign: a, results: FOLDER/a}}
          register: a
        - offload.lab.dead_man_switch: {lease: "{{ a.lease }}"}
          register: armed
        - offload.lab.snapshot: {devices: [ol-two0]}
        - offload.lab.ethtool: &set
            devices: [ol-two0]
            features: {tso: false}
            sign_of_life: true
            snapshot: /var/lib/offload-lab/snapshot.json
            lease: "{{ a.lease }}"

    - name: B tries all that its campaign would do
      ignore_errors: true
      offload.lab.dead_man_switch: {state: claimed, owner: {campaign: b, results: FOLDER/b}}
      register: claimed
    - offload.lab.dead_man_switch: {lease: b}
      ignore_errors: true
      register: armed_by_b
    - offload.lab.dead_man_switch: {minutes: 9}
      ignore_errors: true
      register: armed_by_nobody
    - offload.lab.dead_man_switch: {state: disarmed, lease: b}
      ignore_errors: true
      register: disarmed
    - offload.lab.restore: {disarm: true, lease: b}
      ignore_errors: true
      register: restored
    - offload.lab.ethtool: {<<: *set, lease: b}
      ignore_errors: true
      register: changed
    - offload.lab.dead_man_switch: {state: released, lease: b}

    - name: A has noticed nothing, and goes on after its controller was killed
      raw: ethtool -k ol-two0
      register: device
    - offload.lab.dead_man_switch: {state: alive, lease: "{{ a.lease }}"}
      register: alive
    - offload.lab.dead_man_switch: {state: claimed, owner: {campaign: a, results: FOLDER/a}}
      register: again

    - name: A person restores the node, which ends A and makes the node free
      offload.lab.restore: {disarm: true}
    - raw: ethtool -k ol-two0
      register: last
    - raw: ls /run/offload-lab 2>/dev/null || true
      register: left
    - offload.lab.dead_man_switch: {state: alive, lease: "{{ a.lease }}"}
      ignore_errors: true
      register: ended
    - offload.lab.dead_man_switch: {state: claimed, owner: {campaign: b, results: FOLDER/b}}
      register: free
    - offload.lab.ethtool: {<<: *set, snapshot: null}
      ignore_errors: true
      register: woken
    - offload.lab.dead_man_switch: {state: released, lease: "{{ free.lease }}"}
    - raw: ip link del ol-two0
    - copy:
        content: "{{ answers | to_json }}"
        dest: FOLDER/answers.json
      vars:
        answers:
          pids: ["{{ armed.pid }}", "{{ alive.pid }}"]
          refused: "{{ [claimed, armed_by_b, armed_by_nobody, disarmed, restored, changed, ended, woken]
                       | map(attribute='msg', default='') }}"
          devices: ["{{ device.stdout }}", "{{ last.stdout }}"]
          leases: ["{{ a.lease }}", "{{ again.lease }}", "{{ free.lease }}"]
          resumed: ["{{ a.resumed }}", "{{ again.resumed }}", "{{ free.resumed }}"]
          left: "{{ left.stdout_lines }}"
"""


@pytest.fixture(scope="module")
def answers(root_required, tmp_path_factory):
    """Return what the node answers to two controllers, one after the other."""
    folder = tmp_path_factory.mktemp("two")
    for name in ("a", "b"):
        (folder / name).mkdir()
    play = folder / "play.yml"
    play.write_text(PLAY.replace("FOLDER", str(folder)))
    isolated = ["sh", str(CHECKOUT / "tools/isolated.sh")]
    python = f"ansible_python_interpreter={NODE_PYTHON}"
    run([*isolated, str(BIN / "ansible-playbook"), "-i", "localhost,", "-e", python, str(play)])
    return json.loads((folder / "answers.json").read_text())


def test_the_second_campaign_is_refused_all_that_it_tries(answers):
    *refused, ended, woken = answers["refused"]
    assert len(refused) == 6
    for message in refused:
        assert "campaign a of " in message
        assert "restore.yml" in message
    assert "somebody has restored it" in ended
    assert "campaign b of " in woken


def test_the_first_campaign_notices_nothing(answers):
    during, after = answers["devices"]
    assert "tcp-segmentation-offload: off" in during
    assert "tcp-segmentation-offload: on" in after
    assert answers["pids"][0] == answers["pids"][1] != "None"


def test_the_same_campaign_goes_on_and_a_person_ends_it(answers):
    first, again, other = answers["leases"]
    assert first == again != other
    assert [str(text) for text in answers["resumed"]] == ["False", "True", "False"]
    assert answers["left"] == []


RECORDS = """#!/usr/bin/python
# WANT_JSON
import json, os, sys
asked = json.load(open(sys.argv[1]))
with open(%r, "a") as calls:
    print(%r, asked.get("state"), file=calls)
answer = {"changed": False, "devices": {}, "lease": "mine", "resumed": False}
if asked.get("state") == "claimed" and os.path.exists(%r):
    answer = {"failed": True, "msg": "campaign other of anna on mars has this node"}
print(json.dumps(answer))
"""
TOUCHING = (
    "dead_man_switch",
    "ethtool",
    "link",
    "netserver",
    "probe",
    "restore",
    "snapshot",
    "visit",
)


def test_a_campaign_is_refused_before_it_touches_a_node(tmp_path):
    """Neither trials of the other campaign are ended, nor its switch, nor its settings; a node that
    was free is given back, and so is the lock of the results.
    """
    campaign = Pretended(tmp_path)
    campaign.results("second")
    calls, taken = tmp_path / "calls", tmp_path / "taken"
    taken.touch()
    modules = tmp_path / "ansible_collections/offload/lab/plugins/modules"
    for name in TOUCHING:
        (modules / f"{name}.py").write_text(RECORDS % (str(calls), name, str(taken)))
    output = run(campaign.argv, cwd=tmp_path, rc=2, **campaign.variables)
    assert "campaign other of anna on mars has this node" in output
    assert set(calls.read_text().splitlines()) == {"dead_man_switch claimed"}
    assert not os.path.exists(tmp_path / "second/x/trials.jsonl.lock")
