# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/awx_setup.yml against the argument specs of awx.awx's own modules: no AWX is needed."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.chosen import OVERRIDES
from ansible_collections.offload.lab.tests.awx import recorded
from ansible_collections.offload.lab.tests.support import CHECKOUT

# The questions of a template's survey, unless they are the questions of a whole campaign.
SURVEYS = {
    "apply": ["recommended_of"],
    "bundle": ["bundled"],
    "compare": ["campaigns"],
    "history": ["campaigns"],
    "hop": ["recommended_of"],
    "integrity": ["name", "blocks", "paths", "mtus", "sides", "factors"],
    "measure": list(OVERRIDES),
    "plan": list(OVERRIDES),
    "report": list(OVERRIDES),
}


@pytest.fixture(name="play", scope="module")
def _play(tmp_path_factory):
    return recorded.recorder(tmp_path_factory.mktemp("awx"))


def test_awx_takes_what_the_set_up_gives(play):
    calls = play("awx_setup")
    templates = {
        arguments["name"]: arguments for name, arguments in calls if name == "job_template"
    }
    for arguments in templates.values():
        assert (CHECKOUT / arguments["playbook"]).is_file()
        variables = arguments["extra_vars"]
        assert variables["offload_lab_dead_man_minutes"] == 3
        assert variables["offload_lab_results_host"] == "store"
        # AWX templates it when the job starts, with the answers of the survey.
        assert (
            variables["offload_lab_campaign_overrides"]["blocks"]
            == "{{ offload_lab_survey_blocks | default('') }}"
        )
        assert not arguments["allow_simultaneous"]
    surveys = {
        name.split()[-1]: [question["variable"] for question in arguments["survey_spec"]["spec"]]
        for name, arguments in templates.items()
        if arguments["survey_enabled"]
    }
    assert surveys == {
        name: [f"offload_lab_survey_{key}" for key in keys] for name, keys in SURVEYS.items()
    }
    with_campaign = {
        name.split()[-1]
        for name, arguments in templates.items()
        if "offload_lab_campaign_file" in arguments["extra_vars"]
    }
    assert {"integrity", "hop"}.isdisjoint(with_campaign) and "measure" in with_campaign
    assert templates["offload.lab plan"]["job_type"] == "check"
    check_workflow(
        [arguments for name, arguments in calls if name == "workflow_job_template_node"], templates
    )
    (notification,) = [arguments for name, arguments in calls if name == "notification_template"]
    sent = notification["messages"]["success"]
    assert "offload_lab_headline" in sent["message"] and "offload_lab_headline" in sent["body"]
    assert json.loads(re.sub(r"\{\{.*?\}\}", "1", sent["body"]))["headline"] == 1


def test_a_launch_sets_nothing_beside_the_answers_of_the_survey(play):
    """The permission "execute" is worth no more than the surveys."""
    names_asked = [
        (arguments["name"], key)
        for name, arguments in play("awx_setup")
        for key, value in arguments.items()
        if key.startswith("ask_") and key.endswith("_on_launch") and value is not False
    ]
    assert names_asked == []
    kinds = {
        name for name, arguments in play("awx_setup") if "ask_variables_on_launch" in arguments
    }
    assert kinds == {"job_template", "workflow_job_template"}


def check_workflow(nodes, templates):
    """Each node follows on nodes that are made before it, has a template or an approval, and
    teardown ends all.

    An approval is made by one call, without lists of nodes, and linked by a second one without the
    approval: AWX answers 404 to both in one.
    """
    entries = {}
    for node in nodes:
        lists = [node[f"{kind}_nodes"] for kind in ("success", "failure", "always")]
        if node["state"] == "absent":
            assert node["identifier"] in ("measure_2", "measure_3")
            continue
        if node["approval_node"]:
            assert lists == [None, None, None]
        else:
            following = [name for listed in lists for name in listed]
            assert set(following) <= set(entries)
            assert bool(following) == (node["identifier"] != "teardown")
            assert bool(node["unified_job_template"]) != (node["identifier"] in entries)
        assert node["unified_job_template"] in (None, *templates)
        entries[node["identifier"]] = node
    assert all(
        node["failure_nodes"] or node["always_nodes"]
        for name, node in entries.items()
        if name != "teardown"
    )
    assert entries["measure_1"]["failure_nodes"] == ["restore"]
    assert entries["measure_1"]["success_nodes"] == ["report"]
    assert entries["recommends"]["failure_nodes"] == ["teardown"]


def test_a_misspelt_variable_is_refused(play):
    with pytest.raises(pytest.fail.Exception, match="Did you mean offload_lab_awx_schedule"):
        play("awx_setup", offload_lab_awx_scheduel="")


@pytest.mark.nightly  # a playbook of the same modules
def test_the_teardown_removes_what_the_set_up_made(play):
    objects_made = {
        (name, arguments["name"]) for name, arguments in play("awx_setup") if "name" in arguments
    }
    removed = {
        (name, arguments["name"])
        for name, arguments in play("awx_teardown")
        if arguments["state"] == "absent"
    }
    # AWX deletes the source with the inventory; the organisation may be others', too; without the
    # execution
    # environment AWX deletes the image.
    assert objects_made - removed == {
        ("execution_environment", "offload.lab"),
        ("inventory_source", "offload.lab"),
        ("organization", "Offload lab"),
    }
    assert removed - objects_made == set()


def test_each_playbook_of_the_folder_has_a_template():
    listed = yaml.load(
        (CHECKOUT / "playbooks/vars/awx.yml").read_text().replace("!unsafe", ""), yaml.SafeLoader
    )
    have = {entry.get("playbook", entry["name"]) for entry in listed["offload_lab_awx_templates"]}
    folder = {path.stem for path in (CHECKOUT / "awx").glob("*.yml")} - {"execution-environment"}
    assert have == folder - {"verify"}
    assert {"bundle", "discover", "look", "integrity", "hop", "drift", "history"} <= have
    for path in (CHECKOUT / "awx").glob("*.yml"):
        assert yaml.safe_load(path.read_text()), path.name
