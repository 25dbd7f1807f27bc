# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make demo, as a newcomer types it: real measurements, a complete results folder, and nothing left
behind.

Of the campaign's twelve blocks two are enough to see all of it; all twelve are measured by the
nightly test.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator

import jsonschema
import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, run
from ansible_collections.offload.lab.tests.system.lab import (
    features,
    left_behind,
    own_devices,
    traces,
)

HOGS = 2
# seconds
STAYS = (5, 40)
PAUSES = (5, 40)
BUSY = [sys.executable, "-c", "while True: pass"]
CAMPAIGN = CHECKOUT / "playbooks/campaigns/demo.yml"


@pytest.fixture(scope="module")
def demo(lab_packages_required, tmp_path_factory):
    results = tmp_path_factory.mktemp("demo")
    campaign = results / "short.yml"
    campaign.write_text(CAMPAIGN.read_text().replace("blocks: 12", "blocks: 2"))
    before = [features(device) for device in own_devices()]
    earlier = traces()
    output = run(["make", "demo", f"RESULTS={results}", f"CAMPAIGN={campaign}"], timeout=900)
    after = [features(device) for device in own_devices()]
    return output, results / "demo", (before, after), left_behind(earlier, "demo")


def test_it_ends_with_the_table_and_the_report(demo):
    output, folder, _features, _left = demo
    assert output.rstrip().splitlines()[-1] == f"Report: {folder}/report.html"
    text = (folder / "report.txt").read_text()
    assert output.count(text) == 1
    for word in ("physical", "tenant_vxlan", "tcp_stream", "udp_stream"):
        assert word in text, word


def test_the_results_are_complete(demo):
    folder = demo[1]
    for name in (
        "plan.json",
        "manifest.json",
        "trials.jsonl",
        "analysis.json",
        "report.html",
        "report.md",
        "trials.csv",
    ):
        assert (folder / name).stat().st_size > 0, name


def test_every_trial_was_measured_once_and_parsed(demo):
    folder = demo[1]
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["blocks"] == 2 and len(trials) >= 16
    assert [trial["error"] for trial in trials if trial["error"]] == []
    planned = sorted(trial["id"] for trial in trials if "again" not in trial)
    assert planned == sorted(cell["id"] for visit in plan["visits"] for cell in visit["cells"])
    # What the machine spoilt is measured a second time, and nothing else is.
    spoilt = {trial["id"] for trial in trials if any(mark["excludes"] for mark in trial["marks"])}
    again = [trial["again"] for trial in trials if "again" in trial]
    assert len(again) == len(set(again)) and set(again) <= spoilt
    assert {trial["path"] for trial in trials} == {"physical", "tenant_vxlan"}
    assert {trial["workload"]["test"] for trial in trials} == {"TCP_STREAM", "UDP_STREAM"}
    for trial in trials:
        if trial["workload"]["test"] == "TCP_STREAM":
            assert trial["result"]["throughput_mbps"] > 0, trial["id"]
        else:  # of a flood nothing may arrive on a machine whose CPUs are taken away
            assert trial["result"]["throughput_sent_mbps"] > 0, trial["id"]
    arrived = [trial["result"]["throughput_mbps"] > 0 for trial in trials]
    assert sum(arrived) >= 0.75 * len(trials)  # all but UDP through the switch


def test_every_record_is_as_documented(demo):
    schema = json.loads(
        (CHECKOUT / "plugins/plugin_utils/_campaign/schemas/trial.json").read_text()
    )
    for line in (demo[1] / "trials.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)


def test_every_trial_carries_its_evidence_and_cpu(demo):
    trials = [json.loads(line) for line in (demo[1] / "trials.jsonl").read_text().splitlines()]
    odd = [
        mark["reason"]
        for trial in trials
        for mark in trial["marks"]
        if mark["guard"] == "encapsulation"
    ]
    assert len(odd) <= 0.1 * len(trials), odd  # a stream may stand still while the path is sampled
    for trial in trials:
        assert trial["cpu"]["combined"] is True and list(trial["cpu"]["ends"]) == ["combined"]
        vnis = {tuple(end["vnis"]) for end in trial["evidence"]["underlay"].values()}
        as_the_path_says = vnis == ({(10,)} if trial["path"] == "tenant_vxlan" else {()})
        assert as_the_path_says == (
            "encapsulation" not in {mark["guard"] for mark in trial["marks"]}
        ), trial["id"]
        if trial["path"] == "tenant_vxlan" and trial["workload"]["test"] == "TCP_STREAM":
            assert trial["result"]["mss"] == 8898


def test_nothing_is_left_behind(demo):
    _output, _folder, (before, after), remaining = demo
    assert remaining == {}
    assert after == before


def test_a_mistake_in_the_campaign_is_told_before_anything_is_made(lab_packages_required, tmp_path):
    campaign = tmp_path / "wrong.yml"
    campaign.write_text(CAMPAIGN.read_text().replace("blocks:", "blcks:"))
    output = run(["make", "demo", f"RESULTS={tmp_path}/results", f"CAMPAIGN={campaign}"], rc=2)
    assert f"{campaign}: unknown key 'blcks', did you mean 'blocks'?" in output
    assert "Nodes" not in output
    assert not (tmp_path / "results").exists()


def hog(done: threading.Event, seed: int) -> None:
    """Keep a CPU busy for a while, again and again."""
    generator = random.Random(seed)
    while not done.wait(generator.uniform(*PAUSES)):
        with subprocess.Popen(BUSY) as process:
            done.wait(generator.uniform(*STAYS))
            process.kill()


@pytest.fixture
def hogs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Two of them, that come and go independently."""
    done = threading.Event()
    threads = [
        threading.Thread(target=hog, args=(done, HOGS * request.param + number))
        for number in range(HOGS)
    ]
    for thread in threads:
        thread.start()
    yield
    done.set()
    for thread in threads:
        thread.join()


@pytest.mark.nightly
@pytest.mark.parametrize("hogs", range(5), indirect=True)
def test_on_a_busy_machine_it_ends_with_a_claim(lab_packages_required, hogs, tmp_path):
    output = run(["make", "demo", f"RESULTS={tmp_path}"], timeout=1800)
    analysis = json.loads((tmp_path / "demo/analysis.json").read_text())
    rows = [
        row
        for table in analysis["tables"]
        if (table["path"], table["test"]) == ("tenant_vxlan", "TCP_STREAM")
        for metric in table["metrics"]
        if metric["metric"] == "throughput"
        for row in metric["rows"]
    ]
    print(
        analysis["trials"], [(row["profile"], row["n"], row["ratio"], row["state"]) for row in rows]
    )
    assert {row["state"] for row in rows} & {"better", "worse"}, output[-3000:]
