# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state in which the hosts are, as a profile of a check of the payload."""

from __future__ import annotations

import random

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.integrity import verdicts
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.named import decide
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._request.fixed import with_as_found
from ansible_collections.offload.lab.plugins.plugin_utils._trials.payload import checks_of
from ansible_collections.offload.lab.tests.support import each_day
from ansible_collections.offload.lab.tests.unit.builders import payload_sentences

ASKED = {
    "name": "site",
    "design": "integrity",
    "control_visits": 1,
    "factors": ["tx", "rx", {"name": "tso", "needs": ["tx"]}, "gso", "gro"],
    "paths": ["physical"],
    "blocks": 4,
    "until": "named",
    "duration": 1,
    "workloads": ["payload"],
}
GROUPS = {
    "tx": "tx-checksum-ip-generic",
    "rx": "rx-checksumming",
    "tso": "tx-tcp-segmentation",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
}
LONG = {
    "tx": "tx-checksumming",
    "rx": "rx-checksumming",
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
}


def node(*off, fixed=()):
    """Return a node whose device has everything on but these."""
    features = {}
    for name, bit in GROUPS.items():
        state = {"active": name not in off, "fixed": name in fixed, "requested": None}
        features[LONG[name]] = state
        features[bit] = state
    return {"underlay": [{"name": "eth1"}]}, {"eth1": {"features": features}}


def plan(*nodes, **changed):
    campaign = read_campaign({**ASKED, **changed}, "test")
    return make_plan(with_as_found(campaign, nodes, None), "2026-01-05T08:00:00Z")


def checks(campaign_plan, broken_by, as_found):
    """Return the checks of a campaign: ``broken_by`` says of a profile's levels, and ``as_found`` of
    the hosts as they are, whether payload is in trouble.
    """
    trials = []
    for visit in campaign_plan["visits"]:
        as_found_visit = visit["profile"] == "as_found"
        levels = campaign_plan["profiles"][visit["profile"]]["levels"]
        wrong = as_found() if as_found_visit else broken_by(levels)
        counts = {**dict.fromkeys(result.COUNTS, 0), "sent": 9, "arrived": 9, "first": None}
        payload = {
            "elapsed_s": 1.0,
            "mss": 1448,
            "checks": {"tcp_forward": {**counts, "wrong": int(wrong)}},
            "counters": {"client": {}, "server": {}},
            "error": None,
        }
        row = {key: visit[key] for key in ("mtu", "profile", "block")}
        trials += [
            {**row, "path": cell["path"], "result": {"payload": payload}} for cell in visit["cells"]
        ]
    return trials


def said(campaign_plan, broken_by, as_found):
    """Return the line of the path."""
    [line] = payload_sentences(campaign_plan, checks_of(checks(campaign_plan, broken_by, as_found)))
    return line["text"]


def with_tx(levels):
    return levels["tx"] == "on"


def test_the_state_as_found_is_visited_first_and_in_each_block():
    campaign_plan = plan(node(), node())
    visits = [visit for visit in campaign_plan["visits"] if visit["profile"] == "as_found"]
    assert [visit["block"] for visit in visits] == [1, 2, 3, 4]
    assert campaign_plan["visits"][0]["profile"] == "as_found"
    assert campaign_plan["profiles"]["as_found"]["settings"] == {"client": {}, "server": {}}


def test_its_levels_are_those_of_the_devices_that_can_vary():
    campaign_plan = plan(node("tx", "tso", fixed=["gro"]), node("tso", fixed=["gro"]))
    assert campaign_plan["profiles"]["as_found"]["levels"] == {
        "tx": "mixed",
        "rx": "on",
        "tso": "off",
        "gso": "on",
        "gro": "unknown",
    }


def test_a_campaign_that_goes_on_keeps_the_state_with_which_it_began():
    campaign = read_campaign(ASKED, "test")
    old = plan(node("tx"))
    assert (
        with_as_found(campaign, [node()], old)["as_found"] == old["profiles"]["as_found"]["levels"]
    )
    del old["profiles"]["as_found"]  # of an earlier version
    assert "as_found" not in with_as_found(campaign, [node()], old)


@pytest.mark.parametrize(
    "changed",
    [
        {"design": "on_off", "until": None},
        {"factors": ["tx", "tunnel_csum"], "paths": ["tenant_vxlan"]},
    ],
)
def test_other_campaigns_are_as_before(changed):
    assert "as_found" not in plan(node(), **changed)["profiles"]


def test_as_found_is_broken_and_all_off_is_clean():
    line = said(plan(node()), with_tx, lambda: True)
    assert "with tx on, in 0 of" in line
    assert " As found it is broken: 4 of 4 trials in trouble; all off is clean." in line


def test_a_cure_that_is_applied_is_recognised():
    line = said(plan(node("tx", "tso")), with_tx, lambda: False)
    assert (
        " As found it is clean (0 of 4 trials in trouble) and tx is off, but with tx on it is broken: "
        "the workaround is still needed." in line
    )


def test_a_cure_of_one_device_is_recognised_by_its_trials():
    campaign_plan = plan(node("tx"), node())
    assert "tx is off at some devices, but with tx on it is broken" in said(
        campaign_plan, with_tx, lambda: False
    )
    rare = random.Random(5)
    line = said(
        campaign_plan, lambda levels: with_tx(levels) and rare.random() < 0.5, lambda: False
    )
    assert " As found 0 of 4 trials were in trouble." in line and "workaround" not in line


def test_a_workaround_that_is_not_needed_is_said_to_be_none():
    line = said(plan(node("tx", "tso")), lambda _levels: False, lambda: False)
    assert line.startswith("Clean over physical")
    assert line.endswith(
        " As found tx and tso are off, and it is clean with all of them on, too: no workaround is "
        "needed here."
    )
    assert "As found" not in said(plan(node()), lambda _levels: False, lambda: False)


def test_a_state_that_no_profile_has_is_broken_by_itself():
    campaign_plan = plan(node("tx"), node())
    trials = checks(campaign_plan, lambda _levels: False, lambda: True)
    line = said(campaign_plan, lambda _levels: False, lambda: True)
    assert "arrived wrong in 4 of 4 trials with the hosts as found, in 0 of 48 without" in line
    assert "set all of them on, at all of these devices" in line
    looks = [decide(campaign_plan, trials, look, []) for look in campaign_plan["looks"]]
    assert [look["named"] for look in looks] == [[], [], ["the hosts as found"]]


@pytest.mark.slow
@pytest.mark.parametrize("share", each_day([0.3], [0.05, 0.3, 0.7]))
def test_trouble_without_a_cause_is_blamed_in_few_campaigns(share):
    campaign_plan = plan(node("tx"), node())
    named = 0
    for seed in range(100):
        drawn = random.Random(f"{share} {seed}").random
        trials = checks(
            campaign_plan,
            lambda _levels, drawn=drawn: drawn() < share,
            lambda drawn=drawn: drawn() < share,
        )
        tests = []
        for look in campaign_plan["looks"]:
            tests.append(decide(campaign_plan, trials, look, list(tests)))
        end = {**campaign_plan, "looked": tests}
        blamed = any(row.blames for row in verdicts(end, checks_of(trials)))
        named += blamed or any(test["answered"] for test in tests)
    assert named <= 12  # of 100 at 5 %, more than 12 have a chance of 0.1 %
