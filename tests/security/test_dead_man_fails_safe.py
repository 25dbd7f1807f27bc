# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dead man's switch fails safe: whatever stops, fills up, is killed or is of an odd shape, a node
whose switch has fired is as it was before the campaign, and stays so.
"""

from __future__ import annotations

import json
import time

import pytest

from ansible_collections.offload.lab.tests.security.private_node import (
    DEVICE,
    FIRED,
    SNAPSHOT,
    STATE,
    PrivateNode,
    until,
)
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

MODULES = {
    "ethtool": ("ethtool", "-K", {"devices": [DEVICE], "features": {"tso": False}}),
    "link": ("ip", "-batch", {"devices": [{"name": DEVICE, "mtu": 1400}]}),
    "steering": ("tee", "rps_cpus", {"devices": [{"name": DEVICE, "rps": {"rx-0": "1"}}]}),
}


@pytest.fixture
def node(root_required):
    with PrivateNode() as private_node:
        yield private_node


def as_before(node):
    """Return whether the device is as the snapshot has it."""
    rps = node.path(f"/sys/class/net/{DEVICE}/queues/rx-0/rps_cpus").read_text()
    return node.tso() and node.mtu() == 1500 and int(rps.replace(",", ""), 16) == 0


def ends_well(node):
    """The device is as it was and stays so, and a controller finds something to read back."""
    assert until(lambda: not node.path(STATE).exists()), node.path(FIRED).read_text()
    assert as_before(node)
    time.sleep(1)
    assert as_before(node)
    restored = node.module("restore", path=SNAPSHOT, disarm=True)
    assert restored["exists"] and restored["commands"] == [], restored
    assert as_before(node)
    assert node.files() == [] and not node.path(SNAPSHOT).exists()
    assert not node.module("restore", path=SNAPSHOT, disarm=True)["changed"]


@pytest.mark.parametrize("stop", ["before", "pending", "after"])
@pytest.mark.parametrize("name", MODULES)
def test_a_switch_that_has_fired_is_not_followed_by_a_change(node, name, stop):
    """The controller lives. Its module is stopped between the sign of life and the end of its change,
    and goes on after the switch has restored the node.
    """
    program, message, arguments = MODULES[name]
    node.arm()
    node.install("ethtool" if (name, stop) == ("steering", "before") else program, message, stop)
    module = node.start(name, sign_of_life=True, snapshot=SNAPSHOT, **arguments)
    assert until(node.stopped), node.answer(module)
    assert as_before(node) == (stop != "after")
    node.harm()
    assert until(node.fired)
    assert until(lambda: as_before(node)), node.path(FIRED).read_text()
    time.sleep(1)
    node.go_on(module)
    answer = node.answer(module)
    assert answer.get("failed") and "has restored this node" in answer["msg"], answer
    ends_well(node)


def test_a_module_that_was_killed_leaves_its_command_under_the_lock(node):
    """The command goes on after the switch has fired, and nobody waits for it."""
    node.arm()
    node.install("ethtool", "-K", "pending")
    module = node.change()
    assert until(node.stopped)
    node.run("pkill", "-KILL", "-f", "modules.ethtool")
    module.communicate()
    node.harm()
    assert until(node.fired)
    time.sleep(1)
    node.go_on(module)
    ends_well(node)


def test_a_change_that_comes_after_the_switch_changes_nothing(node):
    node.arm()
    node.harm()
    assert until(node.fired)
    answer = node.answer(node.change())
    assert answer["failed"] and "has restored this node" in answer["msg"], answer
    ends_well(node)


def test_it_restores_with_a_full_run(node):
    node.arm()
    assert node.answer(node.change())["changed"] and not node.tso()
    node.run("sh", "-c", "cat /dev/zero > /run/fill || true", check=False)
    node.run("sh", "-c", "cat /dev/zero > /mnt/fill || true", check=False)
    node.harm()
    assert until(node.tso)
    assert until(node.fired) and "the check" in node.path(FIRED).read_text()
    ends_well(node)


@pytest.mark.parametrize("folder", ["/mnt", "/run"])
def test_it_restores_with_file_systems_that_nobody_can_write_to(node, folder):
    node.arm()
    assert node.answer(node.change())["changed"] and not node.tso()
    node.run("mount", "-o", "remount,ro", folder)
    node.harm()
    assert until(node.tso)
    process = f"/proc/{node.state()['pid']}" if node.path(STATE).exists() else "/none"
    assert until(lambda: not node.path(process).exists())
    answer = node.answer(node.change())
    assert answer["failed"] and node.tso(), answer
    node.run("mount", "-o", "remount,rw", folder)
    assert node.module("restore", path=SNAPSHOT, disarm=True)["exists"]
    assert as_before(node) and node.files() == []


def test_a_switch_that_is_killed_goes_on_and_waits_no_longer(node):
    seconds = 12
    node.arm(minutes=seconds / 60)
    assert node.answer(node.change())["changed"] and not node.tso()
    changed = time.monotonic()
    for _kill in range(3):
        time.sleep(2)
        killed = node.state()["pid"]
        node.run("kill", "-KILL", killed)
        assert until(lambda old=killed: node.state()["pid"] != old)
    assert not node.fired()
    assert until(node.tso)
    # The slowest of what follows a kill, on a busy machine too; a new period each time would be 18 s.
    assert time.monotonic() - changed < seconds + 4
    ends_well(node)


def test_a_switch_that_does_not_come_back_is_missed_by_the_next_change(node):
    node.arm()
    state = node.state()
    for process in (state.get("parent") or state, state):
        node.run("kill", "-KILL", process["pid"], check=False)
    answer = node.answer(node.change())
    assert answer.get("failed") and "its process has ended" in answer["msg"], answer
    assert node.tso()
    assert node.module("restore", path=SNAPSHOT, disarm=True)["exists"]
    assert node.files() == []


def test_the_oom_killer_takes_others_first(node):
    """A container may not be allowed to ask for it: then the score is the same as for any
    process."""
    lowered = node.run(
        "sh", "-c", "echo -900 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj"
    )
    node.arm(commands=[["sleep", "1.5"]])
    state = node.state()
    for process in (state, state["parent"]):
        assert node.path(f"/proc/{process['pid']}/oom_score_adj").read_text() == lowered

    def of_check():
        pids = node.run("pgrep", "-f", "^sleep 1.5", check=False).split()
        return [node.run("cat", f"/proc/{pid}/oom_score_adj", check=False) for pid in pids]

    assert until(lambda: of_check() == ["0\n"])  # a user's check may be the one to blame


def test_a_check_that_hangs_leaves_no_process(node):
    node.arm(commands=[["sh", "-c", "sleep 7777 & sleep 7777"]])
    assert node.answer(node.change())
    assert until(node.fired) and "did not end within 2 s" in node.path(FIRED).read_text()
    assert until(lambda: node.run("pgrep", "-f", "sleep 7777", check=False) == "")
    ends_well(node)


ODD = {
    "links are missing": lambda kept: kept.pop("links"),
    "links null": lambda kept: kept.update(links=None),
    "other is a list": lambda kept: kept.update(other=[1]),
    "a device is a number": lambda kept: kept["devices"].insert(0, 5),
    "a device without a name": lambda kept: kept["devices"].insert(0, {"rings": {"rx": 1}}),
    "values of another kind": lambda kept: kept["devices"].append({"name": "ol1", "channels": "x"}),
    "another schema": lambda kept: kept.update(schema=7),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_snapshot_of_an_odd_shape_restores_what_can_be_understood(node, odd):
    node.arm()
    assert node.answer(node.change())["changed"] and not node.tso()
    snapshot_kept = json.loads(node.path(SNAPSHOT).read_text())
    kept = json.loads(json.dumps(snapshot_kept))
    ODD[odd](kept)
    node.path(SNAPSHOT).write_text(json.dumps(kept))
    node.harm()
    assert until(node.tso), node.path(FIRED).read_text()
    assert until(lambda: "not_restored" in node.path(FIRED).read_text())
    assert node.path(f"/proc/{node.state()['pid']}").exists()  # it tries again
    node.path(SNAPSHOT).write_text(json.dumps(snapshot_kept))
    assert node.module("restore", path=SNAPSHOT, disarm=True)["exists"]
    assert as_before(node) and node.files() == []


def test_a_device_in_a_namespace_that_cannot_be_is_gone(node):
    node.arm()
    kept = json.loads(node.path(SNAPSHOT).read_text())
    kept["devices"].insert(0, {"name": DEVICE, "netns": 5})
    node.path(SNAPSHOT).write_text(json.dumps(kept))
    assert node.answer(node.change())["changed"] and not node.tso()
    node.harm()
    assert until(node.tso)


@pytest.mark.parametrize("text", ['{"schema": 1}', "[]", "x", ""])
def test_a_snapshot_with_nothing_in_it_ends_no_switch(node, text):
    node.arm()
    node.path(SNAPSHOT).write_text(text)
    node.harm()
    assert until(lambda: node.fired() and "not_restored" in node.path(FIRED).read_text())
    assert node.path(f"/proc/{node.state()['pid']}").exists()
    node.module("dead_man_switch", state="disarmed")
    assert node.files() == []


def test_it_does_not_give_up_where_something_else_fights(node):
    """For longer than 50 seconds' worth of tries of a switch that tries five times."""
    node.arm(minutes=0.05, commands=[])
    node.install("ethtool", "-K", "fight", fight=f'"$real" -K {DEVICE} tso off')
    node.path("/tmp/fight").touch()
    assert node.answer(node.change())
    assert until(node.fired)
    time.sleep(25)  # five tries, 3 s from one to the next
    assert not node.tso()
    assert "not_restored" in node.path(FIRED).read_text()
    node.path("/tmp/fight").unlink()
    ends_well(node)


@pytest.mark.parametrize("days", [-9, 9])
def test_a_clock_that_jumps_restores_nothing_early_and_nothing_late(
    node, tmp_path, monkeypatch, days
):
    library = tmp_path / "clock.so"
    source = CHECKOUT / "tests/instruments/faults/clock.c"
    run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source])
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    monkeypatch.setenv("NODE_PRELOAD", str(library))
    monkeypatch.setenv("OFFLOAD_LAB_CLOCK", str(clock))
    # /tmp of the node is its own
    node.run("mkdir", "-p", tmp_path)
    for path in (library, clock):
        node.path(str(path)).write_bytes(path.read_bytes())
    node.arm(minutes=10 / 60, commands=[])
    assert node.answer(node.change())["changed"]
    node.path(str(clock)).write_text(f"{86400 * days:+d}\n")
    sign = time.time() + 86400 * days
    node.run("touch", "-d", f"@{sign:.0f}", "/run/offload-lab/alive")
    begun = time.monotonic()
    time.sleep(5)
    assert not node.tso() and not node.fired()
    assert until(node.tso)
    assert 8 < time.monotonic() - begun < 20
    ends_well(node)
