# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import collections
import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import (
    blocks_needed,
    make_plan,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.dry_run import describe, length
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.pace import summary
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    differences,
    read_plan,
    write_plan,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.visits import (
    block_seconds,
    visit_seconds,
)


def plan(**campaign):
    return make_plan(
        read_campaign({"name": "x", "duration": 1, **campaign}), "2026-01-05T08:00:00Z"
    )


def order(campaign_plan):
    return [
        (
            visit["mtu"],
            visit["block"],
            visit["profile"],
            [(cell["path"], cell["workload"]) for cell in visit["cells"]],
        )
        for visit in campaign_plan["visits"]
    ]


def test_one_seed_one_order_and_another_seed_another_order():
    assert order(plan(seed=7, factors=["tx", "tso", "gro"])) == order(
        plan(seed=7, factors=["tx", "tso", "gro"])
    )
    assert order(plan(seed=7)) != order(plan(seed=8))


def test_the_order_is_the_same_on_every_version_of_python():
    campaign_plan = plan(
        seed=1, blocks=3, factors=["tso", "gro"], design="one_at_a_time", mtus=[9000, 1500]
    )
    assert [visit["profile"] for visit in campaign_plan["visits"]][:8] == [
        "all_off",
        "tso=on",
        "gro=on",
        "all_off",
        "gro=on",
        "tso=on",
        "all_off",
        "all_off",
    ]
    assert [
        cell["path"] + " " + cell["workload"] for cell in campaign_plan["visits"][0]["cells"]
    ] == [
        "physical udp_stream",
        "tenant_vxlan tcp_stream",
        "tenant_vxlan udp_stream",
        "physical tcp_stream",
    ]


def test_every_block_visits_every_profile_once_and_the_control_twice():
    campaign_plan = plan(
        design="one_at_a_time", factors=["tx", "tso", "gro"], blocks=5, mtus=[9000, 1500]
    )
    blocks = collections.defaultdict(list)
    for visit in campaign_plan["visits"]:
        blocks[visit["mtu"], visit["block"]].append(visit)
        assert sorted((cell["path"], cell["workload"]) for cell in visit["cells"]) == [
            (path, work)
            for path in ("physical", "tenant_vxlan")
            for work in ("tcp_stream", "udp_stream")
        ]
    assert len(blocks) == 10
    for visits in blocks.values():
        assert sorted(visit["profile"] for visit in visits) == sorted(
            [*campaign_plan["profiles"], "all_off"]
        )
        assert sorted(visit["repeat"] for visit in visits if visit["profile"] == "all_off") == [
            False,
            True,
        ]
        assert not any(visit["repeat"] for visit in visits if visit["profile"] != "all_off")
    orders = {
        tuple(visit["repeat"] for visit in visits if visit["profile"] == "all_off")
        for visits in blocks.values()
    }
    assert orders == {
        (False, True),
        (True, False),
    }  # by chance: their difference is noise, not drift


@pytest.mark.parametrize(
    ("campaign", "visits"),
    [
        ({}, 1),
        ({"control_visits": 2}, 2),
        ({"design": "one_at_a_time", "factors": ["tso"]}, 1),
        ({"design": "one_at_a_time"}, 2),
        ({"design": "one_at_a_time", "control_visits": 1}, 1),
    ],
)
def test_the_control_of_a_single_comparison_is_visited_once_a_block(campaign, visits):
    """Unless the campaign says otherwise; times are of the visits that are made."""
    campaign_plan = plan(blocks=3, **campaign)
    control = [visit["block"] for visit in campaign_plan["visits"] if visit["profile"] == "all_off"]
    assert (
        control == [block for block in (1, 2, 3) for _visit in range(visits)]
        and campaign_plan["control_visits"] == visits
    )
    assert len(campaign_plan["visits"]) == 3 * (len(campaign_plan["profiles"]) - 1 + visits)
    assert block_seconds(campaign_plan, len(campaign_plan["profiles"])) == pytest.approx(
        visit_seconds(campaign_plan) * len(campaign_plan["visits"]) / 3
    )


def test_of_two_visits_each_second_block_has_the_opposite_order():
    """The first order of each two blocks is random."""
    campaign_plan = plan(blocks=9, mtus=[9000, 1500], factors=["tso"])
    for mtu in (9000, 1500):
        orders = [
            [
                visit["profile"]
                for visit in campaign_plan["visits"]
                if (visit["mtu"], visit["block"]) == (mtu, block)
            ]
            for block in range(1, 10)
        ]
        assert orders[1::2] == [order[::-1] for order in orders[0:8:2]]
        assert {tuple(order) for order in orders[::2]} == {
            ("all_off", "all_on"),
            ("all_on", "all_off"),
        }


def test_mtu_is_the_outer_loop_and_ids_are_unique():
    campaign_plan = plan(mtus=[9000, 1500, 4000], blocks=3)
    mtus = [visit["mtu"] for visit in campaign_plan["visits"]]
    assert len([1 for before, after in zip(mtus, mtus[1:]) if before != after]) == 2
    ids = [cell["id"] for visit in campaign_plan["visits"] for cell in visit["cells"]]
    assert len(set(ids)) == len(ids)


def test_more_blocks_leave_the_first_as_they_were():
    assert order(plan(blocks=9))[:6] == order(plan(blocks=3))


@pytest.mark.parametrize(
    ("design", "names"),
    [
        ("on_off", ["all_off", "all_on"]),
        ("one_at_a_time", ["all_off", "tso=on", "gro=on"]),
        ("leave_one_out", ["all_on", "tso=off", "gro=off"]),
        ("integrity", ["all_off", "tso=on", "gro=on", "all_on"]),
        ("full_factorial", ["all_off", "gro=on", "tso=on", "tso=on,gro=on"]),
    ],
)
def test_designs(design, names):
    campaign_plan = plan(design=design, factors=["tso", "gro"])
    assert list(campaign_plan["profiles"]) == names
    assert campaign_plan["control"] == names[0]


def test_integrity_has_each_setting_on_in_about_half_of_its_profiles():
    factors = ["tx", "rx", {"name": "tso", "needs": ["tx"]}, "gso", "gro"]
    campaign_plan = plan(design="integrity", factors=factors)
    assert list(campaign_plan["profiles"]) == [
        "all_off",
        "tx=on",
        "rx=on",
        "tx=on,tso=on",
        "gso=on",
        "gro=on",
        "rx=on,gso=on,gro=on",
        "tx=on,tso=on,gso=on,gro=on",
        "tx=on,rx=on,gso=on,gro=on",
        "tx=on,rx=on,tso=on,gro=on",
        "tx=on,rx=on,tso=on,gso=on",
        "all_on",
    ]


def test_levels_beyond_two():
    campaign_plan = plan(
        design="one_at_a_time",
        factors=["gro", {"name": "queues", "kind": "channels", "levels": [1, 2, 4]}],
    )
    assert list(campaign_plan["profiles"]) == ["all_off", "gro=on", "queues=2", "queues=4"]
    assert campaign_plan["profiles"]["queues=4"]["settings"]["client"]["underlay"] == {
        "features": {"gro": False},
        "channels": {"combined": 4},
    }


def test_named_profiles_and_their_control():
    campaign_plan = plan(
        design="profiles",
        factors=["tso", "gro"],
        control="fast",
        profiles={"safe": {"tso": False}, "fast": {"tso": True, "gro": "on"}},
    )
    assert campaign_plan["profiles"]["fast"]["levels"] == {"tso": "on", "gro": "on"}
    assert campaign_plan["profiles"]["safe"]["levels"] == {"tso": "off", "gro": "off"}
    assert campaign_plan["control"] == "fast"
    with pytest.raises(InputError, match="profile a: lro=on is not a level of any factor"):
        plan(design="profiles", profiles={"a": {"lro": True}, "b": {"tso": True}})
    with pytest.raises(InputError, match="control 'c' is not one of the profiles"):
        plan(design="profiles", control="c", profiles={"a": {"tso": False}, "b": {"tso": True}})


def test_settings_of_each_end_and_device():
    campaign_plan = plan(
        paths=["physical"],
        factors=[
            {"name": "tso", "sides": "tx"},
            {"name": "gro", "sides": "rx"},
            {"name": "csum", "kind": "tunnel_csum"},
        ],
    )
    assert campaign_plan["profiles"]["all_on"]["settings"] == {
        "client": {"underlay": {"features": {"tso": True}}, "tunnel": {"csum": True}},
        "server": {"underlay": {"features": {"gro": True}}, "tunnel": {"csum": True}},
    }


def test_needs_act_only_where_each_is_tried_alone():
    factors = ["tx", {"name": "tso", "needs": ["tx"], "devices": ["underlay"]}]
    alone = plan(design="one_at_a_time", factors=factors, paths=["physical"])["profiles"]
    assert alone["tso=on"]["settings"]["client"] == {
        "underlay": {"features": {"tx": True, "tso": True}}
    }
    assert alone["tx=on"]["settings"]["client"] == {
        "underlay": {"features": {"tx": True, "tso": False}}
    }


NEEDING = ["tx", {"name": "sg", "needs": ["tx"]}, {"name": "tso", "needs": ["sg"]}, "gro"]


def test_no_design_visits_what_no_host_can_be_in():
    assert list(plan(design="leave_one_out", factors=NEEDING)["profiles"]) == [
        "all_on",
        "tx=off,sg=off,tso=off",
        "sg=off,tso=off",
        "tso=off",
        "gro=off",
    ]
    everything = plan(design="full_factorial", factors=NEEDING)["profiles"]
    assert set(everything) == {
        "all_off",
        "tx=on",
        "tx=on,sg=on",
        "tx=on,sg=on,tso=on",
        "gro=on",
        "tx=on,gro=on",
        "tx=on,sg=on,gro=on",
        "tx=on,sg=on,tso=on,gro=on",
    }
    with pytest.raises(
        InputError, match="profile a: no host can have tso=on here: what it needs is off"
    ):
        plan(design="profiles", factors=NEEDING, profiles={"a": {"tx": "on", "tso": "on"}, "b": {}})


def test_a_need_is_of_the_same_end_and_device():
    apart = plan(
        design="leave_one_out", factors=["tx", {"name": "tso", "needs": ["tx"]}], sides=["tx", "rx"]
    )
    assert list(apart["profiles"]) == [
        "all_on",
        "tx@tx=off,tso@tx=off",
        "tx@rx=off,tso@rx=off",
        "tso@tx=off",
        "tso@rx=off",
    ]
    elsewhere = [
        {"name": "tx", "devices": ["tenant"]},
        {"name": "tso", "needs": ["tx"], "devices": ["underlay"]},
    ]
    assert "tx=off" in plan(design="leave_one_out", factors=elsewhere)["profiles"]


@pytest.mark.parametrize(("effects", "blocks"), [(1, 9), (2, 8), (40, 8)])
def test_several_effects_have_blocks_to_spare(effects, blocks):
    assert blocks_needed(effects) == blocks


def test_blocks_by_default_and_by_time():
    assert plan()["blocks"] == 9
    assert (
        plan(design="one_at_a_time", factors=["tx", "sg", "tso", "gso", "rx", "gro"])["blocks"] == 8
    )
    budgeted = plan(time_budget="5 min")
    assert budgeted["blocks"] > 1 and budgeted["estimated_s"] <= 300
    assert plan(time_budget="5 min", blocks=3)["blocks"] == 3
    with pytest.raises(InputError, match="less than a block"):
        plan(time_budget=5)


def test_pairs_are_measured_each():
    campaign_plan = plan(
        pairs=["node1-node2", {"client": "web-1", "server": "web-2"}], paths=["physical"], blocks=1
    )
    assert sorted({cell["pair"] for cell in campaign_plan["visits"][0]["cells"]}) == [
        "node1-node2",
        "web-1-web-2",
    ]
    assert len(campaign_plan["visits"][0]["cells"]) == 4


def test_too_many_profiles_are_refused():
    with pytest.raises(InputError, match="more than 256 profiles"):
        plan(design="full_factorial", factors=[f"f{number}" for number in range(9)])


def test_the_dry_run_says_what_cannot_be_found():
    lines = describe(
        plan(design="one_at_a_time", factors=["tx", "sg", "tso", "gso", "rx", "gro"], blocks=6)
    )
    assert lines[-1].startswith("warning: 6 blocks are just enough for a test")
    assert any("of 5 such campaigns" in line for line in lines)
    assert not any("just enough" in line for line in describe(plan(blocks=7)))
    assert any("MTU 9000, the lab's" in line for line in describe(plan(mtus=[9000]), 9000))
    assert not any("the lab's" in line for line in describe(plan(mtus=[9000])))
    assert describe(plan(blocks=5))[-1] == "warning: 5 blocks give no test: 6 are needed."
    named = plan(design="integrity", workloads=["payload"], until="named", blocks=4)
    assert not any("give no test" in line for line in describe(named))
    lines = describe(plan(blocks=8, untestable={"lro": "fixed by the driver"}))
    assert lines[1].startswith("2 profiles, control all_off once a block, 8 blocks")
    assert lines[2].startswith("16 visits, 64 cells, about ")
    assert any(line.startswith("4 of 5 such campaigns find an effect of ") for line in lines)
    assert lines[-1] == "warning: lro is not varied: fixed by the driver"


def test_lengths_of_time():
    assert [length(value) for value in (12.4, 89, 90, 5399, 5400)] == [
        "12 s",
        "89 s",
        "2 min",
        "90 min",
        "1.5 h",
    ]


def test_the_plan_file_is_whole_and_compared(tmp_path):
    path = str(tmp_path / "x" / "plan.json")
    campaign_plan = plan(blocks=2)
    assert read_plan(path) is None
    write_plan(path, campaign_plan)
    assert read_plan(path) == campaign_plan == json.loads(json.dumps(campaign_plan))
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["plan.json"]
    assert differences(campaign_plan, dict(campaign_plan, created="later")) == []
    assert differences(campaign_plan, plan(blocks=2, seed=2)) == [
        "seed: 1 is 2 now",
        "visits differs",
    ]
    small = summary(campaign_plan, "/r/x")
    assert "cells" not in json.dumps(small["profiles"]) and small["visits"][0]["cells"] == 4


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 99}', "\x00"])
def test_a_broken_plan_file_is_our_error(tmp_path, content):
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(InputError):
        read_plan(str(tmp_path / "plan.json"))


def test_a_plan_has_a_bound_of_trials():
    names = ["tx", "sg", "tso", "gso", "gro", "rx"]
    campaign = {
        "name": "big",
        "design": "full_factorial",
        "factors": names,
        "blocks": 1000,
        "trials": 32,
        "mtus": [9000, 1500],
    }
    with pytest.raises(InputError, match=r"the plan has \d+ trials, more than 500000"):
        make_plan(read_campaign(campaign), "")
