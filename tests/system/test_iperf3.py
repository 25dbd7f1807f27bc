# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab whose hosts have iperf3 instead of netperf: it is built, measured and taken down."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.tests.system.lab import Lab, left_behind, traces

CAMPAIGN = {
    "name": "with_iperf3",
    "paths": ["physical", "tenant_vxlan"],
    "factors": ["tso"],
    "blocks": 1,
    "workloads": ["tcp_stream"],
    "duration": 1,
}


@pytest.mark.nightly
def test_a_lab_with_iperf3_alone(lab_packages_required, tmp_path):
    before = traces()
    lab = Lab("systestiperf")
    lab.clear()
    try:
        lab.up(engine="iperf3")
        running = {name for node in (1, 2) for name in lab.members(node).values()}
        assert not running & {"netserver", "iperf3"}
        built = lab.state()
        lab.play("measure", engine="iperf3", campaign=CAMPAIGN, results_dir=str(tmp_path))
        after = lab.state()
    finally:
        lab.play("teardown nodes_absent", engine="iperf3")
    assert after["node1"]["processes"] == built["node1"]["processes"]
    records = (tmp_path / "with_iperf3/trials.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in records]
    assert len(trials) >= 4 and not any(trial["error"] for trial in trials)
    assert {trial["streams"][0]["argv"][0] for trial in trials} == {"iperf3"}
    assert all(trial["result"]["throughput_mbps"] > 0 for trial in trials)
    sampled = [trial["evidence"]["packets"]["client"]["underlay0"]["out"] for trial in trials]
    assert all(sample["packets"] > 0 for sample in sampled)
    assert left_behind(before, lab.name) == {}
