# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small AWX with a project of its own, and what sets it up."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from ansible_collections.offload.lab.tests.instruments.awx import server
from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT, run

GIT = ["git", "-c", "user.name=offload.lab", "-c", "user.email=lab@example.org"]


def make_project(folder, inventory):
    """Make a git repository as a site has it: a copy of awx/, an inventory, a campaign."""
    shutil.copytree(CHECKOUT / "awx", folder, ignore=shutil.ignore_patterns("runner"))
    (folder / "inventories").mkdir()
    shutil.copy(inventory, folder / "inventories")
    shutil.copytree(CHECKOUT / "playbooks/campaigns", folder / "campaigns")
    for argv in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "A project"]):
        subprocess.run([*GIT, *argv], cwd=folder, check=True)


class Site:
    """An AWX, and the playbooks that set it up and take it down."""

    def __init__(self, api, project, **variables):
        self.api = api
        user, password = api.login
        self.environment = {
            "CONTROLLER_HOST": api.address,
            "CONTROLLER_USERNAME": user,
            "CONTROLLER_PASSWORD": password,
        }
        self.variables = {
            "offload_lab_awx_project_url": str(project),
            "offload_lab_awx_image": "localhost/offload-lab-ee:1",
            "offload_lab_awx_playbooks": "",
            "offload_lab_awx_inventory_file": "inventories/lab.single_host.yml",
            "offload_lab_awx_ssh_key": "a key",
            "offload_lab_awx_become_password": "a password",
            **variables,
        }

    def play(self, name, rc=0, **more):
        variables = json.dumps({**self.variables, **more})
        argv = [
            BIN / "ansible-playbook",
            f"playbooks/{name}.yml",
            "-i",
            "localhost,",
            "-e",
            variables,
        ]
        return run(argv, rc=rc, **self.environment)

    def make_login(self):
        """Make a login without a key: what runs on this machine needs none."""
        organization = self.request("POST", "organizations/", name="Offload lab")
        (kind,) = self.api.store.find("credential_type", name="Machine")
        self.request(
            "POST",
            "credentials/",
            name="offload.lab login",
            organization=organization["id"],
            credential_type=kind["id"],
        )

    def request(self, method, path, **data):
        """Ask the API as a client does, without the way over HTTP; errors are raised."""
        status, body = self.api.answer(method, path, {}, data)
        assert status < 400
        return body

    def find(self, endpoint, name):
        _status, page = self.api.answer("GET", f"{endpoint}/", {"name": name}, {})
        (result,) = page["results"]
        return result

    def launch(self, endpoint, name, variables=None):
        """Launch a template and return its job, which changes while it runs."""
        template = self.find(endpoint, name)
        extra = {"extra_vars": variables or {}}
        started = self.request("POST", f"{endpoint}/{template['id']}/launch/", **extra)
        return self.api.store.anywhere(started["id"])

    def finish(self, job):
        """Wait for the end of a job, which must be a good one."""
        self.api.runs.wait(job)
        if job["status"] != "successful":
            print(self.api.runs.output.get(job["id"], ""))
        assert job["status"] == "successful", job["name"]

    def explain(self):
        """Return the end of what each job printed that has failed."""
        failed = [job for job in self.api.store.find("job") if job["failed"]]
        return [(job["name"], self.api.runs.output.get(job["id"], "")[-3000:]) for job in failed]

    def objects(self, *types):
        """Return {(type, name)} of what AWX has."""
        tables = self.api.store.objects
        return {(name, row["name"]) for name in types or tables for row in tables[name].values()}


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("awx")
    project = folder / "project"
    make_project(project, CHECKOUT / "inventories/single_host/lab.single_host.yml")
    with server.serve(folder) as api:
        yield Site(api, project)
