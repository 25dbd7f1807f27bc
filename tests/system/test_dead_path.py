# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A check of a path on which neither TCP nor UDP passes as the hosts are found: below the tunnel of
two pods is a card that leaves each checksum unfinished.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.tests.system.pods import lab_of_pods, unlike

ENDS = [{"name": "pods", "netns": "pod"}]
CAMPAIGN = {
    "name": "dead",
    "design": "integrity",
    "control_visits": 1,
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["tx", "gro"],
    "workloads": ["payload"],
    "blocks": 1,
    "duration": 1,
}


@pytest.fixture
def pods(lab_packages_required, monkeypatch):
    monkeypatch.setenv("OFFLOAD_LAB_NIC", "checksum_unfilled:1:tx")
    with lab_of_pods("systestdead") as lab:
        yield lab


def test_a_dead_path_is_checked_and_the_hosts_are_as_before(pods, tmp_path):
    before = pods.state()
    said = pods.play("measure report", ends=ENDS, campaign=CAMPAIGN, results_dir=str(tmp_path))
    assert unlike(before, pods.state()) == []
    assert "TCP does not pass to 10.244.2.5 port 12868 from namespace pod" in said
    records = (tmp_path / "dead/trials.jsonl").read_text().splitlines()
    errors = {trial["profile"]: trial["error"] for trial in map(json.loads, records)}
    dead = {profile for profile, error in errors.items() if error}
    assert len(errors) == 5 and dead == {"tx=on", "all_on", "as_found"}, errors
