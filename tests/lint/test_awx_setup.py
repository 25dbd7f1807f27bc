# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/awx_setup.yml against the argument specs of awx.awx's own modules.

Each module that the playbooks use is replaced by one with the same argument spec, which writes down
what it was given: what AWX's modules would refuse is refused here, and no AWX is needed.
"""

from __future__ import annotations

import functools
import importlib
import json
import re

import pytest
import yaml

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import OVERRIDES
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

MODULES = sorted(
    {
        name
        for playbook in ("awx_setup", "awx_teardown")
        for name in re.findall(
            r"awx\.awx\.(\w+):$", (CHECKOUT / f"playbooks/{playbook}.yml").read_text(), re.MULTILINE
        )
    }
)
RECORDER = """
from ansible.module_utils.basic import AnsibleModule
import json
module = AnsibleModule(argument_spec={spec!r})
with open({calls!r}, "a") as stream:
    stream.write(json.dumps([{name!r}, module.params]) + "\\n")
module.exit_json(changed=False)
"""
GIVEN = {
    "offload_lab_awx_project_url": "https://git.example.org/lab.git",
    "offload_lab_awx_image": "example.org/ee:1",
    "offload_lab_awx_ssh_key": "key",
    "offload_lab_awx_schedule": "DTSTART:20260101T030000Z RRULE:FREQ=WEEKLY",
    "offload_lab_awx_compare": ["results/old", "results/new"],
    "offload_lab_awx_job_variables": {"offload_lab_results_host": "store"},
    "offload_lab_awx_notification": {
        "type": "webhook",
        "configuration": {"url": "https://example.org"},
    },
}


class CapturedError(Exception):
    """Carries the argument spec of a module."""


def argument_spec(name):
    """Return the argument spec that a module of awx.awx gives to its base class."""
    module = importlib.import_module(f"ansible_collections.awx.awx.plugins.modules.{name}")

    def capture(argument_spec, **_more):
        raise CapturedError(argument_spec)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CapturedError) as caught:
        patch.setattr(module, "ControllerAPIModule", capture)
        module.main()
    return caught.value.args[0]


@pytest.fixture(name="play", scope="module")
def _play(tmp_path_factory):
    """Return what runs a playbook, once, and returns ``[(module, its arguments)]``."""
    path = tmp_path_factory.mktemp("awx")
    folder = path / "ansible_collections/awx/awx"
    (folder / "plugins/modules").mkdir(parents=True)
    (folder / "galaxy.yml").write_text("namespace: awx\nname: awx\nversion: 24.6.1\n")
    calls = path / "calls"
    for name in MODULES:
        recorder = RECORDER.format(spec=argument_spec(name), calls=str(calls), name=name)
        (folder / f"plugins/modules/{name}.py").write_text(recorder)

    @functools.lru_cache(maxsize=None)
    def play(playbook, **more):
        calls.write_text("")
        run(
            [
                "ansible-playbook",
                "-i",
                "localhost,",
                f"playbooks/{playbook}.yml",
                "-e",
                json.dumps({**GIVEN, **more}),
            ],
            ANSIBLE_COLLECTIONS_PATH=f"{path}:{CHECKOUT / '.build/live'}",
        )
        return [json.loads(line) for line in calls.read_text().splitlines()]

    return play


def test_awx_takes_what_the_set_up_gives(play):
    calls = play("awx_setup")
    templates = {given["name"]: given for name, given in calls if name == "job_template"}
    for given in templates.values():
        assert (CHECKOUT / given["playbook"]).is_file()
        variables = given["extra_vars"]
        assert variables["offload_lab_dead_man_minutes"] == 3
        assert variables["offload_lab_results_host"] == "store"
        # AWX templates it when the job starts, with the answers of the survey.
        assert (
            variables["offload_lab_campaign_overrides"]["blocks"]
            == "{{ offload_lab_survey_blocks | default('') }}"
        )
        assert not given["allow_simultaneous"]
    surveyed = {name.split()[-1] for name, given in templates.items() if given["survey_enabled"]}
    assert surveyed == {"plan", "measure", "report"}
    assert len(templates["offload.lab measure"]["survey_spec"]["spec"]) == len(OVERRIDES)
    assert templates["offload.lab plan"]["job_type"] == "check"
    check_workflow(
        [given for name, given in calls if name == "workflow_job_template_node"], templates
    )


def check_workflow(nodes, templates):
    """Each node follows on nodes that are made before it, has a template or an approval, and
    teardown ends all.

    An approval is made by one call, without lists of nodes, and linked by a second one without the
    approval: AWX answers 404 to both in one.
    """
    made = {}
    for node in nodes:
        lists = [node[f"{kind}_nodes"] for kind in ("success", "failure", "always")]
        if node["approval_node"]:
            assert lists == [None, None, None]
        else:
            following = [name for listed in lists for name in listed]
            assert set(following) <= set(made)
            assert bool(following) == (node["identifier"] != "teardown")
            assert bool(node["unified_job_template"]) != (node["identifier"] in made)
        assert node["unified_job_template"] in (None, *templates)
        made[node["identifier"]] = node
    assert all(
        node["failure_nodes"] or node["always_nodes"]
        for name, node in made.items()
        if name != "teardown"
    )
    assert made["measure_1"]["failure_nodes"] == ["restore"]


def test_a_misspelt_variable_is_refused(play):
    with pytest.raises(pytest.fail.Exception, match="Did you mean offload_lab_awx_schedule"):
        play("awx_setup", offload_lab_awx_scheduel="")


@pytest.mark.nightly  # a playbook of the same modules
def test_the_teardown_removes_what_the_set_up_made(play):
    made = {(name, given["name"]) for name, given in play("awx_setup") if "name" in given}
    removed = {
        (name, given["name"]) for name, given in play("awx_teardown") if given["state"] == "absent"
    }
    # They go with the inventory; the organisation may be others' too.
    assert made - removed == {("inventory_source", "offload.lab"), ("organization", "Offload lab")}
    assert removed - made == set()


def test_each_playbook_of_the_folder_has_a_template():
    listed = yaml.load(
        (CHECKOUT / "playbooks/vars/awx.yml").read_text().replace("!unsafe", ""), yaml.SafeLoader
    )
    have = {entry.get("playbook", entry["name"]) for entry in listed["offload_lab_awx_templates"]}
    folder = {path.stem for path in (CHECKOUT / "awx").glob("*.yml")} - {"execution-environment"}
    assert have == folder - {"verify"}
