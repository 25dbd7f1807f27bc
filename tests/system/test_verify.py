# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook verify prints of a lab: proven where packets show it, another state after a
change, nothing set.
"""

from __future__ import annotations

import re

import pytest

from ansible_collections.offload.lab.tests.system.lab import changed, differences

ROW = re.compile(
    r"^\s+(\S+) +(tx-\S+|rx-\S+|generic-\S+) +(on|off) +(?:fixed +)?"
    r"(proven|not seen|seen although off|read back only|no packets seen)",
    re.MULTILINE,
)
ENDS = ["underlay0", "tenant1/tenant1-veth0"]


def rows(output):
    """Return ``{node: {(device, feature): (state, what proves it)}}``."""
    parts = re.findall(
        r"^ok: \[(node\d)\] =>\s*\n(.*?)(?=^\S|\Z)", output, re.MULTILINE | re.DOTALL
    )
    return {
        node: {row[:2]: row[2:] for row in ROW.findall(text)}
        for node, text in parts
        if "fixed off" in text
    }


def told_of(output, feature):
    """Return what is printed of a feature of both ends of a path, on each node."""
    rows_of_output = rows(output)
    assert sorted(rows_of_output) == ["node1", "node2"], output
    return {
        node: [lines[device, feature] for device in ENDS] for node, lines in rows_of_output.items()
    }


@pytest.fixture
def without_tso(lab):
    """Node1's ends of the paths do not segment; afterwards they do again."""
    devices = ["underlay0", {"name": "tenant1-veth0", "netns": "tenant1"}]
    lab.ask(
        "offload.lab.ethtool", "node1", devices=devices, features={"tx-tcp-segmentation": False}
    )
    yield
    lab.ask("offload.lab.ethtool", "node1", devices=devices, features={"tx-tcp-segmentation": True})


def test_verify_proves_what_is_on_and_sets_nothing(lab):
    before = lab.state()
    output = lab.play("verify")
    assert told_of(output, "tx-tcp-segmentation") == {
        node: [("on", "proven")] * 2 for node in ("node1", "node2")
    }
    assert all(
        proof == "read back only" for _state, proof in told_of(output, "tx-gso-list")["node2"]
    )
    assert "kernel log: " in output
    after = lab.state()
    for node in ("node1", "node2"):
        after[node]["processes"].pop("offload-lab-pro", None)
        before[node]["processes"].pop("offload-lab-pro", None)
    assert list(differences(before, after)) == []


@pytest.mark.nightly  # test_evidence expects the same verdicts
def test_verify_reports_a_node_that_was_changed(lab, without_tso):
    output = lab.play("verify")
    assert told_of(output, "tx-tcp-segmentation") == {
        "node1": [("off", "proven")] * 2,
        "node2": [("on", "proven")] * 2,
    }


@pytest.mark.nightly  # as check mode of module evidence, in its target
def test_verify_in_check_mode_sends_nothing(lab):
    output = lab.play("verify", "--check")
    assert changed(output) == {"node1": 0, "node2": 0}
    assert set(told_of(output, "tx-tcp-segmentation")["node1"]) == {("on", "no packets seen")}


@pytest.mark.nightly
def test_verify_of_one_node_says_that_it_needs_another(lab):
    output = lab.play("verify", "--limit", "node1", rc=2)
    assert "node1 has no other node to send packets to" in " ".join(output.split())
