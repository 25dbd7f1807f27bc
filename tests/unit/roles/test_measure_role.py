# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role measure from plan to confirmation on nodes that only pretend: killed in the confirmation, it
goes on as planned.

The collection is copied, and the modules that touch a node are replaced by some that answer
immediately. What decides, records and shows is the real thing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import time

import pytest

from ansible_collections.offload.lab.tests.support import (
    BIN,
    CHECKOUT,
    NODE_PYTHON,
    environment,
    run,
)

ANSWERS = {
    "ethtool": {"devices": {}},
    "probe": {"token": "x"},
    "netserver": {"token": "x"},
    "manifest_info": {
        "host": {"sysctls": {}},
        "links": {},
        "ovs": {},
        "devices": {},
        "kernel_log": [],
    },
    "ethtool_info": {"devices": {}, "kernel_log": [], "restore": []},
    "snapshot": {"path": "snapshot.json"},
    **{name: {} for name in ("restore", "dead_man_switch", "link", "path_check_info")},
}
ANSWER = """#!/usr/bin/python
# WANT_JSON
import json
print(json.dumps(%r))
"""
VISIT = """#!/usr/bin/python
import time
from ansible.module_utils.basic import AnsibleModule
KEYS = ("cells", "campaign", "collect", "spool", "chunk", "probe", "watch", "sampling", "reach", "engines",
        "forwarder", "token")
module = AnsibleModule(argument_spec={key: {"type": "raw"} for key in KEYS})
rows = []
for cell in module.params["cells"] or []:
    raw = "THROUGHPUT=9000.00\\nTHROUGHPUT_UNITS=10^6bits/s\\nELAPSED_TIME=1.00\\n"
    stream = {"netns": None, "argv": ["netperf", "-t", cell["workload"]["test"]], "rc": 0, "raw": raw, "stderr": "",
              "started": 1.0, "finished": 2.0}
    rows.append({"id": cell["id"], "pair": cell.get("pair"), "started": time.time(), "finished": time.time(),
                 "error": None, "streams": [stream]})
    if cell["id"].endswith(("b01-v02-c001", "b02-v03-c002")):
        rows[-1]["clock_jump_s"] = 2.0
module.exit_json(changed=False, cells=rows, left={}, spooled=None)
"""
NOMINATE = """

def nominate(plan, trials):
    return [{"role": "chosen", "name": "tso=on,gro=on", "levels": {"tso": "on", "gro": "on"}}]
"""
ASKED = """#!/usr/bin/python
# WANT_JSON
import json, sys
with open(%r, "a") as asked:
    print(json.dumps(json.load(open(sys.argv[1]))["settings"]), file=asked)
print(json.dumps({"changed": False, "devices": {}}))
"""
NO_PROBE = """#!/usr/bin/python
# WANT_JSON
import json, sys
second = json.load(open(sys.argv[1]))["address"] == "198.18.0.2"
print(json.dumps({"failed": True, "msg": "no probe"} if second else {"changed": False, "token": "x"}))
"""
PLAY = [
    {"hosts": "all", "gather_facts": False, "connection": "local", "roles": ["offload.lab.measure"]}
]
CAMPAIGN = {
    "name": "x",
    "duration": 1,
    "paths": ["physical"],
    "design": "one_at_a_time",
    "factors": ["tso", "gro"],
    "blocks": 1,
    "confirm": 1,
}


class Pretended:
    """Two nodes that answer immediately, and the campaign on them."""

    def __init__(self, folder):
        self.folder = folder
        copy = folder / "ansible_collections/offload/lab"
        for name in ("plugins", "roles", "meta"):
            shutil.copytree(CHECKOUT / name, copy / name)
        shutil.copy(CHECKOUT / "galaxy.yml", copy)
        for name, answer in ANSWERS.items():
            (copy / f"plugins/modules/{name}.py").write_text(ANSWER % {**answer, "changed": False})
        (copy / "plugins/modules/visit.py").write_text(VISIT)
        with open(copy / "plugins/plugin_utils/_analysis/nominate.py", "a") as stream:
            stream.write(NOMINATE)
        (folder / "play.yml").write_text(json.dumps(PLAY))
        self.argv = [
            str(BIN / "ansible-playbook"),
            "-i",
            str(folder / "hosts.yml"),
            str(folder / "play.yml"),
        ]
        self.variables = {
            "ANSIBLE_COLLECTIONS_PATH": f"{folder}:{sysconfig.get_paths()['purelib']}"
        }

    def results(self, name, **changed):
        """Let the campaign, with other keys where they are ``changed``, write to the folder of this
        name.
        """
        self.results_dir = self.folder / name
        nodes = {
            f"node{number}": {
                "offload_lab_underlay_address": f"198.18.0.{number}",
                "offload_lab_endpoints": {"physical": {"address": f"198.18.0.{number}"}},
            }
            for number in (1, 2)
        }
        (self.folder / "hosts.yml").write_text(
            json.dumps(
                {
                    "all": {
                        "hosts": nodes,
                        "vars": {
                            "ansible_python_interpreter": str(NODE_PYTHON),
                            "offload_lab_campaign": {**CAMPAIGN, **changed},
                            "offload_lab_results_dir": str(self.results_dir),
                            "offload_lab_uplink_device": "underlay0",
                            "offload_lab_devices": {
                                "underlay": [{"name": "underlay0"}],
                                "tenant": [],
                                "tunnel": [],
                                "host": [],
                            },
                            "offload_lab_encapsulation": 50,
                            "__offload_lab_lab": {"links": {"inner": [], "outer": []}},
                            "offload_lab_snapshot_file": str(self.folder / "snapshot"),
                            "offload_lab_dead_man_minutes": 0,
                        },
                    }
                }
            )
        )

    def trials(self):
        record = self.results_dir / "x/trials.jsonl"
        return (
            [json.loads(line) for line in record.read_text().splitlines()]
            if record.exists()
            else []
        )

    def killed_at(self, count):
        """Run until ``count`` trials are recorded, and kill the controller with all its workers."""
        process = subprocess.Popen(
            self.argv,
            env=environment(**self.variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 300
        while len(self.trials()) < count and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_an_end_that_cannot_be_prepared_is_the_only_error(tmp_path):
    campaign = Pretended(tmp_path)
    campaign.results("alone")
    (tmp_path / "ansible_collections/offload/lab/plugins/modules/probe.py").write_text(NO_PROBE)
    output = run(campaign.argv, cwd=tmp_path, rc=2, **campaign.variables)
    failed = [line for line in output.splitlines() if line.startswith(("fatal:", "failed:"))]
    assert len(failed) == 1 and "[node2]" in failed[0], output[-3000:]
    assert campaign.trials() == []


@pytest.mark.nightly  # test_steps.py shows it for each trial, without Ansible; two jobs do, with it
def test_a_campaign_killed_in_its_confirmation_goes_on_with_the_same_visits(tmp_path):
    campaign = Pretended(tmp_path)
    campaign.results("killed")
    campaign.killed_at(11)
    first = campaign.trials()
    decided = (tmp_path / "killed/x/decisions.jsonl").read_bytes()
    assert 11 <= len(first) < 19
    run(campaign.argv, cwd=tmp_path, **campaign.variables)
    assert (tmp_path / "killed/x/decisions.jsonl").read_bytes() == decided
    all_trials = campaign.trials()
    plan = json.loads((tmp_path / "killed/x/plan.json").read_text())
    assert all_trials[: len(first)] == first
    assert [
        trial["id"]
        for trial in all_trials
        if not trial.get("again") and trial.get("part") != "confirm"
    ] == [cell["id"] for visit in plan["visits"] for cell in visit["cells"]]
    # Four visits and three of the confirmation, two cells each, a check of the payload at each of these three, and what
    # the clock spoilt again.
    assert len({trial["id"] for trial in all_trials}) == len(all_trials) == 19
    assert [trial["again"][-12:] for trial in all_trials if trial.get("again")] == [
        "b01-v02-c001",
        "b02-v03-c002",
    ]
    assert {trial["profile"] for trial in all_trials if trial.get("part") == "confirm"} == {
        "all_off",
        "tso=on,gro=on",
    }


@pytest.mark.nightly  # takes its whole budget; test_rules.py finds a name that hides the profiles
def test_the_confirmation_after_a_time_budget_has_its_profiles(tmp_path):
    campaign = Pretended(tmp_path)
    campaign.results("budget", blocks=None, time_budget="60 s")
    settings_asked = tmp_path / "asked"
    modules = tmp_path / "ansible_collections/offload/lab/plugins/modules"
    (modules / "ethtool.py").write_text(ASKED % str(settings_asked))
    run(campaign.argv, cwd=tmp_path, **campaign.variables)
    decided = (tmp_path / "budget/x/decisions.jsonl").read_text().splitlines()
    spent = json.loads(decided[0])
    assert spent["made"] and max(trial["block"] for trial in campaign.trials()) > 3
    confirmed = {trial["profile"] for trial in campaign.trials() if trial.get("part") == "confirm"}
    assert confirmed == {"all_off", "tso=on,gro=on"}
    assert all(map(json.loads, settings_asked.read_text().splitlines()))  # each visit has settings


@pytest.mark.nightly  # 14 visits, for what test_interim.py shows without Ansible
def test_a_campaign_killed_at_its_look_ends_when_it_is_answered(tmp_path):
    campaign = Pretended(tmp_path)
    with open(
        tmp_path / "ansible_collections/offload/lab/plugins/plugin_utils/_live/refresh.py", "a"
    ) as stream:
        stream.write("\n\nSHARE = 1.0\n")  # pretended visits are too short for a live report
    campaign.results(
        "looked",
        design="on_off",
        factors=["tso"],
        blocks=12,
        until="answered",
        workloads=["tcp_stream"],
    )
    campaign.killed_at(9)
    campaign.killed_at(14)
    first = campaign.trials()
    run(campaign.argv, cwd=tmp_path, **campaign.variables)
    [look] = json.loads((tmp_path / "looked/x/decisions.jsonl").read_text())["made"]
    assert (look["block"], look["settled"], look["answered"]) == (7, ["all_on"], True)
    first_trials = [trial for trial in campaign.trials() if not trial.get("again")]
    assert len(first_trials) == 14 and campaign.trials()[: len(first)] == first
    assert "Running:" not in (tmp_path / "looked/x/report.html").read_text()
