# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed at task boundaries: the nodes are as before by themselves, within the
switch's minutes.

OFFLOAD_LAB_FAULTS=all takes every boundary of the playbooks, otherwise a handful. The whole goes on
where it was ended (tests/output/boundaries has what was struck); OFFLOAD_LAB_FAULTS_SECONDS says
after how many seconds it ends.
"""

from __future__ import annotations

import os

import pytest

from ansible_collections.offload.lab.tests.instruments.faults import boundaries
from ansible_collections.offload.lab.tests.system.lab import Lab, differences, left_behind, traces
from ansible_collections.offload.lab.tests.system.pods import ENDS, make_pod

pytestmark = (
    pytest.mark.nightly
)  # each strike waits for the switch, and the machine must be its own
ALL = os.environ.get("OFFLOAD_LAB_FAULTS") == "all"
LABS = 5 if ALL else 1  # while one waits for its switch, the others are struck
# The first task after the visits of a block: the node has the profile of the last one.
VISITED = "See how far the campaign is"
# Where a guard could be missing: when the servers run, between snapshot and change, after a change, and
# before the node is restored.
MEASURE = (
    "Check the ends of all paths",
    "Apply the profile",
    VISITED,
    "Restore the node, forget",
)
# On an existing network, also when nothing is changed yet, and when the node was restored.
OWN = (
    "Make the paths of what the nodes found",
    *MEASURE,
    "Complete the manifest",
)
APPLY = ("Keep the originals",)
RESTORE = ("Restore the node, forget",)
SETTINGS = {
    "underlay": {"features": {"gro": True}, "rps": {"cpus": "all"}},
    "tenant": {"features": {"gro": True}},
}
DRIVERS = {node: {"underlay0": "veth"} for node in ("node1", "node2")}
APPLIED = {
    "recommended": {"campaign": "test", "client": SETTINGS, "server": SETTINGS, "drivers": DRIVERS}
}
# The MTU is not the lab's: it is changed, too.
CAMPAIGN = {
    "paths": ["physical"],
    "mtus": [1500],
    "factors": ["tso", "tunnel_csum"],
    "blocks": 1,
    "workloads": ["tcp_stream", "payload"],  # the server of the second runs for a campaign alone
    "duration": 1,
}


OWN_CAMPAIGN = {**CAMPAIGN, "paths": ["pods"], "mtus": [9000], "factors": ["tx", "gro"]}


@pytest.fixture
def pods(lab_packages_required):
    """Nodes without a lab. Each has a pod behind a tunnel as flannel makes it."""
    before = traces()
    pods_labs = [Lab(f"systestown{number}") for number in range(1, LABS + 1)]
    for lab in pods_labs:
        lab.clear()
        lab.play("nodes")
        for node in (1, 2):
            make_pod(lab, node)
    yield pods_labs
    for lab in pods_labs:
        lab.play("nodes_absent")
    assert [left_behind(before, lab.name) for lab in pods_labs] == [{}] * len(pods_labs)


@pytest.fixture(scope="module")
def labs(lab_packages_required):
    before = traces()
    bound_labs = [Lab(f"systestbound{number}") for number in range(1, LABS + 1)]
    for lab in bound_labs:
        lab.down()
        lab.up()
    yield bound_labs
    for lab in bound_labs:
        lab.down()
    assert [left_behind(before, lab.name) for lab in bound_labs] == [{}] * len(bound_labs)


def chosen(reached, names):
    """Return the boundaries to strike at, from all boundaries of a whole run: the first before each
    of the
    tasks ``names``.
    """
    tasks = [line.partition(" ")[2].split(" : ")[-1] for line in reached]
    if ALL:  # tasks that come again, in another visit, after those that come for the first time
        order = sorted(range(len(tasks)), key=lambda number: tasks.index(tasks[number]) != number)
        return [reached[number] for number in order]
    return [
        next(line for line, task in zip(reached, tasks) if task.startswith(name)) for name in names
    ]


def strike(run, number, accepted):
    """Kill a run (the arguments of boundaries.play) at one boundary; return what is wrong
    afterwards.
    """
    status, _reached, output = boundaries.play(*run, kill_at=number)
    if status != -9:
        return [f"not killed, exit status {status}: {output[-3000:]}"]
    changes = boundaries.settle(run[0], accepted)
    boundaries.tidy(run[0])
    return changes


def measuring(folder, name):
    return {
        "results_dir": str(folder),
        "evidence_seconds": 0,
        "campaign": dict(CAMPAIGN, name=name),
    }


def test_measure(labs, tmp_path):
    status, reached, output = boundaries.play(
        labs[0], tmp_path, "measure", measuring(tmp_path, "whole")
    )
    assert status == 0, output[-3000:]

    def one(lab, number):
        return strike(
            (lab, tmp_path, "measure", measuring(tmp_path, f"boundary{number}")),
            number,
            [before[lab.name]],
        )

    before = {lab.name: boundaries.state(lab) for lab in labs}
    assert boundaries.strike_all(labs, "measure", chosen(reached, MEASURE), one) == []


def test_measure_on_a_network_that_is_there_already(pods, tmp_path):
    def asked(name):
        campaign = dict(OWN_CAMPAIGN, name=name)
        return {**measuring(tmp_path, name), "campaign": campaign, "ends": ENDS}

    before = {lab.name: boundaries.state(lab) for lab in pods}
    status, reached, output = boundaries.play(pods[0], tmp_path, "measure", asked("whole"))
    assert status == 0, output[-3000:]

    def one(lab, number):
        run = (lab, tmp_path, "measure", asked(f"boundary{number}"))
        return strike(run, number, [before[lab.name]])

    assert boundaries.strike_all(pods, "measure-own", chosen(reached, OWN), one) == []


def test_apply(labs, tmp_path):
    """Either nothing was applied, or all of it, and then revert takes it back."""
    before = {}
    applied = {}
    for lab in labs:
        before[lab.name] = boundaries.state(lab)
        status, reached, output = boundaries.play(lab, tmp_path, "apply", APPLIED)
        assert status == 0, output[-3000:]
        applied[lab.name] = boundaries.state(lab)
        lab.play("revert")

    def one(lab, number):
        outcome = strike(
            (lab, tmp_path, "apply", APPLIED), number, [before[lab.name], applied[lab.name]]
        )
        lab.play("revert")
        return outcome + list(differences(before[lab.name], boundaries.state(lab)))

    assert boundaries.strike_all(labs, "apply", chosen(reached, APPLY), one) == []


def test_restore(labs, tmp_path):
    """Of a campaign that was killed, before its switch fires."""
    _status, reached, _output = boundaries.play(labs[0], tmp_path, "restore", {})

    def one(lab, number):
        campaign = measuring(tmp_path, f"restored{number}")
        boundaries.play(lab, tmp_path, "measure", campaign, kill_task=VISITED)
        return strike((lab, tmp_path, "restore", {}), number, [before[lab.name]])

    before = {lab.name: boundaries.state(lab) for lab in labs}
    assert boundaries.strike_all(labs, "restore", chosen(reached, RESTORE), one) == []
