# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of fault once, and the dead man's switch; part of make faults."""

from __future__ import annotations

import random
import time

import pytest

from ansible_collections.offload.lab.tests.instruments.faults.faults import FAULTS
from ansible_collections.offload.lab.tests.instruments.faults.strike import finish, pick, strike
from ansible_collections.offload.lab.tests.instruments.faults.world import World
from ansible_collections.offload.lab.tests.system.lab import Lab, differences, left_behind, traces

pytestmark = pytest.mark.nightly

FIRED = "/run/offload-lab/dead_man_switch.fired"
RUNS = 30  # at most; a campaign may end before its faults


@pytest.fixture(scope="module")
def world(lab_packages_required, tmp_path_factory):
    before = traces()
    lab = Lab("systestfaults")
    lab.down()
    new_world = World(tmp_path_factory.mktemp("faults"), lab)
    try:
        new_world.make()
        new_world.begin()
        yield new_world
    finally:
        new_world.end()
        new_world.remove()
    assert left_behind(before, lab.name) == {}


def until(condition, seconds):
    """Wait until something is so, and return whether it is."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def tso(world):
    return world.tso(1), world.tso(2)


def test_the_dead_mans_switch_restores_the_nodes(world):
    world.dead_man_minutes = 1
    try:
        world.start()
        assert until(lambda: world.trials() and tso(world) == (0, 0), 180)
        world.kill(everything=True)
        assert tso(world) == (0, 0)
        assert list(
            differences(world.before["node1"]["links"], world.lab.state()["node1"]["links"])
        )
        assert until(lambda: tso(world) == (1, 1), 180)
        time.sleep(2)
        now = world.lab.state()
    finally:
        world.dead_man_minutes = 15
    for node in ("node1", "node2"):
        for part in ("links", "rps", "xps", "ovs", "processes"):
            assert (
                list(differences(world.before[node][part], now[node][part], f"{node} {part}")) == []
            )
        assert FIRED in now[node]["files"]  # a controller that wakes up must measure nothing more
        assert not [
            name for name in now[node]["files"] if "snapshot" in name or name.endswith(".zip")
        ]
    assert finish(world) == []
    world.new()


def test_each_fault_loses_and_leaves_nothing(world):
    generator = random.Random(1)
    rows = {name: [0] for name in FAULTS}
    wrong = []
    for _run in range(RUNS):
        if all(row[0] for row in rows.values()):
            break
        struck, problems = strike(world, pick(rows, 2, generator), generator)
        for name in struck:
            rows[name][0] += 1
        wrong += [(struck, problems)] if problems else []
    assert wrong == []
    assert all(row[0] for row in rows.values()), rows
    assert finish(world) == []
