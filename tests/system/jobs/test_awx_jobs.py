# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs as AWX runs them: ansible-runner, a private folder and a host name each, thrown away at the
end of the job.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import suppress

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.jobs import private_folder
from ansible_collections.offload.lab.tests.system.lab import differences

pytestmark = pytest.mark.nightly

GRACE = 5  # seconds from SIGTERM to SIGKILL, as AWX has it
SWITCH = 180  # seconds, the dead man's switch of AWX's templates
PATIENCE = 600
SPOOL = "cat /var/lib/offload-lab/spool/*.jsonl 2>/dev/null | wc -l"


class Job:
    """One job: a private data folder made of awx/ and awx/runner, with the single-host lab as its
    inventory.
    """

    def __init__(self, folder, lab, name, **variables):
        # the same path in each job's container
        self.private = folder / "private"
        self.name = name
        private_folder.make(self.private, **variables)
        shutil.copy(
            CHECKOUT / "inventories/single_host/lab.single_host.yml", self.private / "inventory"
        )
        self.environment = environment(OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES=str(lab.nodes))

    def start(self, playbook, *arguments):
        """Start ansible-runner under the host name of the job."""
        line = f'hostname {self.name} && exec ansible-runner run . -p {playbook}.yml --ident {playbook} "$@"'
        argv = ["unshare", "--uts", "sh", "-c", line, "job", *arguments]
        with (self.private / "output").open("w") as output:
            self.process = subprocess.Popen(
                argv,
                cwd=self.private,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def run(self, playbook, *arguments):
        """Run a playbook to its end, and return the data of its events."""
        self.start(playbook, *arguments)
        assert self.process.wait(PATIENCE) == 0, self.output()
        return self.events(playbook)

    def output(self):
        """Return the end of what it printed."""
        return (self.private / "output").read_text(errors="replace")[-5000:]

    def events(self, playbook):
        """Return the events of a playbook in their order."""
        return private_folder.events(self.private, playbook)

    def cancel(self):
        """End it as AWX does."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self.process.kill()
        self.process.wait()

    def thrown_away(self):
        shutil.rmtree(self.private)


def until(condition, job):
    """Wait until something is so while a job runs; return for how many seconds."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + PATIENCE
        assert job.process.poll() is None, job.output()
        time.sleep(0.2)
    return time.monotonic() - began


def tso(lab):
    """Return on how many nodes TSO of the underlay is on."""
    return sum(
        "tx-tcp-segmentation: on" in lab.inside(node, "ethtool", "-k", "underlay0")
        for node in (1, 2)
    )


def recorded(store):
    record = store / "trials.jsonl"
    return (
        [json.loads(line)["id"] for line in record.read_text().splitlines()]
        if record.exists()
        else []
    )


def planned(store):
    return [
        cell["id"]
        for visit in json.loads((store / "plan.json").read_text())["visits"]
        for cell in visit["cells"]
    ]


def data(events, task, kind="runner_on_ok"):
    """Return the data of the first event of a task."""
    return next(
        event["event_data"]
        for event in events
        if event["event"] == kind and event["event_data"].get("task", "").startswith(task)
    )


@pytest.fixture(name="probes")
def _probes(lab):
    """The probes stay after a campaign, until teardown."""
    for node in (1, 2):
        lab.ask("offload.lab.probe", f"node{node}", address=f"198.18.0.{node}")


@pytest.mark.usefixtures("probes")
def test_a_cancelled_job_leaves_restored_hosts_and_the_next_one_goes_on(lab, tmp_path):
    store = tmp_path / "store/cancelled"
    before = lab.state()
    variables = {
        "results_host": "node2",
        "results_store": str(store.parent),
        "evidence_seconds": 0,
        "dead_man_minutes": 3,
        "chunk_seconds": 30,
        "campaign": {
            "name": "cancelled",
            "blocks": 1,
            "design": "on_off",
            "paths": ["physical"],
            "mtus": [9000],
            "factors": ["tso"],
            "workloads": ["tcp_stream", "tcp_maerts", "tcp_rr"],
            "duration": 4,
            "confirm": 0,
            "steal_limit": 100,
        },
    }
    first = Job(tmp_path, lab, "first", **variables)
    first.start("measure")
    # In the middle of the visit with TSO off, with a finished trial that no controller has yet.
    until(lambda: tso(lab) == 0 and int(lab.inside(1, "sh", "-c", SPOOL)) > 1, first)
    first.cancel()
    # The next job is in another container, and cannot look at the first one's process.
    lock = store / "trials.jsonl.lock"
    holder = dict(json.loads(lock.read_text()), kernel=["another container", 1])
    assert holder["host"] == "first"
    lock.write_text(json.dumps(holder) + "\n")
    first.thrown_away()
    second = Job(tmp_path, lab, "second", **variables)
    second.start("measure")
    took = until(lambda: tso(lab) == 2, second)
    print(f"restored {GRACE + took:.0f} s after SIGTERM at the latest")
    assert GRACE + took < SWITCH
    assert second.process.wait(PATIENCE) == 0, second.output()
    assert "cannot be seen from here" in (second.private / "output").read_text()
    claimed = data(second.events("measure"), "Move the results to or from the store (claimed)")
    print(f"locked for {claimed['duration']:.0f} s")
    ids = recorded(store)
    assert sorted(ids) == sorted(planned(store))
    check_events(second.events("measure"))
    assert list(differences(before, lab.state())) == []


def check_events(events):
    """Who follows the job by its events sees each visit with its host, and each block."""
    names_of_remaining = data(
        events, "Record what an earlier run left on the client", "runner_item_on_ok"
    )
    assert names_of_remaining["res"]["collected"] >= 1
    visit = data(events, "See in the packets what it does, and measure")
    assert (visit["host"], visit["res"]["progress"][:22]) == ("node1", "node1-node2: block 1/1")
    assert data(events, "See how far the campaign is")["res"]["standing"] == {
        "campaign": "cancelled",
        "part": "planned",
        "mtu": 9000,
        "block": 1,
        "blocks": 1,
        "recorded": 6,
        "planned": 6,
    }


@pytest.mark.usefixtures("probes")
def test_a_campaign_in_four_jobs_has_the_record_of_one_and_its_answer_as_artifacts(lab, tmp_path):
    store = tmp_path / "store/jobs"
    variables = {
        "results_host": "node2",
        "results_store": str(store.parent),
        "results_url": "https://results.example.org",
        "campaign": {
            "name": "jobs",
            "blocks": 3,
            "design": "on_off",
            "paths": ["physical"],
            "mtus": [9000],
            "factors": ["tso"],
            "workloads": ["tcp_stream"],
            "duration": 1,
            "confirm": 0,
            "steal_limit": 100,
        },
    }
    plan = Job(tmp_path, lab, "plan", **variables)
    plan.run("measure", "--cmdline=--check")
    plan.thrown_away()
    assert not store.exists()
    counts = []
    for number, minutes in enumerate((0.001, 0.001, 0.001, 0)):
        job = Job(tmp_path, lab, f"job{number}", **dict(variables, max_minutes=minutes))
        standing = private_folder.artifacts(job.run("measure"))["offload_lab_standing"]
        job.thrown_away()
        counts.append(standing["recorded"])
    assert (counts, standing["planned"]) == ([1, 2, 3, 6], 6)
    assert recorded(store) == planned(store)

    report = Job(tmp_path, lab, "report", **variables)
    artifacts = private_folder.artifacts(report.run("report"))
    assert artifacts["offload_lab_report_url"] == "https://results.example.org/jobs/report.html"
    assert artifacts["offload_lab_headline"]
    assert "physical" in artifacts["offload_lab_table"]
    assert set(artifacts) >= {"offload_lab_states", "offload_lab_recommended_levels"}
    assert os.path.getsize(store / "report.html") > 1000
