# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.blame import Hop
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cure import at, blames_of
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.hop import likeliest
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.recommend import nothing
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._exports.hop import hop_campaign
from ansible_collections.offload.lab.plugins.plugin_utils._exports.recommended import recommendation
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.simulation import curing, hops
from ansible_collections.offload.lab.tests.unit.builders import cure_found

ASKED = {
    "name": "integrity",
    "design": "integrity",
    "paths": ["tenant_vxlan"],
    "factors": ["tx", "gro"],
    "workloads": ["payload"],
    "duration": 4,
}
NOTHING = nothing("")


def test_what_is_broken_is_varied_at_each_class_of_devices_and_at_each_end():
    plan = make_plan(read_campaign(ASKED), "")
    hop_keys = hop_campaign(plan, ["tx"], plan["paths"])
    classes = plan["factors"][0]["devices"]
    assert len(hop_keys["factors"]) == 2 * len(classes)
    again = make_plan(read_campaign(hop_keys), "")
    assert again["name"] == "integrity-hop" and again["mtus"] == plan["mtus"]
    assert {(*factor["sides"], *factor["devices"]) for factor in again["factors"]} == {
        (side, name) for side in ("client", "server") for name in classes
    }
    settings = again["profiles"]["not_tx_at_client_underlay"]["settings"]
    assert settings["client"]["underlay"] == {"features": {"tx": False}}
    assert settings["client"]["tenant"] == {"features": {"tx": True}}
    assert settings["server"]["underlay"] == {"features": {"tx": False}}


def test_the_rarer_it_is_the_more_blocks_there_are():
    plan = make_plan(read_campaign(ASKED), "")
    blocks = [
        hop_campaign(plan, ["tx"], plan["paths"], rate)["blocks"] for rate in (1.0, 0.5, 0.1, 0.0)
    ]
    assert blocks == sorted(blocks) and 4 <= blocks[0] < blocks[-1] <= 24


def test_a_campaign_that_asked_for_the_hop_is_not_followed_by_another():
    plan = make_plan(read_campaign(ASKED), "")
    again = make_plan(read_campaign(hop_campaign(plan, ["tx"], plan["paths"])), "")
    names = [factor["name"] for factor in again["factors"]]
    assert hop_campaign(again, names[:1], again["paths"]) is None
    assert hop_campaign(again, names[:3], again["paths"]) is None


def test_what_a_hops_own_trials_chose_is_not_confirmed_by_them():
    plan = hops.plan_of("tx", ["underlay"], 1, 1.0)
    truth = Hop(("tx",), "client", "underlay")
    checks = curing.measured(hops.Chain(plan, truth, 1.0, "none", 1), plan)
    cure = cure_found(plan, checks)
    recommended = recommendation(NOTHING, plan, None, cure)
    assert cure.profile == "tx_at_server" and cure.checks.troubled == 0
    assert recommended["confirmed"] is False and recommended["changes"] == {
        "tx_at_client_underlay": "off"
    }


def test_a_hops_cure_is_confirmed_in_fresh_blocks():
    truth = Hop(("tx",), "client", "underlay")
    plan = hops.plan_of("tx", ["tunnel", "underlay"], 1, 1.0)
    for _campaign in ("hop", "again"):
        checks = curing.measured(hops.Chain(plan, truth, 1.0, "none", 1), plan)
        recommended = recommendation(NOTHING, plan, None, cure_found(plan, checks))
        plan = make_plan(read_campaign(recommended["again"]), "")
    assert recommended["profile"] == "as_applied" and recommended["confirmed"] is True
    assert list(recommended["changes"].values()) == ["off"]


@pytest.mark.parametrize("classes", hops.CHAINS)
@pytest.mark.parametrize("side", ["client", "server"])
def test_the_hop_of_a_fault_in_each_trial_is_named(classes, side):
    plan = hops.plan_of("tx", classes, 1, 1.0)
    truth = Hop(("tx",), side, "underlay")
    chain_plan, record = hops.until_named(hops.Chain(plan, truth, 1.0, "none", 1), plan)
    checks_seen = payload.checks_of(record).planned
    (blames,) = blames_of({**plan, "looked": chain_plan}, checks_seen).values()
    assert blames and likeliest(plan, at(checks_seen, curing.PLACE), payload.WRONG) == [[truth]]


@pytest.mark.parametrize("classes", hops.CHAINS)
@pytest.mark.parametrize("setting", ["tx", "gro"])
def test_the_cure_is_the_hop_however_many_devices_there_are(classes, setting):
    plan = hops.plan_of(setting, classes, 1, 1.0)
    for devices in classes:
        truth = Hop((setting,), "client", devices)
        checks = curing.measured(hops.Chain(plan, truth, 1.0, "none", 1), plan)
        assert cure_found(plan, checks).off == [f"{setting}_at_client_{devices}"]


def test_what_has_one_hop_alone_or_is_no_feature_needs_no_campaign():
    factor = {"name": "tx", "devices": ["underlay"], "sides": "tx"}
    plan = make_plan(read_campaign({**ASKED, "factors": [factor]}), "")
    assert hop_campaign(plan, ["tx"], plan["paths"]) is None
    assert hop_campaign(plan, [], plan["paths"]) is None
