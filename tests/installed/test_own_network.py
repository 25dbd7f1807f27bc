# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four commands of docs/your-own-network.md from the installed collection: two hosts over SSH with a
password of sudo, in each a pod behind flannel's devices, and nothing else in the inventory.
"""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.offload.lab.tests.installed.two_hosts import NODES, PASSWORD
from ansible_collections.offload.lab.tests.support import CHECKOUT
from ansible_collections.offload.lab.tests.system.pods import commands, unlike

pytestmark = pytest.mark.nightly  # installs packages on two hosts, and measures
DIGEST = (CHECKOUT / "tests/instruments/faults/digest.py").read_text()
CAMPAIGN = """\
name: pods
paths: [pods]
mtus: [9000]
factors: [tx, {name: tso, needs: [tx]}, gro]
workloads: [tcp_stream]
blocks: 4
duration: 1
"""
SETTINGS = {"tunnel": {"features": {"rx": False}}, "tenant": {"features": {"tso": False}}}
WANTED = {
    "campaign": "pods",
    "drivers": {node: {"underlay0": "veth"} for node in NODES},
    "client": SETTINGS,
    "server": SETTINGS,
}
OUTPUT = CHECKOUT / "tests/output/own_network"  # what each command printed
PACKAGES = ("ethtool", "iperf3", "iputils-ping")


@pytest.fixture(scope="module")
def pods(hosts):
    for number, node in enumerate(NODES, 1):
        hosts.inside(node, "apt-get", "update", "--quiet")
        hosts.inside(node, "apt-get", "install", "--yes", "--quiet", *PACKAGES)
        hosts.inside(node, "systemctl", "disable", "--now", "iperf3", rc=None)
        for command in commands(number):
            hosts.inside(node, *command)
    return hosts


@pytest.fixture
def user(pods, play, tmp_path):
    """Return what runs a command of the page as the user does."""
    inventory = pods.inventory()
    for host in inventory["lab_nodes"]["hosts"].values():
        del host["offload_lab_underlay_address"]
        host["offload_lab_ends"] = [{"name": "pods", "netns": "pod"}]  # the address is found
    inventory["lab_nodes"]["vars"]["offload_lab_engine"] = "auto"
    (tmp_path / "my_hosts.yml").write_text(yaml.safe_dump({"all": {"children": inventory}}))
    (tmp_path / "pods.yml").write_text(CAMPAIGN)
    (tmp_path / "password").write_text(PASSWORD)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    options = ("-i", "my_hosts.yml", "--become-password-file", "password")

    def run(playbook, *arguments):
        status, output = play(playbook, *options, *arguments, timeout=900)
        (OUTPUT / f"{playbook}.txt").write_text(f"$ {playbook} {' '.join(arguments)}\n{output}")
        assert status == 0, output[-4000:]
        return output

    return run


def state(hosts):
    return {node: json.loads(hosts.inside(node, "python3", "-I", "-c", DIGEST)) for node in NODES}


def test_from_two_hosts_to_a_setting_that_stays(pods, user, tmp_path):
    before = state(pods)
    assert "flannel.1" in user("discover")
    overrides = {"paths": ["pods"], "mtus": [9000], "blocks": 2, "duration": 1}
    extra_vars = json.dumps({"offload_lab_campaign_overrides": overrides})
    verdict = user("integrity", "-e", extra_vars)
    assert "over pods at MTU 9000" in verdict
    assert "Broken over" not in verdict and "Suspect over" not in verdict
    user("measure", "-e", "offload_lab_campaign_file=pods.yml")
    assert unlike(before, state(pods)) == []
    user("report", "-e", "offload_lab_campaign_file=pods.yml")
    plan = json.loads((tmp_path / "results/pods/plan.json").read_text())
    trials = (tmp_path / "results/pods/trials.jsonl").read_text().splitlines()
    assert plan["own_paths"]["pods"]["vni"] is not None
    assert not [trial for trial in map(json.loads, trials) if trial["error"]]
    # What a busy machine recommends is not foreseen: the settings are given.
    (tmp_path / "wanted.yml").write_text(yaml.safe_dump({"offload_lab_recommended": WANTED}))
    user("apply", "-e", "@wanted.yml")
    assert "rx-checksumming: off" in pods.inside("node2", "ethtool", "-k", "flannel.1")
    user("revert")
    assert unlike(before, state(pods)) == []
