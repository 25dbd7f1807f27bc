# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of a small AWX that awx_setup.yml has set up, on a single-host lab: the whole workflow, cancel,
relaunch, time-out.
"""

from __future__ import annotations

import json
import tarfile
import time

import pytest

from ansible_collections.offload.lab.tests.awx.conftest import Site, make_project
from ansible_collections.offload.lab.tests.instruments.awx import server
from ansible_collections.offload.lab.tests.instruments.awx.jobs import UNFINISHED
from ansible_collections.offload.lab.tests.support import CHECKOUT
from ansible_collections.offload.lab.tests.system.lab import Lab, differences

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("lab_packages_required")]

PATIENCE = 900
RESTORED_S = 30  # after the last sign of life of a controller, on a host that is quick
CAMPAIGN = {
    "name": "workflow",
    "blocks": 6,
    "design": "on_off",
    "paths": ["tenant_vxlan"],
    "mtus": [9000],
    "factors": ["tso"],
    "workloads": ["tcp_stream"],
    "duration": 1,
    "confirm": 0,
    "steal_limit": 100,
}


@pytest.fixture(name="awx_lab", scope="module")
def _awx_lab(tmp_path_factory, request):
    """A lab's nodes, and an AWX that is set up for them."""
    lab = Lab("systest-awx")
    lab.clear()
    request.addfinalizer(lab.clear)
    lab.play("nodes")
    folder = tmp_path_factory.mktemp("awx")
    project = folder / "project"
    make_project(project, CHECKOUT / "inventories/single_host/lab.single_host.yml")
    store = folder / "results"
    variables = {
        "offload_lab_results_host": "node2",
        "offload_lab_results_store": str(store),
        "offload_lab_results_dir": str(folder / "temporary"),
        "offload_lab_evidence_seconds": 0,
        "offload_lab_campaign": CAMPAIGN,
    }
    with server.serve(folder, OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES="2") as api:
        site = Site(
            api, project, offload_lab_awx_job_variables=variables, offload_lab_awx_ssh_key=""
        )
        # The nodes are namespaces of this machine: the login is one without a key.
        site.make_login()
        site.play("awx_setup")
        site.lab = lab
        site.store = store
        yield site


def until(condition, job=None):
    """Wait until something is so, while a job runs; return for how many seconds."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + PATIENCE, "no progress"
        assert job is None or job["status"] in UNFINISHED, job
        time.sleep(0.1)
    return time.monotonic() - began


def approve(site, name):
    """Wait for an approval and give it."""
    until(lambda: site.api.store.find("workflow_approval", name=name, status="pending"))
    (approval,) = site.api.store.find("workflow_approval", name=name, status="pending")
    site.request("POST", f"workflow_approvals/{approval['id']}/approve/")


def tso(lab):
    """Return on how many nodes TSO of the underlay is on."""
    return sum(
        "tx-tcp-segmentation: on" in lab.inside(node, "ethtool", "-k", "underlay0")
        for node in (1, 2)
    )


def set_tso(lab, value):
    """Set TSO of the underlay on both nodes."""
    for node in (1, 2):
        lab.inside(node, "ethtool", "-K", "underlay0", "tso", value)


def test_the_whole_workflow_to_an_applied_and_reverted_setting(awx_lab, request):
    set_tso(awx_lab.lab, "off")
    request.addfinalizer(lambda: set_tso(awx_lab.lab, "on"))  # other tests begin with it on
    state_before = awx_lab.lab.state()
    workflow = awx_lab.launch("workflow_job_templates", "offload.lab")
    until(lambda: awx_lab.api.store.find("workflow_approval", status="pending"), workflow)
    assert not awx_lab.api.store.find("job", name="offload.lab measure")
    approve(awx_lab, "Measure what is planned")
    approve(awx_lab, "Set what the report recommends")
    until(lambda: workflow["status"] not in UNFINISHED)
    assert workflow["status"] == "successful", awx_lab.explain()
    (report,) = awx_lab.api.store.find("job", name="offload.lab report")
    assert "tso" in report["artifacts"]["offload_lab_headline"]
    (applied,) = awx_lab.api.store.find("job", name="offload.lab apply")
    assert applied["status"] == "successful", awx_lab.explain()
    assert tso(awx_lab.lab) == 2, report["artifacts"]
    awx_lab.finish(awx_lab.launch("job_templates", "offload.lab revert"))
    assert tso(awx_lab.lab) == 0
    assert list(differences(state_before, awx_lab.lab.state())) == []


def answers(name, duration, paths):
    """Return the answers of a survey."""
    survey = {"name": name, "duration": duration, "paths": paths}
    return {f"offload_lab_survey_{key}": value for key, value in survey.items()}


def test_a_workflow_that_recommends_nothing_asks_nobody_and_is_no_failure(awx_lab):
    """Both ends have TSO on, and only that is measured: with one block nothing can be shown."""
    state_before = awx_lab.lab.state()
    survey = {**answers("site7", "1", ["tenant_vxlan"]), "offload_lab_survey_blocks": 1}
    workflow = awx_lab.launch("workflow_job_templates", "offload.lab", survey)
    approve(awx_lab, "Measure what is planned")
    until(lambda: workflow["status"] not in UNFINISHED)
    assert workflow["status"] == "successful", awx_lab.explain()
    assert not awx_lab.api.store.find("workflow_approval", status="pending")
    (gate,) = awx_lab.api.store.find("job", name="offload.lab recommends", status="failed")
    assert "Nothing is wrong: campaign site7" in awx_lab.api.runs.output[gate["id"]]
    assert list(differences(state_before, awx_lab.lab.state())) == []
    # Alone, with the campaign's name, apply says so, and is no failure either.
    job = awx_lab.launch(
        "job_templates", "offload.lab apply", {"offload_lab_survey_recommended_of": "site7"}
    )
    awx_lab.finish(job)
    assert "recommends nothing, and nothing is applied" in awx_lab.api.runs.output[job["id"]]


def test_campaigns_of_the_store_are_compared_by_a_schedule_s_answer(awx_lab):
    """What awx_setup gives to the schedule of compare."""
    survey = {"offload_lab_survey_campaigns": "workflow, site7"}
    awx_lab.finish(awx_lab.launch("job_templates", "offload.lab history", survey))
    assert (awx_lab.store / "history/history.html").is_file()


def test_an_archive_of_a_campaign_is_kept_in_the_store(awx_lab):
    survey = {"offload_lab_survey_bundled": "site7"}
    awx_lab.finish(awx_lab.launch("job_templates", "offload.lab bundle", survey))
    with tarfile.open(awx_lab.store / "site7/bundle.tar.gz") as archive:
        assert "bundle/REPLACED.txt" in archive.getnames()


def test_other_templates(awx_lab):
    """Preflight, look, restore, drift and teardown say what is so of an empty lab, and change nothing."""
    state_before = awx_lab.lab.state()
    for name in ("preflight", "look", "restore", "drift", "teardown"):
        awx_lab.finish(awx_lab.launch("job_templates", f"offload.lab {name}"))
    assert list(differences(state_before, awx_lab.lab.state())) == []


def test_the_artifacts_of_integrity_are_its_verdicts(awx_lab):
    """One job, from the check to its answer: nothing is broken on a path without a tunnel."""
    awx_lab.finish(awx_lab.launch("job_templates", "offload.lab lab"))
    state_before = awx_lab.lab.state()
    answers = {
        "offload_lab_survey_paths": ["physical"],
        "offload_lab_survey_factors": "gro",
        "offload_lab_survey_blocks": 1,
    }
    job = awx_lab.launch("job_templates", "offload.lab integrity", answers)
    awx_lab.finish(job)
    artifacts = job["artifacts"]
    (path,) = artifacts["offload_lab_payload"]["paths"]
    assert (path["path"], path["verdict"], path["blames"]) == ("physical", "clean", [])
    assert [bound["setting"] for bound in path["bounds"]] == ["gro"]
    assert artifacts["offload_lab_headline"].startswith("Clean over physical")
    assert list(differences(state_before, awx_lab.lab.state())) == []


def recorded(store, name):
    path = store / name / "trials.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["id"] for line in lines]


def planned(store, name):
    plan = json.loads((store / name / "plan.json").read_text())
    return [cell["id"] for visit in plan["visits"] for cell in visit["cells"]]


def measures(lab):
    """Return whether netperf runs on a node at this moment."""
    return any("netperf" in lab.members(node).values() for node in (1, 2))


@pytest.mark.parametrize("measuring", [True, False], ids=["in a visit", "between visits"])
def test_a_job_cancelled_is_relaunched_and_loses_no_trial(awx_lab, measuring):
    awx_lab.finish(awx_lab.launch("job_templates", "offload.lab lab"))
    assert tso(awx_lab.lab) == 2
    before = awx_lab.lab.state()
    name = f"cancelled{measuring}"
    job = awx_lab.launch("job_templates", "offload.lab measure", answers(name, "3", ["physical"]))
    until(lambda: tso(awx_lab.lab) == 0 and measures(awx_lab.lab) == measuring, job)
    awx_lab.request("POST", f"jobs/{job['id']}/cancel/")
    until(lambda: job["status"] not in UNFINISHED)
    assert job["status"] == "canceled"
    took = until(lambda: tso(awx_lab.lab) == 2)
    print(f"restored {took:.1f} s after the job was gone")
    assert took < RESTORED_S
    again = awx_lab.request("POST", f"jobs/{job['id']}/relaunch/")
    awx_lab.finish(awx_lab.api.store.anywhere(again["id"]))
    ids = recorded(awx_lab.store, name)
    assert sorted(ids) == sorted(planned(awx_lab.store, name))
    assert list(differences(before, awx_lab.lab.state())) == []


def test_a_job_whose_time_is_over_leaves_restored_hosts(awx_lab):
    assert tso(awx_lab.lab) == 2
    before = awx_lab.lab.state()
    template = awx_lab.find("job_templates", "offload.lab measure")
    awx_lab.request("PATCH", f"job_templates/{template['id']}/", timeout=20)
    job = awx_lab.launch(
        "job_templates", "offload.lab measure", answers("late", "4", ["tenant_vxlan"])
    )
    until(lambda: job["status"] not in UNFINISHED)
    awx_lab.request("PATCH", f"job_templates/{template['id']}/", timeout=0)
    assert (job["status"], job["job_explanation"]) == ("failed", "Job terminated due to timeout")
    assert until(lambda: tso(awx_lab.lab) == 2) < RESTORED_S
    awx_lab.finish(awx_lab.launch("job_templates", "offload.lab restore"))
    changes = [row for row in differences(before, awx_lab.lab.state()) if "spool" not in row]
    assert changes == []  # the spool has a trial that the next job collects
