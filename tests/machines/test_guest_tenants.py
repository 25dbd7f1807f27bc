# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tenants that are virtual machines: a campaign between them, with a node that is restored together
with its guest.
"""

from __future__ import annotations

import json
import os
import signal

import pytest

from ansible_collections.offload.lab.tests.machines.guests import PATIENCE, Tenants, left_behind
from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.system.lab import changed

pytestmark = pytest.mark.guests
CAMPAIGN = {
    "name": "short",
    "seed": 1,
    "blocks": 1,
    "design": "on_off",
    "paths": ["tenant_vxlan"],
    "mtus": [9000],
    "factors": [{"name": "tso", "needs": ["tx", "sg"], "devices": ["underlay", "tenant"]}],
    "workloads": ["tcp_stream"],
    "duration": 2,
    "steal_limit": 50,
    "confirm": 0,
}


@pytest.fixture(scope="module")
def tenants(root_required):
    new_tenants = Tenants("systest-tenants", machine_accel="tcg")
    try:
        for playbook in ("nodes", "machines", "lab"):
            new_tenants.play(playbook)
        yield new_tenants
    finally:
        new_tenants.play("machines_absent")
        new_tenants.play("nodes_absent")
        assert left_behind(f"{new_tenants.name}-guests") == left_behind(new_tenants.name) == []


def features(tenants):
    return [
        tenants.at_node("node1", "ethtool -k underlay0").splitlines()[1:],
        tenants.inside("guest1", "ethtool -k tenant0").splitlines(),
    ]


def test_they_reach_each_other_through_the_tunnel(tenants):
    assert " 0% packet loss" in tenants.inside("guest1", "ping -c 3 -M do -s 8922 192.168.10.102")
    assert "guest1-0" in tenants.at_node("node1", "ovs-vsctl list-ports br-int")
    assert set(changed(tenants.play("lab")).values()) <= {0}


def test_a_campaign_sets_both_hosts_of_an_end_and_leaves_them_as_they_were(tenants, tmp_path):
    before = features(tenants)
    tenants.play("measure", campaign=CAMPAIGN, results_dir=str(tmp_path))
    assert features(tenants) == before
    trials = [
        json.loads(line) for line in (tmp_path / "short/trials.jsonl").read_text().splitlines()
    ]
    assert {trial["pair"] for trial in trials} == {"guest1-guest2"} and not any(
        trial["error"] for trial in trials
    )
    for trial in trials:
        evidence_of = trial["evidence"]
        cpu = trial["cpu"]
        assert {"tenant0", "node1:underlay0"} <= set(evidence_of["settings"]["client"])
        assert (
            set(cpu["ends"]) == {"client", "server"}
            and evidence_of["nodes"]["server"]["node"] == "node2"
        )
    assert any(trial["profile"] == "all_on" for trial in trials)


def test_a_guest_that_was_killed_is_on_the_switch_again(tenants):
    os.kill(tenants.pid("guest2"), signal.SIGKILL)
    tenants.play("machines")
    tenants.play("lab")
    assert " 0% packet loss" in tenants.inside("guest1", "ping -c 3 192.168.10.102")


def test_teardown_leaves_the_guests(tenants):
    tenants.play("teardown")
    assert tenants.lives("guest1") and tenants.lives("guest2")
    run(["ip", "-n", f"{tenants.name}-node1", "link", "show", "guest1-0"], timeout=PATIENCE)
