# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign of engine sockets alone: its servers start and end with the campaign, it tries and
samples the paths, and the report shows latency under load.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.tests.system.lab import Lab, left_behind, traces

SMALL = {
    "name": "small",
    "test": "UDP_STREAM",
    "engine": "sockets",
    "message_size": 100,
    "udp_segment": False,  # the userspace datapath would join them on the way through the tunnel
}
CAMPAIGN = {
    "name": "by_sockets",
    "paths": ["physical", "tenant_vxlan"],
    "factors": ["tso"],
    "blocks": 3,
    "workloads": ["latency_under_load", SMALL],
    "duration": 2,
    "confirm": 0,
}


@pytest.mark.nightly
def test_a_campaign_of_engine_sockets(lab_packages_required, tmp_path):
    before = traces()
    lab = Lab("systestsockets")
    lab.clear()
    try:
        lab.up()
        built = lab.state()
        lab.play("measure", campaign=CAMPAIGN, results_dir=str(tmp_path))
        after = lab.state()
    finally:
        lab.play("teardown nodes_absent")
    assert after["node1"]["processes"] == built["node1"]["processes"]
    assert left_behind(before, lab.name) == {}
    folder = tmp_path / "by_sockets"
    records = (folder / "trials.jsonl").read_text().splitlines()
    trials = [json.loads(line) for line in records]
    assert len(trials) >= 24 and not any(trial["error"] for trial in trials)
    sampled = [trial["evidence"]["packets"]["client"]["underlay0"]["out"] for trial in trials]
    assert all(sample["packets"] > 0 for sample in sampled)
    loaded = [trial["result"] for trial in trials if trial["workload"]["name"] != "small"]
    assert all(result["throughput_mbps"] > 0 for result in loaded)
    assert all(result["unloaded_us"]["p999"] > 0 for result in loaded)
    make_report(str(folder))
    page = (folder / "report.html").read_text()
    assert page.count("Latency of requests without streams and during streams, 2 profiles.") == 2
    assert "Packets a second, of 100 bytes each:" in page
    assert (folder / "report.txt").read_text().count("Packets a second, of 100 bytes each:") == 2
