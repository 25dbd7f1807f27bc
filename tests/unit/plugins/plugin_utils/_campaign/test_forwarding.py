# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a campaign sets at a host that forwards: its profiles, and what must not be on there."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign import forwarding
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan

FACTORS = ["lro", "rx-gro-list", {"name": "rx-udp-gro-forwarding", "needs": ["gro"]}]


def plan(does="routed", **keys):
    campaign_keys = {"name": "x", "blocks": 6, "paths": ["routed"], "sides": "forwarder", **keys}
    campaign_plan = make_plan(
        read_campaign({"factors": FACTORS, **campaign_keys}, nodes=["a", "b"]), "now"
    )
    if does:
        campaign_plan["forwarder"] = {"host": "router", "does": does}
    return campaign_plan


def test_a_profile_sets_the_forwarder_and_neither_end():
    campaign_plan = plan(design="one_at_a_time")
    settings = campaign_plan["profiles"]["rx-udp-gro-forwarding=on"]["settings"]
    assert settings["client"] == settings["server"] == {}
    assert settings["forwarder"]["underlay"]["features"] == {
        "lro": False,
        "rx-gro-list": False,
        "rx-udp-gro-forwarding": True,
        "gro": True,
    }


def test_a_forwarder_has_devices_of_an_underlay_alone():
    factors = plan(paths=["routed_vxlan"], sides=["both", "forwarder"], factors=["gro"])["factors"]
    assert [factor["devices"] for factor in factors] == [["underlay", "tenant"], ["underlay"]]


def test_each_side_by_itself_has_a_factor():
    campaign_plan = plan(sides=["tx", "forwarder"], factors=["gro"])
    assert [factor["name"] for factor in campaign_plan["factors"]] == ["gro@tx", "gro@forwarder"]


def test_a_campaign_of_the_ends_has_no_forwarder():
    campaign_plan = plan(sides="both")
    assert set(campaign_plan["profiles"]["all_on"]["settings"]) == {"client", "server"}
    assert forwarding.cautions(campaign_plan) == []
    assert forwarding.forbidden(campaign_plan, {"lro": "on"}) is None


@pytest.mark.parametrize(
    ("does", "cases"),
    [("routed", ["moby-32023"]), ("bridged", ["moby-32023"]), ("", ["moby-32023"])]
    + [("nat", ["moby-32023", "openwrt-18387"])],
)
def test_what_must_not_be_on_is_named(does, cases):
    cautions = forwarding.cautions(plan(does))
    assert len(cautions) == len(cases)
    assert all(case in text for case, text in zip(cases, cautions))
    assert cautions[0].startswith("at the forwarder lro must not be on while packets are")


def test_only_what_breaks_each_packet_is_never_recommended():
    campaign_plan = plan("nat")
    assert "must not be on" in forwarding.forbidden(
        campaign_plan, {"lro": "on", "rx-gro-list": "off"}
    )
    assert forwarding.forbidden(campaign_plan, {"lro": "off", "rx-gro-list": "on"}) is None


def test_who_is_between_the_nodes():
    variables = {"router": {"offload_lab_forwarding": "nat"}, "other": {}}
    assert forwarding.between(["router"], variables) == {"host": "router", "does": "nat"}
    assert forwarding.between(["other"], variables) == {"host": "other", "does": ""}
    assert forwarding.between([], variables) is None
    assert forwarding.host_of(plan()) == "router" and forwarding.host_of(plan("")) == ""
