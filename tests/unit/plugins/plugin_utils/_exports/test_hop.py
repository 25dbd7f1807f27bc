# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._exports.hop import hop_campaign

ASKED = {
    "name": "integrity",
    "design": "integrity",
    "paths": ["tenant_vxlan"],
    "factors": ["tx", "gro"],
    "workloads": ["payload"],
    "duration": 4,
}


def test_what_is_broken_is_varied_at_each_class_of_devices_and_at_each_end():
    plan = make_plan(read_campaign(ASKED), "")
    asked = hop_campaign(plan, ["tx"], plan["paths"])
    classes = plan["factors"][0]["devices"]
    assert len(asked["factors"]) == 2 * len(classes)
    again = make_plan(read_campaign(asked), "")
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
    assert blocks == sorted(blocks) and 4 < blocks[0] < blocks[-1] <= 24


def test_what_has_one_hop_alone_or_is_no_feature_needs_no_campaign():
    one = {"name": "tx", "devices": ["underlay"], "sides": "tx"}
    plan = make_plan(read_campaign({**ASKED, "factors": [one]}), "")
    assert hop_campaign(plan, ["tx"], plan["paths"]) is None
    assert hop_campaign(plan, [], plan["paths"]) is None
