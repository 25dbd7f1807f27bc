# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wire below the tunnel of two pods flips a bit now and then, whatever the offloads are. The hosts
refuse the tunnel's packets for their outer checksums, and the pods see losses alone.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.tests.system.pods import lab_of_pods

ENDS = [{"name": "pods", "netns": "pod"}]
CAMPAIGN = {
    "name": "wire",
    "design": "integrity",
    "control_visits": 1,
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["gro"],
    "workloads": ["payload"],
    "blocks": 2,
    "duration": 1,
}


@pytest.fixture
def pods(lab_packages_required, monkeypatch):
    monkeypatch.setenv("OFFLOAD_LAB_NIC", "bit_flipped_late:0.05")
    with lab_of_pods("systestwire") as lab:
        yield lab


@pytest.mark.nightly  # what the counters mean is tested without a lab
def test_the_node_at_which_packets_arrive_corrupted_is_named(pods, tmp_path):
    pods.play("measure report", ends=ENDS, campaign=CAMPAIGN, results_dir=str(tmp_path))
    records = (tmp_path / "wire/trials.jsonl").read_text().splitlines()
    damaged = [trial.get("damage") for trial in map(json.loads, records)]
    # A trial whose path stopped has no damage; the others have.
    counted = [damage["server"]["counters"] for damage in damaged if damage]
    assert counted and all(counters["UdpInCsumErrors"] for counters in counted), damaged
    report = (tmp_path / "wire/report.md").read_text()
    assert "with wrong checksums under every setting: the wire or a card corrupts them" in report
    assert "reason UDP_CSUM (wrong UDP checksum)" in report
