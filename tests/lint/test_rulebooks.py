# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rulebooks for Event-Driven Ansible, and the workflows: YAML that names existing playbooks, jobs
and variables."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT

RULEBOOKS = sorted(CHECKOUT.glob("extensions/eda/rulebooks/*.yml"))
WORKFLOWS = sorted(CHECKOUT.glob(".github/workflows/*.yml"))


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_a_rulebook_starts_playbooks_that_are_there(path):
    for ruleset in yaml.safe_load(path.read_text()):
        assert {"name", "hosts", "sources", "rules"} <= set(ruleset)
        for rule in ruleset["rules"]:
            assert {"name", "condition", "action"} <= set(rule)
            namespace, collection, playbook = rule["action"]["run_playbook"]["name"].split(".")
            assert (namespace, collection) == ("offload", "lab")
            assert (CHECKOUT / f"playbooks/{playbook}.yml").is_file()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_on_pull_requests_and_nightly(path):
    workflow = yaml.safe_load(path.read_text())
    assert "pull_request" in workflow["on"]
    assert workflow["on"]["schedule"][0]["cron"]
    assert workflow["jobs"]


def test_there_are_rulebooks_and_workflows():
    assert RULEBOOKS and WORKFLOWS
