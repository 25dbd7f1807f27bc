# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A short form of make faults: each kind of fault that differs from the others, once, and the dead man's switch."""
from __future__ import annotations

import random
import time

import pytest

from ansible_collections.offload.lab.tests.faults.strike import finish, strike
from ansible_collections.offload.lab.tests.faults.world import World, compare
from ansible_collections.offload.lab.tests.system.lab import changed, left_behind, traces

SHORT = ["SIGKILL controller and its children", "SIGKILL netperf", "SIGKILL ovs-vswitchd", "underlay down and up",
         "controller's disk full", "node's disk full", "trials.jsonl, one bit", "Ctrl-C"]
ATTEMPTS = 4  # a campaign may end before its fault, or have no netperf to kill just then


@pytest.fixture(scope="module")
def world(lab_packages_required, tmp_path_factory):
    before = traces()
    made = World(tmp_path_factory.mktemp("faults"), "systestfaults")
    made.lab.down()
    try:
        made.up()
        yield made
    finally:
        made.down()
    assert left_behind(before) == {}


def test_check_mode_of_the_whole_site_changes_nothing(world):
    """On a lab that is built, and for one with more tenants, which it says."""
    folder = sorted(str(path) for path in world.results.rglob("*"))
    for tenants in (1, 2):
        output = world.lab.play("site", "--check", "--diff", tenant_count=tenants, results_dir=str(world.results),
                                campaign=world.campaign("checked"))
        assert list(compare(world.before, world.state(), "")) == []
        # node1 also tells that the plan would be written
        assert (changed(output)["node2"] > 0) == (tenants == 2), output[-2000:]
    assert sorted(str(path) for path in world.results.rglob("*")) == folder


def test_the_dead_mans_switch_restores_the_nodes(world):
    world.dead_man_minutes = 0.2
    try:
        world.start()
        deadline = time.monotonic() + 120
        while not (world.tso(1) == 0 == world.tso(2) and world.trials()) and time.monotonic() < deadline:
            time.sleep(0.05)
        world.kill(everything=True)
        assert (world.tso(1), world.tso(2)) == (0, 0)
        assert list(compare(world.before["node1"]["links"], world.state()["node1"]["links"], ""))
        deadline = time.monotonic() + 120
        while (world.tso(1), world.tso(2)) != (1, 1) and time.monotonic() < deadline:
            time.sleep(0.5)
        time.sleep(2)
        now = world.state()
    finally:
        world.dead_man_minutes = 15
    for node in ("node1", "node2"):
        for part in ("links", "rps", "ovs", "processes"):
            assert list(compare(world.before[node][part], now[node][part], f"{node} {part}")) == []
        assert "/var/lib/offload-lab/snapshot.json" in now[node]["files"]
    assert finish(world) == []
    world.new()


@pytest.mark.parametrize("name", SHORT)
def test_a_fault_loses_and_leaves_nothing(world, name):
    generator = random.Random(name)
    for _attempt in range(ATTEMPTS):
        problems = strike(world, name, generator)
        if problems is not None:
            break
    assert problems == []


def test_the_campaign_ends_whole(world):
    assert finish(world) == []
