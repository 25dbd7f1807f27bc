# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab whose hosts have another engine instead of netperf: it is built, measured and taken down."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.tests.system.lab import Lab, left_behind, traces

CAMPAIGN = {
    "name": "without_netperf",
    "paths": ["physical", "tenant_vxlan"],
    "factors": ["tso"],
    "blocks": 1,
    "workloads": ["tcp_stream"],
    "duration": 1,
}


@pytest.mark.nightly
@pytest.mark.parametrize("engine, program", [("iperf3", "iperf3"), ("sockets", "python3")])
def test_a_lab_without_netperf(lab_packages_required, tmp_path, engine, program):
    before = traces()
    lab = Lab("systestiperf")
    lab.clear()
    try:
        lab.up(engine=engine)
        running = {name for node in (1, 2) for name in lab.members(node).values()}
        assert not running & {"netserver", "iperf3"}
        built = lab.state()
        lab.play("measure", engine=engine, campaign=CAMPAIGN, results_dir=str(tmp_path))
        after = lab.state()
    finally:
        lab.play("teardown nodes_absent", engine=engine)
    assert after["node1"]["processes"] == built["node1"]["processes"]
    records = (tmp_path / "without_netperf/trials.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in records]
    assert len(trials) >= 4 and not any(trial["error"] for trial in trials)
    assert {trial["streams"][0]["argv"][0] for trial in trials} == {program}
    assert all(trial["result"]["throughput_mbps"] > 0 for trial in trials)
    sampled = [trial["evidence"]["packets"]["client"]["underlay0"]["out"] for trial in trials]
    assert all(sample["packets"] > 0 for sample in sampled)
    assert left_behind(before, lab.name) == {}
