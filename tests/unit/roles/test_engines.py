# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight finds the programs of each engine that a campaign needs, on nodes that pretend."""

from __future__ import annotations

import json
import shutil
import sysconfig

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, NODE_PYTHON, each_day, run

# A node that has every program but those that are absent.
READER = """#!/usr/bin/python
# WANT_JSON
import json, sys, time
asked = json.load(open(sys.argv[1]))["programs"]
link = {"name": "eth1", "mtu": 1500, "min_mtu": 68, "max_mtu": 9000, "up": True, "global": ["198.18.0.1/24"]}
print(json.dumps({"changed": False, "preflight": {
    "user": {"name": "root", "missing": []},
    "programs": {name: None if name in %r else "/usr/bin/" + name for name in asked},
    "links": {"eth1": link}, "features": {}, "management": [], "taken": [], "peers": [],
    "switch": {"datapath": "system", "refused": None}, "measuring": False, "clock": time.time()}}))
"""
PLAY = [
    {
        "hosts": "lab_nodes",
        "gather_facts": False,
        "connection": "local",
        "tasks": [
            {
                "import_role": {
                    "name": "offload.lab.common",
                    "tasks_from": "preflight",
                    "rolespec_validate": False,
                }
            },
            {"debug": {"msg": "chosen {{ __offload_lab_chosen_engine }}"}},
        ],
    }
]
CAMPAIGN = {
    "name": "x",
    "blocks": 6,
    "paths": ["physical"],
    "factors": ["tso"],
    "workloads": [{"name": "other", "test": "TCP_STREAM", "engine": "iperf3"}],
}


def preflight(folder, absent, rc, **variables):
    """Run the preflight of two nodes that lack these programs, and return its output."""
    copy = folder / "ansible_collections/offload/lab"
    for name in ("plugins", "roles", "meta"):
        shutil.copytree(CHECKOUT / name, copy / name)
    shutil.copy(CHECKOUT / "galaxy.yml", copy)
    (copy / "plugins/modules/preflight_info.py").write_text(READER % (absent,))
    (folder / "play.yml").write_text(json.dumps(PLAY))
    role_variables = {
        "underlay_device": "eth1",
        "underlay_mtu": 1500,
        "install_packages": False,
        "results_dir": str(folder),
        **variables,
    }
    nodes = {name: {"offload_lab_underlay_address": "198.18.0.1"} for name in ("node1", "node2")}
    inventory = {"lab_nodes": {"hosts": nodes}}
    (folder / "hosts.yml").write_text(json.dumps({"all": {"children": inventory}}))
    argv = ["ansible-playbook", "-i", folder / "hosts.yml", folder / "play.yml", "-e"]
    values = {f"offload_lab_{name}": value for name, value in role_variables.items()}
    values["ansible_python_interpreter"] = str(NODE_PYTHON)
    path = f"{folder}:{sysconfig.get_paths()['purelib']}"
    return run([*argv, json.dumps(values)], rc=rc, ANSIBLE_COLLECTIONS_PATH=path)


@pytest.mark.parametrize("required", each_day([True], [False, True]))
def test_a_workload_of_another_engine_needs_its_programs(tmp_path, required):
    output = preflight(tmp_path, ["iperf3"], 2, campaign=CAMPAIGN, campaign_required=required)
    assert "missing: iperf3. Install them" in output
    assert "missing: netperf" not in output


def test_auto_takes_the_engine_that_all_nodes_have(tmp_path):
    output = preflight(tmp_path, ["netperf", "netserver"], 0, engine="auto")
    assert "iperf3 makes the load" in output and "chosen iperf3" in output
    assert "all there" in output
