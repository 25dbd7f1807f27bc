# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open vSwitch that others use too: what is theirs is the same before, during and after all that
the lab does.
"""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.foreign_ovs import dump, make, remove, set_by_hand
from ansible_collections.offload.lab.tests.system.lab import Lab
from ansible_collections.offload.lab.tests.system.test_apply import recommended

# Each day the lab of the other tests has such a bridge, which is as it was when they have ended.
pytestmark = pytest.mark.nightly
CAMPAIGN = {
    "name": "foreign",
    "paths": ["physical_vxlan"],
    "factors": ["tunnel_csum"],
    "blocks": 1,
    "workloads": ["tcp_stream"],
    "duration": 1,
}


@pytest.fixture(scope="module")
def lab(lab_packages_required):
    new_lab = Lab("systestforeign")
    new_lab.clear()
    new_lab.up()
    make(new_lab)
    yield new_lab
    new_lab.down()


def test_a_campaign_leaves_it(lab, tmp_path):
    before = set_by_hand(lab, 30001)
    variables = {"campaign": CAMPAIGN, "results_dir": str(tmp_path), "evidence_seconds": 0}
    with (tmp_path / "output").open("w") as stream:
        campaign = subprocess.Popen(
            [
                "ansible-playbook",
                "playbooks/measure.yml",
                "-e",
                json.dumps({f"offload_lab_{key}": value for key, value in variables.items()}),
            ],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment(OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES="2"),
        )
    during = set()
    changed = None
    while campaign.poll() is None:
        if changed is None and (tmp_path / "foreign/trials.jsonl").exists():
            assert during == {before}
            changed = set_by_hand(lab, 30002)
            during = set()
        during.add(dump(lab))
        time.sleep(0.3)  # without a pause the readings take one of two CPUs from the campaign
    assert campaign.returncode == 0, (tmp_path / "output").read_text()[-3000:]
    assert changed is not None and changed != before
    assert during | {dump(lab)} == {changed}


def test_apply_and_restore_leave_it(lab, tmp_path):
    set_by_hand(lab, 30003)
    lab.play("apply", *recommended(tmp_path / "recommended.yml", "veth"))
    by_hand = set_by_hand(lab, 30004)
    lab.play("restore revert")
    assert dump(lab) == by_hand


def test_teardown_leaves_it(lab):
    by_hand = set_by_hand(lab, 30005)
    lab.play("teardown")
    assert dump(lab) == by_hand
    remove(lab)
