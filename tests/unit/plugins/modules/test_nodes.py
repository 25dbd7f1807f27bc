# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import CommandError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import shown
from ansible_collections.offload.lab.plugins.module_utils._host import runner
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._nodes.node_steps import NodePlan
from ansible_collections.offload.lab.plugins.modules import nodes

EMPTY = {
    "claims": [],
    "homes": [],
    "netns": [],
    "nodes": {},
    "ports": {},
    "mountpoints": {"/var/lib/offload-lab": "present"},
}
WANTED = [{"name": "a-node1", "addresses": ["198.18.0.1/24"], "mtu": 9000}]


@pytest.fixture(name="commands")
def _commands(monkeypatch):
    """Let the module see a machine without nodes, and return the commands that it runs there."""
    ran = []
    monkeypatch.setattr(nodes, "read_state", lambda runner, lab, names: EMPTY)
    monkeypatch.setattr(nodes, "end_processes", lambda inodes: None)
    monkeypatch.setattr(nodes, "apply", ran.extend)
    return ran


def make(check_mode, state="present"):
    return nodes.make("a", [dict(node, nic="") for node in WANTED], state, ["a-node1"], check_mode)


def test_check_mode_shows_what_apply_runs(commands):
    checked = make(check_mode=True)
    assert commands == []
    applied = make(check_mode=False)
    assert checked["changed"] and applied["changed"]
    assert checked["commands"] == applied["commands"]
    assert shown(commands) == checked["commands"]


def test_check_mode_predicts_the_nodes(commands):
    result = make(check_mode=True)
    assert result["nodes"] == WANTED
    assert result["diff"] == {"before": {"nodes": []}, "after": {"nodes": WANTED}}


def test_nothing_to_remove(commands):
    result = make(check_mode=False, state="absent")
    assert (result["changed"], result["commands"], commands) == (False, [], [])


def test_a_network_card_that_is_not_there_is_a_change(commands, monkeypatch):
    nics = {"a-node1": "honest"}
    calls = []
    monkeypatch.setattr(nodes, "plan_nics", lambda lab, nodes_asked, state: nics)
    monkeypatch.setattr(nodes, "plan_present", lambda lab, nodes_asked, state: NodePlan([], []))
    monkeypatch.setattr(nodes.wire, "stop", calls.append)
    monkeypatch.setattr(nodes.wire, "start_all", calls.append)
    for check_mode in (True, False):
        result = make(check_mode)
        assert (result["changed"], result["nics"], result["commands"]) == (True, ["a-node1"], [])
        assert calls == ([] if check_mode else [nics, nics])
    assert commands == []


def test_a_command_that_fails_ends_it(commands, monkeypatch):
    def fail(argv, stdin, netns, timeout, check):
        return CommandResult(argv, 1, "", "no room")

    monkeypatch.setattr(nodes, "apply", runner.apply)
    monkeypatch.setattr(runner, "run", fail)
    with pytest.raises(CommandError, match="mkdir -p .*no room"):
        make(check_mode=False)
