# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign in virtual machines that loses its controller, a machine or the underlay, and one that
sees a reboot.
"""

from __future__ import annotations

import json
import os
import re
import signal

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host.waiting import wait_until
from ansible_collections.offload.lab.tests.machines.guests import PATIENCE, Guests, left_behind
from ansible_collections.offload.lab.tests.support import run

pytestmark = pytest.mark.guests
CAMPAIGN = {
    "name": "short",
    "seed": 1,
    "blocks": 3,
    "design": "on_off",
    "paths": ["tenant_vxlan"],
    "mtus": [9000],
    "factors": ["tso"],
    "workloads": ["tcp_stream"],
    "duration": 2,
    "confirm": 0,
}


class World:
    """A lab of virtual machines, and a campaign in it that can be struck."""

    def __init__(self, folder, guests):
        self.folder = folder
        self.guests = guests
        self.record = folder / "short/trials.jsonl"
        self.options = {"campaign": CAMPAIGN, "results_dir": str(folder)}
        self.process = None

    def trials(self):
        return (
            [json.loads(line)["id"] for line in self.record.read_text().splitlines()]
            if self.record.exists()
            else []
        )

    def begin(self, more=1):
        """Start the campaign, or go on with it, and return when ``more`` trials have been recorded
        since.
        """
        before = len(self.trials())
        self.process = self.guests.begin("measure", self.folder / "measure.log", **self.options)
        self.wait(before + more)
        assert self.process.poll() is None, (self.folder / "measure.log").read_text()[-3000:]

    def wait(self, count):
        """Wait until ``count`` trials have been recorded, or the campaign has ended."""
        assert wait_until(
            lambda: len(self.trials()) >= count or self.process.poll() is not None,
            patience=PATIENCE,
        )

    def ends(self):
        """Wait for the campaign's end, and return its exit status and what it printed."""
        return self.process.wait(timeout=PATIENCE), (self.folder / "measure.log").read_text()

    def features(self):
        return [self.guests.inside(node, "ethtool -k underlay0") for node in ("node1", "node2")]

    def files(self):
        return [
            self.guests.inside(node, "find /var/lib/offload-lab", rc=None)
            for node in ("node1", "node2")
        ]


@pytest.fixture(scope="module")
def world(root_required, tmp_path_factory):
    guests = Guests("systest-faults")
    try:
        guests.play("machines")
        guests.play("lab")
        yield World(tmp_path_factory.mktemp("faults"), guests)
    finally:
        guests.play("machines_absent")
        assert left_behind(guests.name) == []


def test_it_goes_on_after_each_fault(world):
    """In one campaign: none of what was recorded is lost or there twice, and the machines are as
    before at its end.
    """
    before = world.features()

    world.begin()
    os.killpg(world.process.pid, signal.SIGKILL)  # the controller
    world.process.wait()
    kept = world.trials()

    world.begin()
    run(["ip", "-n", f"{world.guests.name}-fabric", "link", "set", "node1-0", "down"])  # the cable
    world.wait(len(world.trials()) + 1)  # one that failed
    run(["ip", "-n", f"{world.guests.name}-fabric", "link", "set", "node1-0", "up"])
    world.ends()
    kept += [trial for trial in world.trials() if trial not in kept]

    world.begin(0)
    os.kill(world.guests.pid("node2"), signal.SIGKILL)  # a cut of the power
    status, output = world.ends()
    assert status == 4 and "unreachable=1" in output, output[-3000:]
    world.guests.play("machines")
    world.guests.play("lab")
    assert world.features()[1] == before[1]
    world.guests.play("restore")
    assert world.features() == before
    world.guests.play("measure", **world.options)
    assert world.features() == before

    trials = world.trials()
    plan = json.loads((world.folder / "short/plan.json").read_text())
    assert set(kept) <= set(trials)
    assert {cell["id"] for visit in plan["visits"] for cell in visit["cells"]} <= set(trials)


def test_a_reboot_in_a_campaign(world, tmp_path):
    """After it nothing of the lab is there but trials that no controller has collected; all of it
    goes on later.
    """
    world.folder = tmp_path
    world.record = tmp_path / "short/trials.jsonl"
    world.options = {"campaign": {**CAMPAIGN, "blocks": 1}, "results_dir": str(tmp_path)}
    before = world.features()
    files = world.files()
    world.begin()
    world.guests.inside("node2", "systemctl reboot", rc=None)
    status, output = world.ends()
    assert status in (0, 2, 4), output[-3000:]
    kept = world.trials()
    world.guests.play("machines")  # waits until it is there again
    remaining = world.guests.inside(
        "node2", "ip netns; ip -br link; ps ax; ls /run/offload-lab", rc=None
    )
    assert not re.search(r"tenant1|offload-lab-|dead_man|netserver", remaining), remaining
    assert world.features()[1] == before[1]
    disk = world.guests.inside(
        "node2", "find /var/lib/offload-lab -type f -printf '%P\\n' 2>/dev/null", rc=None
    )
    assert all(name.startswith("spool/") for name in disk.split()), disk
    assert not world.guests.inside(
        "node2",
        "ovs-vsctl show | grep -v ovs_version | tail -n +2; "
        "find /etc/systemd/system -name 'offload-lab*'",
    ).strip()
    world.guests.play("lab")
    world.guests.play("measure", **world.options)
    assert world.features() == before and world.files() == files
    assert set(kept) <= set(world.trials())
