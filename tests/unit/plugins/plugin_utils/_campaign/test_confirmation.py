# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import collections

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.dry_run import describe
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    with_confirmation,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.visits import confirmation_cost


def plan(**campaign):
    campaign_keys = {
        "name": "x",
        "duration": 1,
        "design": "one_at_a_time",
        "factors": ["tso", "gro"],
        "blocks": 4,
        **campaign,
    }
    return make_plan(read_campaign(campaign_keys), "2026-01-05T08:00:00Z")


BOTH = {"role": "chosen", "name": "tso=on,gro=on", "levels": {"tso": "on", "gro": "on"}}
TSO = {"role": "runner_up", "name": "tso=on", "levels": {"tso": "on", "gro": "off"}}
CONTROL = {"role": "runner_up", "name": "all_off", "levels": {"tso": "off", "gro": "off"}}


@pytest.mark.parametrize(
    "campaign, blocks",
    [
        ({}, 6),
        ({"confirm": 2}, 2),
        ({"confirm": 0}, 0),
        ({"design": "full_factorial"}, 6),
        ({"design": "leave_one_out"}, 6),
        ({"design": "on_off"}, 0),
        ({"factors": ["tso"]}, 0),
    ],
)
def test_where_the_plan_compared_the_only_candidate_nothing_is_left_to_confirm(campaign, blocks):
    assert plan(**campaign)["confirm"] == blocks


def test_the_nominees_and_the_control_are_visited_in_fresh_blocks():
    confirmation = confirmation_of(plan(mtus=[9000, 1500]), [BOTH, TSO])
    assert confirmation["blocks"] == [5, 6, 7, 8, 9, 10]
    assert {name: profile["role"] for name, profile in confirmation["profiles"].items()} == {
        "all_off": "control",
        "tso=on,gro=on": "chosen",
        "tso=on": "runner_up",
    }
    blocks = collections.defaultdict(list)
    for visit in confirmation["visits"]:
        assert visit["part"] == "confirm"
        blocks[visit["mtu"], visit["block"]].append((visit["profile"], visit["repeat"]))
    assert len(blocks) == 12
    for visits in blocks.values():
        assert sorted(visits) == [
            ("all_off", False),
            ("all_off", True),
            ("tso=on", False),
            ("tso=on,gro=on", False),
        ]
    assert len({tuple(visits) for visits in blocks.values()}) > 1  # the order is random


def test_a_nominee_sets_what_its_levels_say():
    profile = confirmation_of(plan(), [BOTH])["profiles"]["tso=on,gro=on"]
    assert profile["settings"]["client"]["underlay"]["features"] == {"tso": True, "gro": True}


def test_the_same_question_has_the_same_confirmation_and_another_seed_another_order():
    assert confirmation_of(plan(), [BOTH, TSO]) == confirmation_of(plan(), [BOTH, TSO])
    order = [visit["profile"] for visit in confirmation_of(plan(), [BOTH, TSO])["visits"]]
    assert order != [
        visit["profile"] for visit in confirmation_of(plan(seed=2), [BOTH, TSO])["visits"]
    ]


def test_ids_are_not_those_of_planned_trials():
    campaign_plan = plan()
    planned = {cell["id"] for visit in campaign_plan["visits"] for cell in visit["cells"]}
    confirmed = [
        cell["id"]
        for visit in confirmation_of(campaign_plan, [BOTH])["visits"]
        for cell in visit["cells"]
    ]
    assert planned.isdisjoint(confirmed) and len(set(confirmed)) == len(confirmed)


@pytest.mark.parametrize("nominees", [[], [CONTROL]])
def test_without_a_nominee_beside_the_control_nothing_is_visited(nominees):
    confirmation = confirmation_of(plan(), nominees)
    assert confirmation["visits"] == [] and confirmation["blocks"] == []


def test_a_nominee_that_is_a_planned_profile_has_its_name():
    confirmation = confirmation_of(plan(), [{**TSO, "name": "built", "role": "chosen"}, TSO])
    assert list(confirmation["profiles"]) == ["all_off", "tso=on"]
    with pytest.raises(InputError, match="tso=on is not the profile of that name"):
        confirmation_of(plan(), [{**BOTH, "name": "tso=on"}])


def test_what_it_costs_is_said_before_and_is_in_the_time_budget():
    campaign_plan = plan(mtus=[9000, 1500])
    _blocks, visits, seconds = confirmation_cost(campaign_plan, len(campaign_plan["profiles"]))
    assert visits == len(confirmation_of(campaign_plan, [BOTH, TSO])["visits"]) == 48
    assert any(
        "confirmation of at most 48 visits in 6 blocks" in line for line in describe(campaign_plan)
    )
    assert campaign_plan["estimated_s"] - plan(mtus=[9000, 1500], confirm=0)[
        "estimated_s"
    ] == pytest.approx(seconds, abs=0.2)
    assert plan(time_budget="10 min", blocks=None)["estimated_s"] <= 600
    with pytest.raises(InputError, match="a block of .* and a confirmation of"):
        plan(time_budget="100 s", blocks=None)


def test_the_analysis_reads_both_parts_as_one_plan():
    campaign_plan = plan()
    decided = confirmation_of(campaign_plan, [BOTH, TSO])
    whole_plan = with_confirmation(campaign_plan, decided)
    assert [visit.get("part") for visit in whole_plan["visits"]] == [None] * 16 + ["confirm"] * 24
    assert list(whole_plan["profiles"]) == ["all_off", "tso=on", "gro=on", "tso=on,gro=on"]
    assert with_confirmation(campaign_plan, None) is campaign_plan
