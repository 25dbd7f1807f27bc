# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths of a network that exists already, from what pretended nodes find to the plan that keeps
them.
"""

from __future__ import annotations

import json
import shutil
import sysconfig

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT, NODE_PYTHON, run

ANSWER = """#!/usr/bin/python
# WANT_JSON
import json, sys, time
asked = json.load(open(sys.argv[1]))
print(json.dumps({"changed": False, **(%s)}))
"""
LINK = {"name": "eth1", "mtu": 1500, "min_mtu": 68, "max_mtu": 9000, "up": True, "global": []}
READING = f"""{{"preflight": {{
    "user": {{"name": "root", "missing": []}}, "features": {{}}, "management": [], "taken": [], "peers": [],
    "programs": {{name: "/usr/bin/" + name for name in asked["programs"]}}, "links": {{"eth1": {LINK!r}}},
    "switch": {{"datapath": "system", "refused": None}}, "measuring": False, "clock": time.time()}}}}"""
WALKED = """{"paths": [{
    "name": "pods", "netns": "pod", "local": asked["ends"][0]["local"], "address": asked["ends"][0]["address"],
    "devices": [{"device": device, "kind": kind, "netns": netns, "mtu": mtu, "how": "the route"}
                for device, kind, netns, mtu in (("eth0", "veth", "pod", 1450), ("flannel.1", "vxlan", "", 1450),
                                                ("eth1", "physical", "", 1500))]}],
    "tunnels": [{"device": "flannel.1", "netns": "", "kind": "vxlan", "id": 1, "port": 8472}], "management": []}"""
MODULES = {"preflight_info": READING, "discover_info": WALKED, "ethtool_info": '{"devices": {}}'}
CAMPAIGN = {"name": "x", "blocks": 6, "factors": ["tso"]}
TASKS = [("common", "preflight"), ("common", "main"), ("measure", "plan")]


def underlay(number):
    return {
        "offload_lab_underlay_address": f"198.18.0.{number}",
        "offload_lab_underlay_device": "eth1",
        "offload_lab_underlay_mtu": 1500,
    }


def node(number):
    end = {"name": "pods", "netns": "pod", "local": f"10.244.{number}.5"}
    return {"offload_lab_ends": [{**end, "address": f"10.244.{3 - number}.5"}], **underlay(number)}


@pytest.mark.slow
def test_the_plan_has_the_paths_that_the_nodes_found(tmp_path):
    copy = tmp_path / "ansible_collections/offload/lab"
    for name in ("plugins", "roles", "meta"):
        shutil.copytree(CHECKOUT / name, copy / name)
    shutil.copy(CHECKOUT / "galaxy.yml", copy)
    for name, answer in MODULES.items():
        (copy / f"plugins/modules/{name}.py").write_text(ANSWER % answer)
    roles = [
        {"include_role": {"name": f"offload.lab.{role}", "tasks_from": tasks}}
        for role, tasks in TASKS
    ]
    play = {"hosts": "all", "gather_facts": False, "connection": "local", "tasks": roles}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    hosts = {"forward": {"offload_lab_forwarder_devices": ["eth1"], **underlay(3)}}
    groups = {
        "lab_forwarders": {"hosts": hosts},
        "lab_nodes": {"hosts": {"node1": node(1), "node2": node(2)}},
    }
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"children": groups}}))
    values = {
        "offload_lab_campaign": CAMPAIGN,
        "offload_lab_campaign_required": True,
        "offload_lab_results_dir": str(tmp_path / "results"),
        "ansible_python_interpreter": str(NODE_PYTHON),
    }
    argv = ["ansible-playbook", "-i", tmp_path / "hosts.yml", tmp_path / "play.yml"]
    path = f"{tmp_path}:{sysconfig.get_paths()['purelib']}"
    run([*argv, "-e", json.dumps(values)], ANSIBLE_COLLECTIONS_PATH=path)
    plan = json.loads((tmp_path / "results/x/plan.json").read_text())
    own_path = plan["own_paths"]["pods"]
    assert (plan["paths"], own_path["vni"], own_path["port"], own_path["mtu"]) == (
        ["pods"],
        1,
        8472,
        1450,
    )
    assert own_path["nodes"]["node2"]["end"] == {"netns": "pod", "address": "10.244.2.5"}
    assert plan["factors"][0]["devices"] == own_path["classes"] == ["underlay", "tenant", "tunnel"]
