# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns by their names: compare, apply and bundle fetch them from the host that keeps the results,
as a job of AWX needs it, and keep what they write there.
"""

from __future__ import annotations

import hashlib
import json

import pytest

from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.support import CHECKOUT, each_day, run

NOTHING = synthetic.Truth(ratios={}, noise=0.01, block_noise=0.0)
INVENTORY = """\
lab_nodes:
  hosts:
    node1: {ansible_connection: local, ansible_python_interpreter: /usr/bin/python3}
"""


@pytest.fixture(name="store", scope="module")
def _store(tmp_path_factory):
    """A host's store with two campaigns, in which nothing differs."""
    store = tmp_path_factory.mktemp("store")
    for name in ("old", "new"):
        plan = {**synthetic.make_plan(1, workloads=("tcp_stream",)), "name": name}
        (store / name).mkdir()
        trials = synthetic.make_trials(plan, NOTHING)
        synthetic.write(str(store / name), plan, trials)
    return store


def play(store, folder, playbook, rc=0, **variables):
    (folder / "hosts.yml").write_text(INVENTORY)
    variables_given = {"results_host": "node1", "results_store": str(store), **variables}
    variables_given["results_dir"] = str(folder / "results")
    extra = json.dumps({f"offload_lab_{name}": value for name, value in variables_given.items()})
    argv = ["ansible-playbook", "-i", str(folder / "hosts.yml"), f"playbooks/{playbook}.yml"]
    return run([*argv, "-e", extra], rc=rc, cwd=CHECKOUT)


def test_compare_fetches_two_campaigns_and_keeps_the_comparison(store, tmp_path):
    output = str(tmp_path / "results/compare")
    play(store, tmp_path, "compare", compare_campaigns="old, new", compare_output=output)
    assert (tmp_path / "results/old/trials.jsonl").is_file()
    kept = json.loads((store / "compare/comparison.json").read_text())
    assert kept["passed"]


@pytest.mark.parametrize("name", each_day(["old/../new"], ["../old", "old/../new"]))
def test_a_name_that_is_a_path_is_refused(store, tmp_path, name):
    printed = play(store, tmp_path, "compare", rc=2, compare_campaigns=f"old, {name}")
    assert "a campaign has no such name" in printed
    assert not (tmp_path / "results").exists()


def test_apply_takes_the_recommendation_of_a_campaign_and_nothing_is_no_failure(store, tmp_path):
    printed = play(store, tmp_path, "apply", recommended_of="new")
    assert "Campaign new recommends nothing, and nothing is applied" in printed
    assert "failed=0" in printed


def test_bundle_fetches_a_campaign_and_keeps_its_archive(store, tmp_path):
    play(store, tmp_path, "bundle", bundle_campaign="new")
    archive = (store / "new/bundle.tar.gz").read_bytes()
    assert archive == (tmp_path / "results/new/bundle.tar.gz").read_bytes()
    checksum, name = (store / "new/bundle.tar.gz.sha256").read_text().split()
    assert (checksum, name) == (hashlib.sha256(archive).hexdigest(), "bundle.tar.gz")
    names = json.loads((store / "new/bundle.names.json").read_text())
    assert names["campaign"] == {"new": "campaign-1"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("../old", "a campaign has no such name", marks=pytest.mark.nightly),
        ("", "in AWX answer the question Campaign"),
    ],
)
def test_bundle_refuses_what_is_no_name_of_a_campaign(store, tmp_path, name, problem):
    printed = play(store, tmp_path, "bundle", rc=2, bundle_campaign=name)
    assert problem in " ".join(printed.split())
