# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An existing network: two nodes, in each a pod behind a bridge and a VXLAN device as
flannel makes them. It is measured, settings are applied and taken back, and it is as it was.

Where a path is dead whatever the offloads are, the report says where packets were last seen.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
import yaml

from ansible_collections.offload.lab.tests.security.seen_servers import (
    NOBODY,
    PROCESSES,
    WORKLOADS,
    is_server,
)
from ansible_collections.offload.lab.tests.system.lab import changed
from ansible_collections.offload.lab.tests.system.pods import (
    ENDS,
    drop,
    drop_no_more,
    lab_of_pods,
    make_tunnel_again,
    misplace,
    unlike,
)

CAMPAIGN = {
    "name": "pods",
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["tx", "gro"],
    "workloads": ["payload"],
    "blocks": 1,
    "duration": 1,
}

DEAD = {**CAMPAIGN, "name": "dead", "design": "integrity", "control_visits": 1, "factors": ["gro"]}
WITHOUT_ADDRESS = [{"name": "pods", "netns": "pod"}]


@pytest.fixture(scope="module")
def pods(lab_packages_required):
    with lab_of_pods("systestown") as lab:
        yield lab


def test_discover_shows_what_a_pods_packets_meet(pods):
    before = pods.state()
    output = pods.play("discover", ends=WITHOUT_ADDRESS)
    assert unlike(before, pods.state()) == []
    for device in ("  flannel.1 ", "  pod/eth0 ", "  underlay0 "):
        rows = [line for line in output.splitlines() if device in line]
        assert len(rows) == 2 and all(" yes " in f"{row} " for row in rows), output
    assert output.count("tunnel flannel.1: vxlan, VNI 1, UDP port 8472, over underlay0") == 2
    assert " offload.lab.integrity" in output


def test_check_mode_says_what_others_notice_and_changes_nothing(pods, tmp_path):
    """Playbook integrity has steps after its first campaign: none of them is measured or reported."""
    before = pods.state()
    output = pods.play("integrity", "--check", ends=WITHOUT_ADDRESS, results_dir=str(tmp_path))
    assert unlike(before, pods.state()) == []
    assert not list(tmp_path.iterdir())
    assert output.count("This sets tx, rx, tso, gso, gro of the devices below, at most") == 1
    assert "flannel.1 (other traffic: 1 route)" in output
    assert "For fewer devices: -e '{offload_lab_varied_devices: [NAME]}'" in output


def test_a_campaign_over_it_leaves_it_as_it_was(pods, tmp_path):
    """Its paths and its MTU are those that the nodes have, and netperf is not asked for."""
    keys = {key: CAMPAIGN[key] for key in CAMPAIGN if key not in ("paths", "mtus")}
    before = pods.state()
    output = pods.play(
        "measure report", ends=WITHOUT_ADDRESS, campaign=keys, results_dir=str(tmp_path)
    )
    assert unlike(before, pods.state()) == []
    assert "This sets tx, gro of the devices below, at most" in output
    assert "flannel.1 (other traffic: 1 route)" in output
    plan = json.loads((tmp_path / "pods/plan.json").read_text())
    assert (plan["paths"], plan["mtus"], plan["sampling"]) == (["pods"], [9000], "sockets")
    manifest = json.loads((tmp_path / "pods/manifest.json").read_text())
    assert manifest["nodes"]["node1"]["before"]["classes"]["tunnel"] == ["flannel.1"]
    records = (tmp_path / "pods/trials.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in records]
    assert len(trials) == 2 and not any(trial["error"] for trial in trials), output
    for trial in trials:
        assert trial["result"]["payload"]["checks"]["tcp_forward"]["arrived"] > 0
        assert trial["evidence"]["underlay"]["client"]["vnis"] == [1]
    assert {"flannel.1", "vethpod", "pod/eth0"} <= set(trials[0]["evidence"]["settings"]["client"])
    assert "Clean over pods at MTU 9000" in (tmp_path / "pods/report.txt").read_text()


@pytest.mark.parametrize(
    "fault, cure, device",
    [
        (drop, drop_no_more, "flannel.1 of node2"),
        pytest.param(misplace, make_tunnel_again, "underlay0 of node2", marks=pytest.mark.nightly),
    ],
)
def test_the_device_is_named_at_which_packets_were_last_seen(pods, tmp_path, fault, cure, device):
    fault(pods)
    try:
        before = pods.state()
        keys = {"ends": WITHOUT_ADDRESS, "campaign": DEAD, "results_dir": str(tmp_path)}
        pods.play("measure report", **keys)
        assert unlike(before, pods.state()) == []
    finally:
        cure(pods)
    records = (tmp_path / "dead/trials.jsonl").read_text().splitlines()
    assert all(json.loads(line)["error"] for line in records)
    report = (tmp_path / "dead/report.md").read_text()
    assert "Dead without these offloads too over pods" in report
    assert "As found, neither ping nor TCP passed. From node1 to node2 0 of " in report
    assert f"they were last seen at {device}. From node2 to node1" in report, report


@pytest.mark.nightly  # as test_apply shows on a lab, and tests/installed on such a network
def test_what_is_applied_to_it_stays_and_is_taken_back(pods, tmp_path):
    drivers = {node: {"underlay0": "veth"} for node in ("node1", "node2")}
    settings = {"tunnel": {"features": {"rx": False}}, "tenant": {"features": {"tso": False}}}
    expected_settings = {
        "campaign": "pods",
        "drivers": drivers,
        "client": settings,
        "server": settings,
    }
    file = tmp_path / "recommended.yml"
    file.write_text(yaml.safe_dump({"offload_lab_recommended": expected_settings}))
    before = pods.state()
    pods.play("apply", "-e", f"@{file}", ends=ENDS)
    assert "tcp-segmentation-offload: off" in pods.inside(1, "ethtool", "-k", "eth0", netns="pod")
    assert "rx-checksumming: off" in pods.inside(2, "ethtool", "-k", "flannel.1")
    assert changed(pods.play("revert", ends=ENDS)) == {"node1": 1, "node2": 1}
    assert unlike(before, pods.state()) == []


@pytest.mark.nightly  # paths and ends that cannot be, without a network of one's own: _paths, discover_info
@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"campaign": {**CAMPAIGN, "mtus": [1500]}}, "keeps its own, has 9000"),
        ({"ends": [{**ENDS[0], "netns": "gone"}]}, "there is no such network namespace"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_changed(pods, tmp_path, variables, said):
    before = pods.state()
    keys = {"ends": ENDS, "campaign": CAMPAIGN, "results_dir": str(tmp_path), **variables}
    output = pods.play("measure", rc=2, **keys)
    assert said in " ".join(output.split())
    assert unlike(before, pods.state()) == [] and not list(tmp_path.iterdir())


class Watch(threading.Thread):
    """Keeps the servers that this machine runs until ``over`` is set."""

    def __init__(self):
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.servers = []

    def run(self):
        while not self.over.wait(0.5):
            shown = subprocess.run(
                [sys.executable, "-I", "-c", PROCESSES], stdout=subprocess.PIPE, check=True
            )
            self.servers += filter(is_server, json.loads(shown.stdout))


@pytest.mark.nightly  # as tests/installed, where systemd runs
@pytest.mark.parametrize("name", WORKLOADS)
def test_servers_of_each_engine_have_no_privileges(pods, tmp_path, name):
    before = pods.state()
    campaign = {
        **CAMPAIGN,
        "name": name,
        "factors": ["gro"],
        "design": "integrity" if name == "payload" else "on_off",
        "workloads": [yaml.safe_load(WORKLOADS[name])],
    }
    watch = Watch()
    watch.start()
    try:
        pods.play("measure", ends=WITHOUT_ADDRESS, campaign=campaign, results_dir=str(tmp_path))
    finally:
        watch.over.set()
        watch.join()
    assert unlike(before, pods.state()) == []
    records = (tmp_path / name / "trials.jsonl").read_text().splitlines()
    errors = [json.loads(line)["error"] for line in records]
    assert errors and not any(errors), errors
    assert watch.servers
    for server in watch.servers:
        assert (server["user"], server["capabilities"], server["bounding"]) == (NOBODY, 0, 0), (
            server
        )
        assert server["no_new_privileges"] == 1, server
