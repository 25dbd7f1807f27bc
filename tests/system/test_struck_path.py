# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A check of a path below whose tunnel is a card that leaves checksums unfinished: the path is dead as
the hosts are found; where the hosts make theirs in software, it stops answering under a profile.
"""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.tests.system.pods import lab_of_pods, unlike

ENDS = [{"name": "pods", "netns": "pod"}]
CAMPAIGN = {
    "name": "struck",
    "design": "integrity",
    "control_visits": 1,
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["tx", "gro"],
    "workloads": ["payload"],
    "blocks": 2,
    "duration": 1,
}
DEAD = {**CAMPAIGN, "name": "dead", "blocks": 1}
DEVICES = {"eth0": "pod", "vethpod": None, "cni0": None, "flannel.1": None, "underlay0": None}


@pytest.fixture(name="lab", scope="module")
def _lab(lab_packages_required):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OFFLOAD_LAB_NIC", "checksum_unfilled:1:tx")
        with lab_of_pods("systeststruck") as lab:
            yield lab


def set_checksums(lab, state):
    """Set on all devices of both nodes whether the card makes the checksums."""
    for node in (1, 2):
        for device, netns in DEVICES.items():
            lab.inside(node, "ethtool", "-K", device, "tx", state, netns=netns)


@pytest.fixture
def pods(lab):
    set_checksums(lab, "off")
    yield lab
    set_checksums(lab, "on")


def test_a_dead_path_is_checked_and_the_hosts_are_as_before(lab, tmp_path):
    """Neither TCP nor UDP passes as the hosts are found."""
    before = lab.state()
    output = lab.play("measure report", ends=ENDS, campaign=DEAD, results_dir=str(tmp_path))
    assert unlike(before, lab.state()) == []
    assert "TCP does not pass to 10.244.2.5 port 12868 from namespace pod" in output
    records = (tmp_path / "dead/trials.jsonl").read_text().splitlines()
    errors = {trial["profile"]: trial["error"] for trial in map(json.loads, records)}
    dead = {profile for profile, error in errors.items() if error}
    assert len(errors) == 5 and dead == {"tx=on", "all_on", "as_found"}, errors


def test_a_path_that_stops_answering_is_an_answer_and_the_campaign_goes_on(pods, tmp_path):
    before = pods.state()
    pods.play("measure report", ends=ENDS, campaign=CAMPAIGN, results_dir=str(tmp_path))
    assert unlike(before, pods.state()) == []
    records = (tmp_path / "struck/trials.jsonl").read_text().splitlines()
    trials = list(map(json.loads, records))
    visits = {(trial["block"], trial["profile"]) for trial in trials}
    assert len(visits) == 10  # of five profiles in two blocks
    silent = {trial["profile"] for trial in trials if trial.get("path_stopped")}
    assert silent == {"tx=on", "all_on"}, [(trial["profile"], trial["error"]) for trial in trials]
    for trial in trials:
        stopped = trial.get("path_stopped", "")
        assert (trial["error"] == "the path stopped answering") == ("did not answer" in stopped)
    report = (tmp_path / "struck/report.md").read_text()
    assert "the path stopped answering in 4 of 4 trials" in report


def test_a_strike_of_the_server_alone_is_the_result_of_its_visit(pods, tmp_path):
    """The lying card is the server's. Only the server is impatient: it restores itself, and the path
    answers again before the client's switch notices.
    """
    alone = {
        **CAMPAIGN,
        "blocks": 1,
        "factors": ["tx"],
        "pairs": [{"client": "node2", "server": "node1"}],
    }
    patience = "{{ 1.2 if inventory_hostname == 'node1' else 30 }}"
    pods.play(
        "measure", ends=ENDS, campaign=alone, harm_patience=patience, results_dir=str(tmp_path)
    )
    records = (tmp_path / "struck/trials.jsonl").read_text().splitlines()
    trials = {trial["profile"]: trial for trial in map(json.loads, records)}
    assert {"as_found", "all_off", "all_on"} <= set(trials)
    for profile, trial in trials.items():
        stopped = "10.244.2.5 did not answer" in trial.get("path_stopped", "")
        assert stopped == (profile == "all_on"), trial
        assert (trial["error"] == "the path stopped answering") == stopped


@pytest.fixture
def one_in_ten(lab_packages_required, monkeypatch):
    monkeypatch.setenv("OFFLOAD_LAB_NIC", "checksum_unfilled:0.1:tx")
    with lab_of_pods("systesttenth") as lab:
        yield lab


@pytest.mark.nightly
def test_a_fault_in_one_of_ten_packets_does_not_end_the_campaign(one_in_ten, tmp_path):
    """The switch may see no answer for a while, under any profile that leaves checksums to the card."""
    one_in_ten.play("measure report", ends=ENDS, campaign=CAMPAIGN, results_dir=str(tmp_path))
    records = (tmp_path / "struck/trials.jsonl").read_text().splitlines()
    trials = list(map(json.loads, records))
    assert len({(trial["block"], trial["profile"]) for trial in trials}) == 10
    dead = {trial["profile"] for trial in trials if trial["error"]}
    assert dead == {"as_found", "tx=on", "all_on"}, [
        (trial["profile"], trial["error"]) for trial in trials
    ]
    assert "switch tx off" in (tmp_path / "struck/report.md").read_text()
