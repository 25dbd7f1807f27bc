# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host is not reached any more in the middle of a campaign, or was rebooted; part of make faults."""

from __future__ import annotations

import json
import subprocess
import time
import zlib
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._trials import records
from ansible_collections.offload.lab.tests.support import CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.lab import Lab, differences, left_behind, traces

pytestmark = pytest.mark.nightly
CAMPAIGN = {
    "name": "unreachable",
    "blocks": 2,
    "paths": ["physical"],
    "mtus": [9000],
    "factors": ["tso"],
    "workloads": ["tcp_stream"],
    "duration": 1,
    "pairs": ["node1-node2", "node3-node4"],
}
# Two checkouts may be tested simultaneously
NAME = f"systestgone{zlib.crc32(str(CHECKOUT).encode()) % 1000}"


@pytest.fixture(scope="module")
def lab(lab_packages_required):
    before = traces()
    new_lab = Lab(NAME, 4)
    new_lab.clear()
    try:
        new_lab.up()
        for number in range(1, 5):  # it stays after a campaign, until teardown
            new_lab.ask("offload.lab.probe", f"node{number}", address=f"198.18.0.{number}")
        yield new_lab
    finally:
        new_lab.down()
    assert left_behind(before, NAME) == {}


def applied(output, node):
    """Return how often a node has applied a profile."""
    tasks = output.split("\nTASK ")
    return sum(
        f"changed: [{node}]" in task or f"ok: [{node}]" in task
        for task in tasks
        if "Apply the profile" in task
    )


def begin(folder):
    """Start the campaign, and return its process when the second pair has recorded a trial."""
    record = folder / "unreachable" / "trials.jsonl"
    settings = {
        "offload_lab_campaign": CAMPAIGN,
        "offload_lab_results_dir": str(folder),
        "offload_lab_evidence_seconds": 0,
    }
    with (folder / "output").open("w") as stream:
        process = subprocess.Popen(
            ["ansible-playbook", "playbooks/measure.yml", "-e", json.dumps(settings)],
            cwd=CHECKOUT,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment(OFFLOAD_LAB_NAME=NAME, OFFLOAD_LAB_NODES="4"),
        )
    while process.poll() is None and not any(
        row["pair"] == "node3-node4" for row in records.read(str(record))[0]
    ):
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(("gone", "other"), [("node3", "node4"), ("node4", "node3")])
def test_its_pair_stops_and_the_others_go_on(lab, tmp_path, gone, other):
    before = lab.state()
    record = tmp_path / "unreachable" / "trials.jsonl"
    ready = Path(f"/run/offload-lab/{NAME}-{gone}/ready")
    process = begin(tmp_path)
    try:
        ready.rename(ready.with_name("hidden"))
        status = process.wait(timeout=400)
    finally:
        process.kill()
        ready.with_name("hidden").rename(ready)
    output = (tmp_path / "output").read_text()
    assert status == 4 and f"fatal: [{gone}]: UNREACHABLE!" in output, output[-3000:]

    trials = records.read(str(record))[0]
    plan = json.loads((record.parent / "plan.json").read_text())
    assert (
        applied(output, other)
        < applied(output, "node1")
        == applied(output, "node2")
        == len(plan["visits"])
    )
    planned = [
        (cell.get("pair"), cell["id"]) for visit in plan["visits"] for cell in visit["cells"]
    ]
    done = [(trial["pair"], trial["id"]) for trial in trials]
    assert len(done) == len(set(done))
    assert {row for row in done if row[0] == "node1-node2"} == {
        row for row in planned if row[0] == "node1-node2"
    }
    assert 0 < sum(pair == "node3-node4" for pair, _name in done) < len(planned) / 2

    lab.play("report", campaign=CAMPAIGN, results_dir=str(tmp_path))
    sentence = f"{len(planned) - len(done)} of {len(planned)} trials were not measured"
    assert sentence in (record.parent / "report.md").read_text()

    lab.play("restore")  # it can be reached again
    assert list(differences(before, lab.state())) == []


def test_a_host_without_its_snapshot_is_not_changed(lab, tmp_path):
    """A reboot takes it: a host that is back before anybody has missed it would never be restored."""
    before = lab.state()
    snapshot = "/var/lib/offload-lab/snapshot.json"
    process = begin(tmp_path)
    try:
        lab.inside(4, "mv", snapshot, "/run/kept")
        status = process.wait(timeout=400)
    finally:
        process.kill()
        lab.inside(4, "mv", "/run/kept", snapshot)
    output = (tmp_path / "output").read_text()
    assert status == 2 and "fatal: [node4]: FAILED!" in output and "was rebooted" in output, output[
        -3000:
    ]
    assert applied(output, "node4") < applied(output, "node1")
    lab.play("restore")
    assert list(differences(before, lab.state())) == []
