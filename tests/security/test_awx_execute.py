# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the permission "execute" of AWX is worth: a launch gives variables that run commands.

Playbook awx_setup makes the templates, in a small AWX that accepts and ignores what a launch
gives as AWX 24.6.1 does. One job is run, and a program that must not run leaves a file.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest
import yaml

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.chosen import results_folder
from ansible_collections.offload.lab.tests.awx import recorded
from ansible_collections.offload.lab.tests.awx.conftest import make_project
from ansible_collections.offload.lab.tests.instruments.awx import server
from ansible_collections.offload.lab.tests.instruments.awx.prompts import variables_file
from ansible_collections.offload.lab.tests.instruments.awx.store import BY_NAME, RefusedError
from ansible_collections.offload.lab.tests.support import CHECKOUT

TEMPLATES = sorted(
    entry["name"]
    for entry in yaml.load(
        (CHECKOUT / "playbooks/vars/awx.yml").read_text().replace("!unsafe", ""), yaml.SafeLoader
    )["offload_lab_awx_templates"]
)
CANARY = '#!/bin/sh\ntouch {folder}/ran\nexec /bin/sh "$@"\n'
JINJA = "{{ lookup('pipe', 'touch ran') }}"  # in the folder of the playbook
PROMPTS = {
    "limit": "localhost",
    "job_type": "run",
    "scm_branch": "mine",
    "job_tags": "none",
    "skip_tags": "always",
    "inventory": 1,
    "execution_environment": 1,
    "verbosity": 5,
    "diff_mode": True,
    "forks": 1,
    "timeout": 1,
    "job_slice_count": 2,
}
INVENTORY = """\
lab_nodes:
  hosts:
    node1: {ansible_connection: local, ansible_python_interpreter: /usr/bin/python3}
"""


def attack(folder):
    """Return variables with which a job runs a program of the user who launches it."""
    program = f"{folder}/program"
    return {
        "offload_lab_health_checks": [["sh", "-c", f"touch {folder}/ran"]],
        "offload_lab_netperf_source": program,
        "ansible_shell_executable": program,
        "ansible_ssh_common_args": f"-o ProxyCommand={program}",
        "ansible_ssh_executable": program,
        "ansible_python_interpreter": program,
        "ansible_become_exe": program,
        "ansible_become_method": "su",
        "ansible_connection": "local",
        "ansible_remote_tmp": str(folder),
        "offload_lab_results_store": str(folder),
        "offload_lab_recommended": {"campaign": JINJA, "client": {}, "server": {}},
        "offload_lab_campaign_file": program,
    }


def take(api, call, number):
    """Put what awx_setup gave to a module of awx.awx into the small AWX."""
    kind, variables = call
    data = {key: value for key, value in variables.items() if value is not None}
    data.update(project=number, organization=number, inventory=number, execution_environment=number)
    data["extra_vars"] = json.dumps(data.get("extra_vars") or {})
    entry = api.store.create(BY_NAME[kind], data)
    if data.get("survey_spec"):
        api.launcher.surveys[kind, entry["id"]] = data["survey_spec"]
    return entry


@pytest.fixture(name="awx", scope="module")
def _awx(tmp_path_factory):
    """A small AWX that has what awx_setup makes, a project, and a host that is this machine."""
    folder = tmp_path_factory.mktemp("awx")
    (folder / "program").write_text(CANARY.format(folder=folder))
    (folder / "program").chmod(0o755)
    inventory = folder / "hosts.yml"
    inventory.write_text(INVENTORY)
    make_project(folder / "project", inventory)
    calls = recorded.recorder(tmp_path_factory.mktemp("recorded"))("awx_setup")
    with server.serve(folder) as api:
        project = api.store.create(
            BY_NAME["project"],
            {"name": "project", "scm_type": "git", "scm_url": str(folder / "project")},
        )
        api.runs.wait(api.runs.sync_project(project))
        for call in calls:
            if call[0] in ("job_template", "workflow_job_template"):
                take(api, call, project["id"])
        api.folder = folder
        yield api


def template(awx, name):
    kind = "job_template" if name else "workflow_job_template"
    (entry,) = awx.store.find(kind, name=f"offload.lab {name}".strip())
    return entry


def launch(awx, name, monkeypatch, **variables):
    """Launch a template, without its job being run; return (its job, what was ignored)."""
    monkeypatch.setattr(awx.runs, "begin", lambda job: None)
    job = awx.launcher.launch(template(awx, name), variables)
    job["status"] = "canceled"  # the next job of the template would wait for it
    return job, awx.launcher.ignored[job["id"]]


@pytest.mark.parametrize("name", ["", *TEMPLATES])
def test_a_launch_gives_no_variable_and_no_other_prompt(awx, name, monkeypatch):
    """The workflow, whose name is empty, and each job template."""
    extra_vars = attack(awx.folder)
    template_vars = json.loads(template(awx, name)["extra_vars"])
    job, ignored = launch(awx, name, monkeypatch, extra_vars=extra_vars, **PROMPTS)
    assert json.loads(job["extra_vars"]) == template_vars
    assert set(extra_vars) <= set(ignored)
    if name:
        entry = template(awx, name)
        assert {key: job[key] for key in PROMPTS} == {key: entry[key] for key in PROMPTS}


@pytest.mark.parametrize("name", ["", *TEMPLATES])
def test_a_schedule_gives_no_variable(awx, name):
    data = {"name": "mine", "rrule": "DTSTART:20260101T030000Z RRULE:FREQ=WEEKLY;INTERVAL=1"}
    data.update(unified_job_template=template(awx, name)["id"], extra_data=attack(awx.folder))
    with pytest.raises(RefusedError, match="offload_lab_health_checks.* not allowed on launch"):
        awx.answer("POST", "schedules/", {}, data)


@pytest.mark.parametrize("name", ["plan", "apply", "compare", "hop", "integrity"])
def test_the_answer_of_a_survey_is_a_text_of_one_line_or_one_of_its_choices(awx, name, monkeypatch):
    questions = awx.launcher.questions(template(awx, name))
    for question in questions:
        for answer in ({"a": "b"}, ["sh", "-c", "id"], 7.5, "x" * 2000):
            answers = {question["variable"]: answer}
            if question["type"] == "float" and answer == 7.5:
                continue
            with pytest.raises(RefusedError):
                launch(awx, name, monkeypatch, extra_vars=answers)


def test_an_answer_is_never_evaluated(awx, monkeypatch):
    """AWX writes it as ``!unsafe``; only what the template says itself is a template."""
    for name in ("measure", "apply", "compare"):
        entry = template(awx, name)
        extra_vars = json.loads(entry["extra_vars"])
        texts = [
            question["variable"]
            for question in awx.launcher.questions(entry)
            if question["type"] in ("text", "textarea")
        ]
        job, _ignored = launch(awx, name, monkeypatch, extra_vars=dict.fromkeys(texts, JINJA))
        path = awx.folder / "extra.yml"
        path.write_text(variables_file(json.loads(job["extra_vars"]), extra_vars))
        printed = evaluated(awx.folder, path, sorted(extra_vars))
        assert texts and "lookup(" in printed, name
        assert not (awx.folder / "ran").exists(), name


def evaluated(folder, variables, names):
    """Return what Ansible makes of variables; each is used twice."""
    kept = {name: f"{{{{ {name} }}}}" for name in names}
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [
                {"ansible.builtin.set_fact": {"kept": kept}},
                {"ansible.builtin.debug": {"msg": "{{ kept }}"}},
            ],
        }
    ]
    (folder / "play.yml").write_text(yaml.safe_dump(play))
    argv = ["ansible-playbook", "-i", "localhost,", "play.yml", "-e", f"@{variables}"]
    env = {**os.environ, "PATH": f"{CHECKOUT / '.venv/bin'}:{os.environ['PATH']}"}
    done = subprocess.run(argv, cwd=folder, env=env, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["../../etc", "/etc", "a/b", "..", ".", "-x", "a\n", "", "a b"])
def test_the_name_of_a_campaign_is_no_path(name):
    """A survey asks for it. It names the results folder before the campaign is checked."""
    options = {
        "campaign": {"name": "demo" if name else ""},
        "campaign_file": None,
        "overrides": {"name": name},
        "results_dir": "/nonexistent/results",
    }
    with pytest.raises(InputError):
        results_folder(options, [])


def test_a_job_runs_no_program_of_the_user(awx):
    """``preflight`` reads the hosts; its variables would have run a program on each of them."""
    entry = template(awx, "preflight")
    inventory = awx.store.create(BY_NAME["organization"], {"name": "o"})
    kept = awx.store.create(
        BY_NAME["inventory"], {"name": "hosts", "organization": inventory["id"]}
    )
    kept["listed"] = {
        "lab_nodes": {"hosts": ["node1"]},
        "_meta": {"hostvars": yaml.safe_load(INVENTORY)["lab_nodes"]["hosts"]},
    }
    playbook = entry["playbook"].rpartition("/")[2]
    awx.answer(
        "PATCH",
        f"job_templates/{entry['id']}/",
        {},
        {"inventory": kept["id"], "playbook": playbook},
    )
    job = awx.launcher.launch(entry, {"extra_vars": attack(awx.folder)})
    awx.runs.wait(job)
    printed = awx.runs.output[job["id"]]
    assert "node1" in printed, printed
    assert not (awx.folder / "ran").exists(), printed
