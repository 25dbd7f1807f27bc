# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign recommends is applied, stays, and is taken back: with and without a lab, around a
campaign.
"""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.offload.lab.tests.system.lab import (
    Lab,
    changed,
    changed_by_each,
    differences,
)

SETTINGS = {
    "underlay": {"features": {"gro": True}, "rps": {"cpus": "all"}},
    "tenant": {"features": {"gro": True}},
}

CAMPAIGN = {
    "name": "around",
    "paths": ["physical"],
    "factors": ["gro"],
    "blocks": 1,
    "workloads": ["tcp_stream"],
    "duration": 0.25,
}


def features(lab):
    """Return what apply may change, of both nodes."""
    return [
        lab.inside(
            node,
            "sh",
            "-c",
            "ethtool -k underlay0; cat /sys/class/net/underlay0/queues/rx-*/rps_cpus; "
            "ip netns exec tenant1 ethtool -k tenant1-veth0",
        )
        for node in (1, 2)
    ]


def recommended(path, driver, device="underlay0", **more):
    """Write a recommended.yml and return how ansible-playbook takes it; one that somebody wrote by
    hand names no campaign.
    """
    drivers = {node: {device: driver} for node in ("node1", "node2")}
    path.write_text(
        yaml.safe_dump(
            {
                "offload_lab_recommended": {
                    "drivers": drivers,
                    "client": SETTINGS,
                    "server": SETTINGS,
                    **more,
                }
            }
        )
    )
    return "-e", f"@{path}"


@pytest.fixture
def restored(lab):
    before = features(lab)
    yield before
    if features(lab) != before:
        lab.play("restore revert")


def is_applied(settings):
    return [node.count("generic-receive-offload: on") for node in settings] == [2, 2]


def test_apply_measure_around_it_and_revert(lab, restored, tmp_path):
    settings = recommended(tmp_path / "recommended.yml", "veth", campaign="test")
    foreseen = lab.play("apply", "--check", *settings)
    assert features(lab) == restored
    done, done_twice = changed_by_each(lab.play("apply apply", *settings))
    # What check mode cannot foresee is one task: the originals of the settings that then really
    # differs.
    assert done == {node: count + 1 for node, count in changed(foreseen).items()}
    assert done_twice == done
    applied = features(lab)
    assert is_applied(applied)
    lab.play("measure restore", campaign=CAMPAIGN, results_dir=str(tmp_path), evidence_seconds=0)
    assert features(lab) == applied
    once = {"node1": 1, "node2": 1}
    assert changed_by_each(lab.play("revert revert")) == [once, once]
    assert features(lab) == restored


def test_apply_is_refused_while_a_campaign_has_the_node(lab, restored, tmp_path):
    lab.ask("offload.lab.snapshot", "node1", devices=[{"name": "underlay0"}])
    try:
        output = lab.play("apply", *recommended(tmp_path / "recommended.yml", "veth"), rc=2)
    finally:
        lab.ask("offload.lab.restore", "node1")
    assert "node1: a campaign is running or was interrupted" in " ".join(output.split())
    assert features(lab)[0] == restored[0]


@pytest.mark.nightly  # the texts are tested without a lab
def test_it_is_written_for_other_tools_and_nothing_is_set(lab, restored, tmp_path):
    settings = recommended(tmp_path / "recommended.yml", "veth")
    options = {
        "offload_lab_export": "tuned,talos",
        "offload_lab_export_folder": str(tmp_path / "exports"),
    }
    output = lab.play("apply", *settings, "-e", json.dumps(options))
    assert features(lab) == restored
    for node in ("node1", "node2"):
        folder = tmp_path / "exports" / node
        assert "features=gro on" in (folder / "tuned.conf").read_text()
        documents = list(yaml.safe_load_all((folder / "talos.yaml").read_text()))
        assert documents[0]["features"] == {"rx-gro": True}
    assert "Not in talos.yaml of node1" in output
    assert "underlay0: rps cpus all" in output


def test_another_driver_is_refused(lab, restored, tmp_path):
    output = lab.play("apply", *recommended(tmp_path / "recommended.yml", "ixgbe"), rc=2)
    assert "underlay0 has driver veth, the campaign measured ixgbe" in " ".join(output.split())
    output = lab.play("apply", *recommended(tmp_path / "recommended.yml", "veth", "lo"), rc=2)
    assert "the driver of lo cannot be read (Operation not supported)" in " ".join(output.split())
    assert features(lab) == restored


def test_what_nothing_can_keep_is_refused_before_anything_is_set(lab, restored, tmp_path):
    """A tenant is a network namespace, which no configuration of the host covers."""
    pods = {"tenant": {"features": {"gro": True}}}
    settings = recommended(tmp_path / "recommended.yml", "veth", client=pods, server=pods)
    output = lab.play("apply", *settings, "-e", "offload_lab_persist=auto", rc=2)
    assert "nothing on this host can keep the settings" in " ".join(output.split())
    assert "Keep the state before the first change" not in output and features(lab) == restored


@pytest.mark.nightly  # molecule/persist shows that settings stay
def test_settings_stay_without_a_lab_and_after_one(lab_packages_required, tmp_path):
    other_lab = Lab("systestapply")
    settings = recommended(tmp_path / "recommended.yml", "veth")
    other_lab.clear()
    other_lab.play("nodes")
    try:
        before = other_lab.state()
        other_lab.play("apply", *settings)
        applied = other_lab.state()
        assert "generic-receive-offload: on" in other_lab.inside(1, "ethtool", "-k", "underlay0")
        other_lab.play("lab teardown")
        assert list(differences(applied, other_lab.state())) == []
        other_lab.play("revert")
        assert list(differences(before, other_lab.state())) == []
    finally:
        other_lab.play("nodes_absent")
