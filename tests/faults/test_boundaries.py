# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed at task boundaries: the nodes are as before by themselves, within the switch's minutes.

OFFLOAD_LAB_FAULTS=all takes every boundary of the playbook, otherwise a handful.
"""
from __future__ import annotations

import os

import pytest

from ansible_collections.offload.lab.tests.faults import boundaries
from ansible_collections.offload.lab.tests.system.lab import Lab, differences, left_behind, traces

pytestmark = pytest.mark.nightly  # each strike waits for the switch, and the machine must be its own
ALL = os.environ.get("OFFLOAD_LAB_FAULTS") == "all"
# Where a guard could be missing: between snapshot and change, between restore and disarm.
MEASURE = ("See in the packets", "Disarm the dead man's switch")
APPLY = ("Keep the originals",)
RESTORE = ("Disarm the dead man's switch",)
SETTINGS = {"underlay": {"features": {"gro": True}, "rps": {"cpus": "all"}}, "tenant": {"features": {"gro": True}}}
CAMPAIGN = {"paths": ["physical"], "mtus": [9000, 1500], "factors": ["tso", "tunnel_csum"], "blocks": 1,
            "workloads": ["tcp_stream"], "duration": 1}


@pytest.fixture(scope="module")
def lab(lab_packages_required):
    before = traces()
    made = Lab("systestboundaries")
    made.down()
    made.up()
    yield made
    made.down()
    assert left_behind(before) == {}


def chosen(reached, names):
    """Return the numbers of the boundaries to strike at, from the lines of a run to its end: before tasks ``names``."""
    rows = [line.split(" ", 1) for line in reached]
    if ALL:
        return [int(number) for number, _name in rows]
    return sorted({next(int(number) for number, name in rows if name.split(" : ")[-1].startswith(task))
                   for task in names})


def strike(run, number, accepted):
    """Kill a run (the arguments of boundaries.play) at one boundary; return what is wrong afterwards, with its name."""
    status, reached, output = boundaries.play(*run, kill_at=number)
    assert status == -9, output[-3000:]
    lab, _folder, playbook, _variables = run
    found = boundaries.settle(lab, accepted)
    print(f"{playbook} {reached[-1]}: {found or 'as before'}", flush=True)
    boundaries.tidy(lab)
    return [(reached[-1], found)] if found else []


def test_measure(lab, tmp_path):
    variables = {"results_dir": str(tmp_path), "evidence_seconds": 0}
    whole = dict(CAMPAIGN, name="whole")
    status, reached, output = boundaries.play(lab, tmp_path, "measure", dict(variables, campaign=whole))
    assert status == 0, output[-3000:]
    before, wrong = boundaries.state(lab), []
    for number in chosen(reached, MEASURE):
        campaign = dict(CAMPAIGN, name=f"boundary{number}")
        wrong += strike((lab, tmp_path, "measure", dict(variables, campaign=campaign)), number, [before])
    assert wrong == []


def test_apply(lab, tmp_path):
    """Either nothing was applied, or all of it, and then revert takes it back."""
    variables = {"recommended": {"campaign": "test", "client": SETTINGS, "server": SETTINGS,
                                 "drivers": {node: {"underlay0": "veth"} for node in ("node1", "node2")}}}
    before, wrong = boundaries.state(lab), []
    status, reached, output = boundaries.play(lab, tmp_path, "apply", variables)
    assert status == 0, output[-3000:]
    applied = boundaries.state(lab)
    lab.play("revert")
    for number in chosen(reached, APPLY):
        wrong += strike((lab, tmp_path, "apply", variables), number, [before, applied])
        lab.play("revert")
        wrong += list(differences(before, boundaries.state(lab)))
    assert wrong == []


def test_restore(lab, tmp_path):
    """Of a campaign that was killed, before its switch fires."""
    variables = {"results_dir": str(tmp_path), "evidence_seconds": 0}
    before, wrong = boundaries.state(lab), []
    _status, reached, _output = boundaries.play(lab, tmp_path, "restore", {})
    for number in chosen(reached, RESTORE):
        campaign = dict(CAMPAIGN, name=f"restored{number}")
        killed = dict(variables, campaign=campaign)
        boundaries.play(lab, tmp_path, "measure", killed, kill_task="See in the packets")
        wrong += strike((lab, tmp_path, "restore", {}), number, [before])
    assert wrong == []
