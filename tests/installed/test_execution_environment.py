# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx/execution-environment.yml, built: ansible-runner and ansible-navigator measure two hosts over
SSH from its image.

What each run prints is kept in tests/output/execution_environment; docs/awx.md says what was seen.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from ansible_collections.offload.lab.tests.installed.two_hosts import NODES, PASSWORD
from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT, environment, run
from ansible_collections.offload.lab.tests.system.jobs import private_folder

pytestmark = pytest.mark.nightly  # builds an image, installs packages on two hosts, and measures
IMAGE = "localhost/offload-lab-ee"
CAMPAIGN = {
    "name": "first",
    "design": "on_off",
    "blocks": 2,
    "paths": ["physical", "tenant_vxlan"],
    "factors": ["tso"],
    "workloads": ["tcp_stream"],
    "duration": 1,
    "confirm": 0,
    "steal_limit": 100,
}
STORE = "/var/lib/offload-lab-results"
# seconds
PATIENCE = 600
DEAD_MAN = 180
OUTPUT = CHECKOUT / "tests/output/execution_environment"


@pytest.fixture(name="image", scope="module")
def _image(hosts):
    """Build the image as ``make image`` does, from the checkout."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    argv = ["sh", "tests/installed/execution_environment.sh", BIN, IMAGE]
    kept("build", run(argv, timeout=1200, **hosts.variables))
    return IMAGE


def inventory(hosts, folder):
    """Return the inventory of the hosts for a container that has a folder at this path, with the
    key of their login.
    """
    hosts_file = hosts.inventory()
    hosts_file["lab_nodes"]["vars"].update(
        ansible_become_password=PASSWORD,
        ansible_ssh_private_key_file=f"{folder}/key",
        ansible_ssh_common_args=f"-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={folder}/known_hosts",
    )
    return yaml.safe_dump(hosts_file)


def kept(name, output):
    (OUTPUT / f"{name}.txt").write_text(output)
    return output


class Jobs:
    """Runs playbooks as jobs of AWX: each in a container of the image, with a private folder."""

    def __init__(self, hosts, image, private, **variables):
        self.hosts = hosts
        self.image = image
        self.private = private
        private_folder.make(private, results_host="node2", dead_man_minutes=3, **variables)
        (private / "inventory/hosts.yml").write_text(inventory(hosts, "/runner"))
        shutil.copy(hosts.folder / "key", private)

    def command(self, playbook, ident, *arguments):
        return [
            "ansible-runner",
            "run",
            str(self.private),
            "-p",
            f"{playbook}.yml",
            "--ident",
            ident,
            "--process-isolation",
            "--process-isolation-executable",
            "podman",
            "--container-image",
            self.image,
            *(f"--container-option={option}" for option in ("--network=host", "--user=root")),
            *arguments,
        ]

    def run(self, playbook, *arguments):
        """Run a playbook to its end, and return its events."""
        ident = f"{playbook}{len(arguments)}"
        kept(
            f"runner-{ident}",
            run(self.command(playbook, ident, *arguments), timeout=1200, **self.hosts.variables),
        )
        (self.private / "env/cmdline").unlink(
            missing_ok=True
        )  # ansible-runner keeps it for the next run
        return private_folder.events(self.private, ident)


@pytest.fixture(name="built", scope="module")
def _built(hosts, image, tmp_path_factory):
    """The lab, built by a job."""
    return Jobs(hosts, image, tmp_path_factory.mktemp("lab") / "private").run("lab")


def features(hosts):
    return {node: hosts.features(node) for node in NODES}


def until(condition, job=None):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline and (job is None or job.poll() is None)
        time.sleep(0.2)


def trials(hosts):
    return [
        json.loads(line)
        for line in hosts.inside("node2", "cat", f"{STORE}/first/trials.jsonl").splitlines()
    ]


@pytest.mark.usefixtures("built")
def test_ansible_runner_plans_measures_and_reports(hosts, image, tmp_path):
    jobs = Jobs(hosts, image, tmp_path / "private", campaign=CAMPAIGN)
    before = features(hosts)
    jobs.run("measure", "--cmdline=--check")
    assert "first" not in hosts.inside("node2", "ls", STORE, rc=None).split()
    measured = private_folder.artifacts(jobs.run("measure"))
    standing = measured["offload_lab_standing"]
    assert standing["recorded"] == standing["planned"] == len(trials(hosts))
    assert features(hosts) == before
    reported = private_folder.artifacts(jobs.run("report"))
    assert reported["offload_lab_headline"] and "tenant_vxlan" in reported["offload_lab_table"]
    assert set(reported) >= {"offload_lab_states", "offload_lab_recommended_levels"}
    assert "report.html" in hosts.inside("node2", "ls", f"{STORE}/first").split()
    kept("artifacts", json.dumps({**measured, **reported}, indent=1))


@pytest.mark.usefixtures("built")
def test_hosts_are_restored_when_the_container_of_a_job_is_killed(hosts, image, tmp_path):
    """Over SSH the nodes see that the connection ends; the dead man's switch is for what they do
    not see.
    """
    jobs = Jobs(
        hosts,
        image,
        tmp_path / "private",
        evidence_seconds=0,
        chunk_seconds=60,
        campaign=dict(CAMPAIGN, name="killed", paths=["physical"], blocks=1, duration=30),
    )
    before = features(hosts)
    with subprocess.Popen(
        jobs.command("measure", "killed"),
        env=environment(**hosts.variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as job:
        until(
            lambda: (
                all(
                    not features_of_host["tx-tcp-segmentation"]
                    for features_of_host in features(hosts).values()
                )
                and "netperf" in hosts.left("node1")["daemons"]
            ),
            job,
        )
        hosts.podman("kill", "ansible_runner_killed")
        killed = time.monotonic()
    until(lambda: features(hosts) == before)
    took = time.monotonic() - killed
    kept("killed", f"restored {took:.1f} s after the container was killed\n")
    assert took < DEAD_MAN


@pytest.mark.usefixtures("built")
def test_ansible_navigator_plans_measures_and_reports(hosts, image, tmp_path):
    Path("/dev/mqueue").mkdir(exist_ok=True)  # or ansible-navigator refuses podman
    user = tmp_path / "user"
    shutil.copytree(CHECKOUT / "awx", user / "awx")
    shutil.copy(hosts.folder / "key", user)
    (user / "hosts.yml").write_text(inventory(hosts, user))
    (user / "first.yml").write_text(yaml.safe_dump(CAMPAIGN))

    def navigator(playbook, *arguments):
        return kept(
            f"navigator-{playbook}{len(arguments)}",
            run(
                [
                    "ansible-navigator",
                    "run",
                    f"awx/{playbook}.yml",
                    "-i",
                    "hosts.yml",
                    "--mode",
                    "stdout",
                    "--ce",
                    "podman",
                    "--eei",
                    image,
                    "--pp",
                    "never",
                    "--co=--network=host",
                    "--lf",
                    tmp_path / "log",
                    "--pae",
                    "false",
                    "-e",
                    f"offload_lab_campaign_file={user}/first.yml",
                    "-e",
                    f"offload_lab_results_dir={user}/results",
                    *arguments,
                ],
                cwd=user,
                timeout=1200,
                **hosts.variables,
            ),
        )

    assert "campaign first: on_off, seed" in navigator("measure", "--check")
    assert not (user / "results").exists()
    navigator("measure")
    assert "Report: " in navigator("report")
    assert (user / "results/first/report.html").is_file()
