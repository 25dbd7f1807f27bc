# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths that are dead whatever the offloads are: no offload is named, and the report says where the
packets were last seen.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.tests.system.pods import drop, lab_of_pods, misplace, unlike

ENDS = [{"name": "pods", "netns": "pod"}]
CAMPAIGN = {
    "name": "dead",
    "design": "integrity",
    "control_visits": 1,
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["gro"],
    "workloads": ["payload"],
    "blocks": 1,
    "duration": 1,
}


@pytest.fixture
def pods(lab_packages_required):
    with lab_of_pods("systestdies") as lab:
        yield lab


@pytest.mark.parametrize(
    "fault, device",
    [
        (drop, "flannel.1 of node2"),
        pytest.param(misplace, "underlay0 of node2", marks=pytest.mark.nightly),
    ],
)
def test_the_device_is_named_at_which_packets_were_last_seen(pods, tmp_path, fault, device):
    fault(pods)
    before = pods.state()
    pods.play("measure report", ends=ENDS, campaign=CAMPAIGN, results_dir=str(tmp_path))
    assert unlike(before, pods.state()) == []
    records = (tmp_path / "dead/trials.jsonl").read_text().splitlines()
    assert all(json.loads(line)["error"] for line in records)
    report = (tmp_path / "dead/report.md").read_text()
    assert "Dead without these offloads too over pods" in report
    assert "As found, neither ping nor TCP passed. From node1 to node2 0 of " in report
    assert f"they were last seen at {device}. From node2 to node1" in report, report
