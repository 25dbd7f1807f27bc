# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An XDP program, a sysctl, a command of the user and TSO together: measured, proven and restored on the
single-host lab and over SSH, also after SIGKILL; applied, drifted and taken back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT, NODE_PYTHON, environment
from ansible_collections.offload.lab.tests.system import ssh_nodes
from ansible_collections.offload.lab.tests.system.lab import differences
from ansible_collections.offload.lab.tests.system.pods import lab_of_pods, unlike

pytestmark = pytest.mark.nightly  # minutes each

KEY = "net.ipv4.tcp_limit_output_bytes"
COMMANDS = {
    "output_limit": {
        "set": ["sysctl", "-w", KEY + "={value}"],
        "read": ["sysctl", "-n", KEY],
        "levels": {"small": 262144, "large": 3194304},
    }
}
ALLOWED = ["node1", "node2", "hx1", "hx2"]
FACTORS = [
    {"name": "xdp", "levels": ["off", "generic"]},
    {"name": "tcp_rmem", "levels": [4000000, 7000000]},
    {"name": "output_limit", "kind": "command", "levels": ["small", "large"]},
    {"name": "tso", "devices": ["underlay"]},
]
CAMPAIGN = {
    "name": "kinds",
    "design": "one_at_a_time",
    "paths": ["physical"],
    "factors": FACTORS,
    "workloads": ["tcp_stream"],
    "blocks": 2,
    "duration": 0.25,
    "confirm": 0,
}
# What one of these kinds set, as a node shows it.
READS = (
    f"sysctl -n {KEY} net.ipv4.tcp_rmem; ip -d link show underlay0 | grep -c offload_lab;"
    " ethtool -k underlay0 | grep ^tcp-seg"
)
SETTINGS = {
    "underlay": {"xdp": {"program": "generic"}, "features": {"gro": True}},
    "node": {
        "tcp_rmem": {"max": 7000000},
        "command": {"output_limit": "large"},
    },
}
VARIABLES = {"commands": COMMANDS, "allow_commands": ALLOWED}


def settings(lab):
    """Return what the kinds may change, of both nodes."""
    return [lab.inside(me, "sh", "-c", READS) for me in (1, 2)]


def unproven(folder, name="kinds"):
    """Return the factors that are not proven at the client, and the errors of trials."""
    analysis = json.loads((folder / name / "analysis.json").read_text())
    proven = {}
    for row in analysis["verdicts"]:
        if row["verdict"] in ("applied", "changed_others"):
            proven.setdefault(row["factor"], set()).add(row["end"])
    trials = map(json.loads, (folder / name / "trials.jsonl").read_text().splitlines())
    failed = [trial["error"] for trial in trials if trial["error"]]
    names = [factor["name"] for factor in FACTORS]
    return [name for name in names if "client" not in proven.get(name, ())], failed


@pytest.fixture
def restored(lab):
    yield lab
    lab.play("restore revert")


def test_a_campaign_varies_and_proves_all_of_them(restored, tmp_path):
    lab = restored
    before = lab.state()
    lab.play("measure report", campaign=CAMPAIGN, results_dir=str(tmp_path), **VARIABLES)
    assert list(differences(before, lab.state())) == []
    assert unproven(tmp_path) == ([], [])


def test_a_host_that_allows_no_commands_is_refused_before_any_change(restored, tmp_path):
    lab = restored
    before = lab.state()
    output = lab.play(
        "measure",
        rc=2,
        campaign=CAMPAIGN,
        results_dir=str(tmp_path),
        commands=COMMANDS,
        allow_commands=["node1"],
    )
    assert "node2: command output_limit: commands are not allowed on this host." in output
    assert list(differences(before, lab.state())) == []


def until(condition, seconds):
    """Wait until a condition holds; return whether it came to hold."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_the_nodes_restore_themselves_after_sigkill(restored, tmp_path):
    lab = restored
    before = settings(lab)
    profiles = {"before": {}, "after": {factor["name"]: last(factor) for factor in FACTORS}}
    variables = {
        "campaign": {**CAMPAIGN, "design": "profiles", "profiles": profiles, "duration": 5},
        "results_dir": str(tmp_path),
        "heartbeat_seconds": 5,
        **VARIABLES,
    }
    arguments = {f"offload_lab_{name}": value for name, value in variables.items()}
    process = subprocess.Popen(
        [
            *("ansible-playbook", "playbooks/measure.yml", "-e", json.dumps(arguments)),
            *("-e", f"ansible_python_interpreter={NODE_PYTHON}"),
        ],
        cwd=CHECKOUT,
        env=environment(OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES="2"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        changed = until(lambda: all_changed(before, settings(lab)), 240)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert changed, settings(lab)
    assert until(lambda: settings(lab) == before, 180), (before, settings(lab))


def last(factor):
    """Return the last level of a factor."""
    return factor.get("levels", ["off", "on"])[-1]


def all_changed(before, now):
    """Return whether the command, the sysctl and the program differ at both nodes."""
    pairs = [
        pair
        for old, new in zip(before, now)
        for pair in zip(old.splitlines()[:3], new.splitlines()[:3])
    ]
    return all(old != new for old, new in pairs)


def test_applied_drifted_and_taken_back(restored, tmp_path):
    lab = restored
    before = settings(lab)
    state = lab.state()
    drivers = {node: {"underlay0": "veth"} for node in ("node1", "node2")}
    recommended = {"drivers": drivers, "client": SETTINGS, "server": SETTINGS}
    path = tmp_path / "recommended.yml"
    path.write_text(yaml.safe_dump({"offload_lab_recommended": recommended}))
    file = ("-e", f"@{path}")
    lab.play("apply", *file, **VARIABLES)
    assert all_changed(before, settings(lab)), settings(lab)
    again = lab.play("apply", *file, **VARIABLES)
    assert "changed=0" in again, again
    assert "output_limit" not in lab.play("drift")
    lab.inside(1, "sysctl", "-w", f"{KEY}=300000")
    lab.inside(2, "ip", "link", "set", "dev", "underlay0", "xdpgeneric", "off")
    drifted = " ".join(lab.play("drift").split())
    assert "output_limit" in drifted and "300000" in drifted, drifted
    assert "xdp" in drifted, drifted
    lab.inside(1, "sysctl", "-w", f"{KEY}=3194304")
    lab.play("revert")
    assert settings(lab) == before
    assert list(differences(state, lab.state())) == []


def hosts(me):
    """Return an end on the underlay."""
    return [{"name": "hosts", "address": f"198.18.0.{3 - me}"}]


def test_a_campaign_over_ssh(lab_packages_required, tmp_path):
    campaign = {**CAMPAIGN, "paths": ["hosts"], "mtus": [9000]}
    arguments = {f"offload_lab_{name}": value for name, value in VARIABLES.items()}
    with lab_of_pods("systestkinds") as pods, ssh_nodes.over_ssh(
        pods, hosts, tmp_path / "ssh"
    ) as inventory:
        before = pods.state()
        for playbook in ("measure", "report"):
            ssh_nodes.play(
                playbook,
                inventory,
                tmp_path / "results",
                offload_lab_campaign=campaign,
                **arguments,
            )
        ssh_nodes.close(pods)
        assert unlike(before, pods.state()) == []
    assert unproven(tmp_path / "results") == ([], [])
