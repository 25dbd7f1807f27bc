# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hardware cannot vary leaves a search before it is planned, and is reported."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.dry_run import warnings_of
from ansible_collections.offload.lab.plugins.plugin_utils._request.fixed import (
    warnings,
    without_fixed,
)

CLASSES = {"underlay": [{"name": "eth1"}], "tenant": [{"name": "veth0", "netns": "tenant1"}]}
EVERYTHING = (
    "tcp-segmentation-offload",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "generic-receive-offload",
    "large-receive-offload",
    "generic-segmentation-offload",
)


def node(*fixed, there=("eth1", "tenant1/veth0")):
    """A node on whose devices these features are fixed."""
    return CLASSES, {
        key: {
            "features": {
                name: {"active": False, "fixed": name in fixed, "requested": None}
                for name in EVERYTHING
            }
        }
        for key in there
    }


def campaign(design="search", **more):
    return read_campaign(
        {
            "name": "x",
            "design": design,
            "factors": ["tso", "gro", "lro"],
            "paths": ["tenant_vxlan"],
            **more,
        }
    )


def names(campaign_left):
    return [factor["name"] for factor in campaign_left["factors"]]


def test_what_is_fixed_on_all_devices_is_not_planned_and_is_told():
    campaign_left = without_fixed(
        campaign(), [node("large-receive-offload"), node("large-receive-offload")], None
    )
    assert names(campaign_left) == ["tso", "gro"]
    plan = make_plan(campaign_left, "")
    assert {tuple(profile["levels"]) for profile in plan["profiles"].values()} == {("tso", "gro")}
    assert "lro is not varied: it is fixed on eth1, tenant1/veth0" in list(warnings_of(plan))


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [node("large-receive-offload"), node()],
        [node("large-receive-offload", there=())],
        [node("tx-tcp-segmentation")],
    ],
    ids=["nothing read", "one can", "no device", "one bit of a group"],
)
def test_what_one_device_can_vary_or_nobody_has_read_stays(nodes):
    assert without_fixed(campaign(), nodes, None) == campaign()


def test_other_designs_keep_it_for_its_verdict():
    campaign_asked = campaign("one_at_a_time")
    nodes = [node("large-receive-offload")]
    assert without_fixed(campaign_asked, nodes, None) == campaign_asked
    assert list(warnings(campaign_asked, nodes)) == [
        "lro cannot be varied: it is fixed on eth1, tenant1/veth0. "
        "What needs it is measured without it, and not compared."
    ]
    assert list(warnings(campaign_asked, [node()])) == []


def test_a_plan_in_which_nothing_can_be_varied_warns_that_nothing_is_compared():
    [_lro, nothing] = warnings(campaign("on_off", factors=["lro"]), [node("large-receive-offload")])
    assert nothing == "No factor can be varied here, so the report will compare nothing."


def test_a_plan_that_is_there_keeps_its_choice():
    fixed = [node("large-receive-offload")]
    assert names(without_fixed(campaign(), fixed, {})) == ["tso", "gro", "lro"]
    assert names(without_fixed(campaign(), [], {"gro": "it is fixed on eth1"})) == ["tso", "lro"]


def test_where_nothing_can_be_varied_it_is_said_before_anything_is_done():
    with pytest.raises(
        InputError, match=r"no factor can be varied here \(tso: it is fixed on eth1"
    ):
        without_fixed(campaign(), [node(*EVERYTHING)], None)
