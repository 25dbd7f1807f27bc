# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A strike of the dead man's switch fails safe as its firing does: no change follows it before the
switch has read the node back, and a path that stays silent makes the switch fire.
"""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.security.private_node import (
    FIRED,
    SNAPSHOT,
    PrivateNode,
    until,
)

FAR = "192.0.2.9"
STRUCK = "/run/offload-lab/dead_man_switch.struck"
SILENCE = "/proc/sys/net/ipv4/icmp_echo_ignore_all"


@pytest.fixture
def node(root_required):
    with PrivateNode() as private_node:
        private_node.run("ip", "addr", "add", f"{FAR}/32", "dev", "lo")
        private_node.module(
            "dead_man_switch",
            minutes=10,
            path=SNAPSHOT,
            harms={"answers": [{"address": FAR}], "strikes": True, "controller": False},
        )
        private_node.module("snapshot", path=SNAPSHOT, devices=["ol0"])
        yield private_node


def answer(node, *, silent):
    node.run("sh", "-c", f"echo {int(silent)} > {SILENCE}")


def struck(node):
    return node.path(STRUCK).exists()


def strike(node):
    """Let the path fall silent, until the switch has struck, and speak again."""
    answer(node, silent=True)
    assert until(lambda: struck(node) and node.tso())
    answer(node, silent=False)


def test_a_campaign_goes_on_after_a_strike_and_only_as_it_says(node):
    for _visit in range(2):
        changed = node.answer(node.change(after_strike=True))
        assert changed.get("changed") and not node.tso(), changed["msg"]
        state = node.state()
        strike(node)
        assert node.state() == state and not node.fired()  # it goes on watching
        refused = node.answer(node.change())
        assert refused["failed"] and "a path stopped answering" in refused["msg"], refused
        assert node.tso() and struck(node)
    assert node.module("restore", path=SNAPSHOT, disarm=True)["commands"] == []
    assert node.files() == []


def test_a_path_that_stays_silent_makes_it_fire(node):
    assert node.answer(node.change(after_strike=True))["changed"]
    answer(node, silent=True)
    assert until(lambda: struck(node) and node.tso())
    refused = node.answer(node.change(after_strike=True))
    assert refused["failed"] and "with the settings as found" in refused["msg"], refused
    assert node.tso() and node.fired() and until(lambda: not struck(node))


@pytest.mark.parametrize("stop", ["before", "pending", "after"])
def test_no_change_follows_a_strike(node, stop):
    """The module is stopped for seconds between its sign of life and its end."""
    node.install("ethtool", "-K", stop)
    module = node.change(after_strike=True)
    assert until(node.stopped), node.answer(module)
    answer(node, silent=True)
    assert until(lambda: struck(node))
    assert until(node.tso)
    answer(node, silent=False)
    node.go_on(module)
    refused = node.answer(module)
    assert refused.get("failed") and "stopped answering" in refused["msg"], refused
    assert until(node.tso)
    assert node.answer(node.change(after_strike=True)).get("changed") and not node.tso()
    assert node.module("restore", path=SNAPSHOT, disarm=True)["exists"] and node.tso()


def test_a_module_that_hangs_makes_it_fire(node):
    node.install("ethtool", "-K", "after")
    module = node.change(after_strike=True)
    assert until(node.stopped), node.answer(module)
    answer(node, silent=True)
    assert until(node.fired)
    assert until(node.tso)
    node.go_on(module)
    refused = node.answer(module)
    assert refused.get("failed") and "has restored this node" in refused["msg"], refused
    assert until(lambda: not struck(node)) and node.tso()


def test_a_switch_that_is_killed_in_its_strike_restores_the_node(node):
    assert node.answer(node.change(after_strike=True))["changed"]
    node.install("ethtool", "-K", "pending")  # of the restore
    answer(node, silent=True)
    assert until(node.stopped) and struck(node) and not node.tso()
    answer(node, silent=False)
    node.run("kill", "-KILL", node.state()["pid"])
    assert until(node.tso)
    for pid in node.stopped():
        node.run("sh", "-c", "kill -KILL $(pgrep -f 'ethtool -K')", check=False)
        assert pid
    assert not node.path(FIRED).exists()
    assert node.answer(node.change(after_strike=True))["changed"]
