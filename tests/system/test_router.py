# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router in the middle: a campaign at its devices, proven by packets, and nothing is left of it."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from ansible_collections.offload.lab.tests.support import CHECKOUT
from ansible_collections.offload.lab.tests.system.lab import Lab, changed, left_behind, traces
from ansible_collections.offload.lab.tests.system.pods import unlike

pytestmark = pytest.mark.nightly
CAMPAIGN = CHECKOUT / "playbooks/campaigns/router.yml"
SHORT = {"blocks": 1, "duration": 1, "confirm": 0}


@pytest.fixture(scope="module")
def router(lab_packages_required):
    before = traces()
    lab = Lab("systestr", forwarder="routed")
    lab.clear()
    lab.up()
    yield lab
    lab.down()
    assert left_behind(before, lab.name) == {}


@pytest.fixture(scope="module")
def campaign(router, tmp_path_factory):
    """Return the folder of a campaign, after which all hosts are as they were."""
    folder = tmp_path_factory.mktemp("results")
    keys = {"campaign_file": str(CAMPAIGN), "campaign_overrides": SHORT}
    before = router.state()
    router.play("measure report", results_dir=str(folder), **keys)
    assert unlike(before, router.state()) == []
    return folder / "router"


def trials_of(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def test_what_acts_at_the_forwarder_is_seen_in_its_packets(campaign):
    verdicts = json.loads((campaign / "analysis.json").read_text())["verdicts"]
    towards_client = {row["factor"]: row for row in verdicts if row["device"] == "underlay0"}
    assert {row["end"] for row in verdicts} == {"forwarder"}
    for factor in ("rx-udp-gro-forwarding", "rx-gro-list"):
        row = towards_client[factor]
        assert (row["verdict"], row["proof"]) == ("applied", "udp_in super_share")
        assert row["share_on"] > 0.5 > row["share_off"]
    assert towards_client["gro"]["proof"] == "in super_share"
    assert towards_client["lro"]["verdict"] == "unsupported"


def test_super_packets_leave_by_the_other_device(campaign):
    longest = {}
    for trial in trials_of(campaign):
        sample = trial["evidence"]["packets"]["forwarder"]["underlay1"]
        longest[trial["profile"]] = sample["udp_out"]["longest"]
    assert longest["all_off"] <= 1500 < longest["rx-udp-gro-forwarding=on"]


def test_trials_know_the_forwarder_and_the_report_what_must_not_be_on(campaign):
    trials = trials_of(campaign)
    assert trials and not any(trial["error"] for trial in trials)
    assert {trial["forwarder"] for trial in trials} == {"forwarder"}
    assert {trial["path"] for trial in trials} == {"routed"}
    assert (
        "At the forwarder lro must not be on while packets are forwarded"
        in (campaign / "report.md").read_text()
    )


def test_what_is_recommended_is_applied_at_the_forwarder_and_reverted(router, tmp_path):
    """Each host gets the settings of its own side, and keeps them until they are reverted."""
    drivers = {host: {"underlay0": "veth"} for host in router.hosts}
    recommended = {
        "campaign": "router",
        "drivers": drivers,
        "client": {},
        "server": {},
        "forwarder": {"underlay": {"features": {"rx-udp-gro-forwarding": True}}},
    }
    settings = tmp_path / "recommended.yml"
    settings.write_text(yaml.safe_dump({"offload_lab_recommended": recommended}))
    before = router.state()
    foreseen = router.play("apply", "--check", "-e", f"@{settings}")
    assert unlike(before, router.state()) == []
    done = changed(router.play("apply", "-e", f"@{settings}"))
    assert done["forwarder"] > 0 and changed(foreseen)["forwarder"] > 0
    assert done["node1"] == done["node2"] == 0
    different = unlike(before, router.state())
    assert different and all("forwarder" in str(spot) for spot in different)
    assert changed(router.play("apply", "-e", f"@{settings}"))["forwarder"] == 0
    router.play("revert")
    assert unlike(before, router.state()) == []


def test_lro_on_a_device_that_forwards_would_be_refused(router):
    """No device here has LRO: what preflight reads of the forwarder is there."""
    output = router.play("preflight")
    assert re.search(r"forwarder +forwarding +ok +LRO is off", output)


def test_a_campaign_of_a_forwarder_needs_one(tmp_path):
    keys = {"campaign_file": str(CAMPAIGN), "results_dir": str(tmp_path)}
    lab = Lab("systestr0")
    output = lab.play("site", rc=2, **keys)
    assert "the inventory has none" in " ".join(output.split())
    assert not list(tmp_path.iterdir())
