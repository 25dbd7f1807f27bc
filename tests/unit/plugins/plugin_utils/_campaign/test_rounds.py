# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.rounds import (
    everybody,
    rounds_of,
)

CAMPAIGN = {"name": "x", "blocks": 6, "duration": 1}


def nodes(count):
    return [f"node{number}" for number in range(1, count + 1)]


def pair(text):
    return dict(zip(("client", "server"), text.split("-")))


@pytest.mark.parametrize("count", range(2, 34))
def test_everybody_meets_everybody_in_the_fewest_rounds(count):
    pairs = everybody(nodes(count))
    met = sorted(tuple(sorted(pair.values())) for pair in pairs)
    assert met == sorted(itertools.combinations(sorted(nodes(count)), 2))
    rounds = rounds_of(pairs)
    assert len(rounds) == count - 1 + count % 2
    assert {len(members) for members in rounds} == {count // 2}


def test_eight_nodes_meet_in_seven_rounds_of_four():
    rounds = rounds_of(everybody(nodes(8)))
    assert [len(members) for members in rounds] == [4] * 7
    assert all(len({end for pair in members for end in pair.values()}) == 8 for members in rounds)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9)).filter(lambda ends: ends[0] != ends[1]),
        unique=True,
    )
)
def test_no_node_is_twice_in_a_round_and_no_pair_is_lost(ends):
    pairs = [{"client": client, "server": server} for client, server in ends]
    rounds = rounds_of(pairs)
    assert sorted(str(pair) for members in rounds for pair in members) == sorted(map(str, pairs))
    for members in rounds:
        busy = [end for pair in members for end in pair.values()]
        assert len(busy) == len(set(busy))
    assert rounds_of(pairs, concurrent=True) == ([pairs] if pairs else [])


def test_the_plan_has_the_rounds_and_its_time_is_that_of_the_rounds():
    single_plan = make_plan(read_campaign(CAMPAIGN), "now")
    many = make_plan(read_campaign({**CAMPAIGN, "pairs": "all"}, nodes=nodes(4)), "now")
    assert single_plan["rounds"] == []
    assert [len(members) for members in many["rounds"]] == [2, 2, 2]
    assert (
        2 < many["estimated_s"] / single_plan["estimated_s"] < 3
    )  # three rounds, but each visit is applied once
    visit = many["visits"][0]
    assert {cell["pair"] for cell in visit["cells"]} == {
        f"{pair['client']}-{pair['server']}" for members in many["rounds"] for pair in members
    }


@pytest.mark.parametrize(
    "more, hosts, message",
    [
        ({"pairs": "all"}, ["node1"], "needs two nodes"),
        ({"pairs": ["a-a"]}, [], "a is both ends"),
        ({"pairs": ["a-b", "a-c"], "concurrent": True}, [], "a is the client of two pairs"),
        (
            {"pairs": ["a-b", "b-c"], "sides": "tx"},
            [],
            "b is the client of one pair and the server of another",
        ),
        ({"pairs": "some"}, [], "campaign: pairs"),
        ({"concurrent": "perhaps"}, [], "campaign: concurrent"),
    ],
)
def test_pairs_that_cannot_be_measured(more, hosts, message):
    with pytest.raises(InputError, match=message):
        make_plan(read_campaign({**CAMPAIGN, **more}, nodes=hosts), "now")


def test_a_server_may_have_several_clients_together():
    plan = make_plan(
        read_campaign({**CAMPAIGN, "pairs": ["a-c", "b-c"], "concurrent": True}), "now"
    )
    assert plan["rounds"] == [[pair("a-c"), pair("b-c")]]
