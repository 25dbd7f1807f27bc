# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook rollout where some hosts lie as soon as they have the settings: it stops at the first batch
with a liar, and only the batches before it keep the settings.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from ansible_collections.offload.lab.tests.support import each_day, run
from ansible_collections.offload.lab.tests.system.lab import Lab, left_behind, traces

# (hosts, liars, batches); the rollouts with 30 hosts take six minutes each.
SMALL = (3, 1, (1, "100%"))
LARGE = (30, 3, (1, "10%", "100%"))
LIE = "bit_flipped:0.2:tso"
ROLLOUTS = int(os.environ.get("OFFLOAD_LAB_ROLLOUTS", "3"))  # of the nightly test; 50 take hours
LEVELS = {"underlay": {"features": {"tso": True}}}


@pytest.fixture(params=each_day([SMALL], [SMALL, LARGE]), ids=lambda size: f"{size[0]}-hosts")
def size(request):
    return request.param


@pytest.fixture
def lab(lab_packages_required, size):
    before = traces()
    new_lab = Lab("systestroll", size[0])
    new_lab.clear()
    yield new_lab
    new_lab.down()
    assert left_behind(before, new_lab.name) == {}


class Rollout:
    """The lab with some lying hosts, and the settings that make them lie."""

    def __init__(self, lab, liars, folder):
        self.lab = lab
        self.folder = folder
        self.inventory = folder / "hosts.yml"
        self.names = lab.hosts
        names = {"OFFLOAD_LAB_NAME": lab.name, "OFFLOAD_LAB_NODES": str(lab.nodes)}
        listed = json.loads(run(["ansible-inventory", "--list"], **names))
        self.hosts = {name: listed["_meta"]["hostvars"][name] for name in self.names}
        for name in liars:
            self.hosts[name]["offload_lab_node"]["nic"] = LIE
        drivers = {name: {"underlay0": "tun" if name in liars else "veth"} for name in self.names}
        self.recommended = {"drivers": drivers, "client": LEVELS, "server": LEVELS}
        self._write()

    def _write(self):
        group = {"lab_nodes": {"hosts": self.hosts}}
        inventory = {"all": {"vars": {"offload_lab_name": self.lab.name}, "children": group}}
        self.inventory.write_text(json.dumps(inventory))

    def lose(self, name):
        """Have no connection to a host."""
        self.hosts[name]["ansible_host"] = "systestroll-nowhere"
        self._write()

    def play(self, playbook, rc=0, **variables):
        return self.lab.play(playbook, "-i", str(self.inventory), rc=rc, timeout=1800, **variables)

    def begin(self):
        """Make the hosts, with the lies asleep."""
        self.play("nodes")
        for name in self.names:
            self.lab.inside(name, "ethtool", "-K", "underlay0", "tso", "off")

    def roll(self, batches, rc):
        """Roll out and return the report by host."""
        self.play(
            "rollout",
            rc=rc,
            recommended=self.recommended,
            rollout_batches=list(batches),
            rollout_seconds=1,
            rollout_output=str(self.folder / "rollout"),
        )
        return json.loads((self.folder / "rollout/rollout.json").read_text())["hosts"]

    def have_settings(self):
        """Return the hosts whose device has the settings now."""
        on = "tcp-segmentation-offload: on"
        return {
            name for name in self.names if on in self.lab.inside(name, "ethtool", "-k", "underlay0")
        }

    def listen(self):
        """Return what listens on the hosts, such as a server of the check."""
        return "".join(self.lab.inside(name, "ss", "-ltnH") for name in self.names)


def one_rollout(lab, size, liars, folder):
    folder.mkdir()
    rollout = Rollout(lab, liars, folder)
    rollout.begin()
    report = rollout.roll(size[2], rc=2)
    harmed = {row["batch"] for name, row in report.items() if name in liars and row["batch"]}
    assert len(harmed) == 1
    assert {row["batch"] for row in report.values()} <= set(range(max(harmed) + 1))
    kept = {name for name, row in report.items() if row["state"] == "applied"}
    assert kept == {name for name, row in report.items() if 0 < row["batch"] < max(harmed)}
    assert rollout.have_settings() == kept
    assert rollout.listen() == ""
    named = {name for name, row in report.items() if row["harm"]}
    assert named == {name for name in liars if report[name]["batch"]}
    rollout.play("revert")
    assert rollout.have_settings() == set()


def test_never_more_than_one_batch_is_harmed(lab, size, tmp_path):
    nodes, lying, _batches = size
    chance = random.Random(65)
    for number in range(ROLLOUTS if size == LARGE else 1):
        liars = set(chance.sample(lab.hosts, lying)) if size == LARGE else {f"node{nodes}"}
        one_rollout(lab, size, liars, tmp_path / str(number))


@pytest.mark.nightly  # one more rollout; the verdict is tested without a lab
@pytest.mark.parametrize("size", [SMALL], indirect=True)
def test_a_host_that_does_not_answer_stops_its_batch(lab, size, tmp_path):
    rollout = Rollout(lab, set(), tmp_path)
    rollout.begin()
    rollout.lose("node3")
    report = rollout.roll(size[2], rc=None)
    assert {name: row["state"] for name, row in report.items()} == {
        "node1": "applied",
        "node2": "reverted",
        "node3": "could not be reverted",
    }
    assert rollout.have_settings() == {"node1"}
