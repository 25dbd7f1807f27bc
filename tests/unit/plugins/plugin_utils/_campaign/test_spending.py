# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a time budget is spent: by scatter and by the clock, decided once, kept before it acts."""

from __future__ import annotations

import json
import math

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis import spend
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import design, spending
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.chosen import load_campaign
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    differences,
    read_current_plan,
    with_defaults_of_plan,
    write_plan,
    write_spending,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.visits import workloads_at
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.effects import Scatter
from ansible_collections.offload.lab.plugins.plugin_utils._trials.trials import visit_cells
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.support import CHECKOUT

COSTS = spending.Costs(spent=0, reserved=0, overhead=0.9, visits=2, shortest=[0.25] * 4)
LENGTHS = (0.25, 0.5, 1, 2, 3, 5, 10)


def campaign(**changed):
    campaign_keys = {
        "name": "x",
        "design": "on_off",
        "factors": ["tso"],
        "paths": ["physical", "tenant_vxlan"],
        "workloads": ["tcp_stream", "tcp_rr"],
        "duration": "auto",
        "time_budget": 240,
        **changed,
    }
    return read_campaign(campaign_keys, "test")


def made_plan(**changed):
    return design.make_plan(campaign(**changed), "2026-01-05T08:00:00Z")


def trials_of(plan, noise=0.02):
    """Return the trials of all visits of a plan, each visit two seconds longer than its cells."""
    records = list(synthetic.make_trials(plan, synthetic.Truth({}, noise=noise)))
    starts = {}
    now = 1000.0
    for visit in plan["visits"]:
        starts[visit["mtu"], visit["block"], visit["visit"]] = now
        loads = workloads_at(plan, visit)
        now += 2 + sum(loads[cell["workload"]]["duration"] for cell in visit["cells"])
    for trial in records:
        trial["started"] = starts[trial["mtu"], trial["block"], trial["visit"]]
    return records


def chosen(trial, visit, seconds_left=90.0):
    scatter = Scatter(trial, visit, 0.2, 1.0)
    return spending.best_length(scatter, spending.Choice(LENGTHS, 8, 0, 1.0), COSTS, seconds_left)


def test_cells_are_short_where_visits_scatter_and_longer_where_cells_do():
    of_visits = chosen(0.01, 0.05)
    of_both = chosen(0.05, 0.05)
    of_cells = chosen(0.05, 0.0)
    assert of_visits[0] == 0.25
    assert of_visits[0] <= of_both[0] <= of_cells[0]
    assert of_cells[0] >= 0.5


def test_a_long_budget_has_longer_cells_than_a_short_one_where_cells_scatter():
    assert chosen(0.05, 0.0, seconds_left=900)[0] > chosen(0.05, 0.0, seconds_left=60)[0]


def test_where_nothing_leaves_enough_blocks_for_a_test_most_blocks_are_made():
    assert chosen(0.05, 0.0, seconds_left=12) == (0.25, 3)


def test_the_first_decision_leaves_a_part_and_the_second_fills_the_budget():
    plan = made_plan()
    decision = spend.decide(spending.first_part(plan), trials_of(spending.first_part(plan)), [])
    assert (decision["block"], decision["seconds"] in plan["time"]["lengths"]) == (6, True)
    now = spending.with_spending(plan, [decision])
    assert now["blocks"] == decision["blocks"] > 6
    two = spend.decide(now, trials_of(now), [decision])
    now = spending.with_spending(plan, [decision, two])
    three = spend.decide(now, trials_of(now), [decision, two])
    assert three["blocks"] == three["block"] == two["blocks"] >= decision["blocks"]
    assert 0.9 * 240 < three["spent"] <= 240
    assert three["spent"] + three["spent"] / three["block"] > 240  # no further block fits
    assert (
        spending.is_due([], []) and spending.is_due([decision], []) and spending.is_due([two], [])
    )
    assert not spending.is_due([decision, two, three], [])
    assert not spending.is_due([decision], now["visits"])


def test_what_was_decided_does_not_depend_on_an_effect():
    plan = made_plan()
    plain = trials_of(spending.first_part(plan))
    better = trials_of(spending.first_part(plan))
    for trial in better:
        if trial["profile"] == "all_on":
            for key in ("throughput_mbps", "transactions_per_s"):
                if trial["result"].get(key):
                    trial["result"][key] *= 2
    assert spend.decide(spending.first_part(plan), plain, []) == spend.decide(
        spending.first_part(plan), better, []
    )


def test_later_visits_measure_for_the_chosen_time_and_the_first_as_they_did():
    plan = made_plan()
    decision = {"block": 6, "blocks": 9, "seconds": 2, "spent": 1.0, "beside": 1.0, "scatter": None}
    now = spending.with_spending(plan, [decision])
    first = [visit for visit in now["visits"] if visit["block"] <= 6]
    assert first == spending.first_part(plan)["visits"]
    lengths = {
        (visit["block"], cell["workload"]["duration"])
        for visit in now["visits"]
        for cell in visit_cells(now, visit, None, 12865, "a-b")
    }
    assert lengths == {(block, 0.25 if block <= 6 else 2) for block in range(1, 10)}


def test_the_plan_of_a_folder_has_what_was_decided(tmp_path):
    plan = made_plan()
    path = str(tmp_path / "plan.json")
    write_plan(path, plan)
    assert read_current_plan(path) == plan
    decision = spend.decide(spending.first_part(plan), trials_of(spending.first_part(plan)), [])
    write_spending(str(tmp_path), plan, [decision])
    assert read_current_plan(path) == spending.with_spending(plan, [decision])
    assert json.loads((tmp_path / "decisions.jsonl").read_text())["made"] == [decision]


def test_a_budget_alone_is_filled_by_the_clock():
    plan = made_plan(duration=1)
    assert plan["time"]["lengths"] == []
    decision = spend.decide(spending.first_part(plan), trials_of(spending.first_part(plan)), [])
    assert decision["seconds"] is None
    assert decision["blocks"] > plan["blocks"] - 1 > 3


def test_an_earlier_campaign_says_how_long_cells_are_from_the_first_block_on():
    campaign_plan = campaign()
    plan = design.make_plan(campaign_plan, "")
    first_decision = spend.before_the_first(
        campaign_plan,
        plan,
        spending.first_part(plan),
        trials_of(spending.first_part(plan), noise=0.2),
    )
    begun = design.make_plan(first_decision, "2026-01-05T08:00:00Z")
    assert first_decision["lengths"] == begun["time"]["lengths"] == []
    assert begun["time"]["scatter"]["cell"] > 0.05
    assert {load["duration"] for load in begun["workloads"]} <= set(LENGTHS)
    # It goes on so, also where the next run does not name the earlier campaign.
    again = design.make_plan(with_defaults_of_plan(campaign(), begun), "later")
    assert differences(begun, again) == []


@pytest.mark.parametrize(
    "changed",
    [{"time_budget": None}, {"blocks": 9}, {"until": "answered"}, {"design": "search"}],
)
def test_auto_without_a_budget_that_it_may_spend_is_refused(changed):
    with pytest.raises(InputError, match="chosen only within a time budget"):
        campaign(**changed)


def test_a_workload_with_its_own_duration_keeps_it():
    workload = {"name": "tcp_stream", "duration": 7}
    plan = made_plan(workloads=[workload, "tcp_rr"])
    assert [load["duration"] for load in plan["workloads"]] == [7, 0.5]  # six blocks take long
    assert plan["time"]["workloads"] == {"tcp_rr": 0.25}


def test_what_an_engine_cannot_cut_short_is_not_cut():
    plan = made_plan(workloads=["tcp_stream", "tcp_crr"], time_budget=600)
    assert [load["duration"] for load in plan["workloads"]] == [0.25, 1]
    assert plan["time"]["workloads"] == {"tcp_stream": 0.25, "tcp_crr": 1.0}
    decision = {
        "block": 3,
        "blocks": 9,
        "seconds": 0.25,
        "spent": 1.0,
        "beside": 1.0,
        "scatter": None,
    }
    later = spending.with_spending(plan, [decision])
    loads = workloads_at(later, later["visits"][-1])
    assert {name: loads[name]["duration"] for name in ("tcp_stream", "tcp_crr")} == {
        "tcp_stream": 0.25,
        "tcp_crr": 1,
    }
    with pytest.raises(InputError, match="measures TCP_CRR for 1 s at least"):
        campaign(duration=0.25, workloads=["tcp_crr"])


def test_cells_that_cannot_be_short_count_for_what_they_take():
    costs = spending.Costs(0, 0, overhead=1.0, visits=2, shortest=[0.25, 1.0], serial_share=0.5)
    assert costs.block(0.25) == pytest.approx(2 * (1 + 0.5 * 1.25))
    assert costs.length(0.25) == pytest.approx(2 / (4 + 1))


def test_the_shipped_campaign_spends_its_half_hour():
    shipped = load_campaign(str(CHECKOUT / "playbooks/campaigns/half_an_hour.yml"))
    plan = design.make_plan(read_campaign(shipped), "2026-01-05T08:00:00Z")
    assert plan["time"]["budget"] == 1800
    assert plan["time"]["lengths"][0] == 0.25
    assert {load["duration"] for load in plan["workloads"]} == {0.25}


@pytest.mark.parametrize(
    "budget, mtus, blocks, seconds",
    [(240, [9000], 6, 0.25), (90, [9000], 3, 0.5), (240, [9000, 1500], 3, 0.5)],
)
def test_a_campaign_begins_with_six_short_blocks_where_its_budget_has_room_for_them(
    budget, mtus, blocks, seconds
):
    plan = made_plan(time_budget=budget, mtus=mtus)
    assert plan["time"]["first"] == blocks
    assert {load["duration"] for load in plan["workloads"]} == {seconds}
    assert {visit["block"] for visit in spending.first_part(plan)["visits"]} == set(
        range(1, blocks + 1)
    )


def decided(scatter, **changed):
    """Return a plan of six short blocks and three of 2 s, chosen from a scatter."""
    decision = {
        "block": 6,
        "blocks": 9,
        "seconds": 2,
        "spent": 1.0,
        "beside": 1.0,
        "scatter": scatter,
    }
    return spending.with_spending(made_plan(**changed), [decision])


def test_blocks_count_by_what_they_know():
    """Where cells alone scatter, eight times the length scatters by one over the root of eight."""
    of_cells = spending.block_weights(decided({"cell": 0.05, "visit": 0.0}))
    assert sum(of_cells) == pytest.approx(9)
    assert of_cells[:6] == [of_cells[0]] * 6 and of_cells[6:] == [of_cells[8]] * 3
    assert of_cells[8] == pytest.approx(math.sqrt(8) * of_cells[0])
    of_both = spending.block_weights(decided({"cell": 0.05, "visit": 0.05}))
    assert of_both[8] == pytest.approx(math.sqrt((1 + 4) / (1 + 0.5)) * of_both[0])


def test_a_report_counts_blocks_by_what_they_know():
    """The long blocks carry 1.5 times as much with the setting, the short ones twice: the report says
    how much the blocks carry on average, each by what it counts.
    """
    plan = decided({"cell": 0.05, "visit": 0.0})
    trials = trials_of(plan, noise=0.001)
    for trial in trials:
        if trial["profile"] == "all_on":
            for key in ("throughput_mbps", "transactions_per_s"):
                if trial["result"].get(key):
                    trial["result"][key] *= 2 if trial["block"] <= 6 else 1.5
    analysis = analyse(plan, trials)
    row = analysis.tables[0].metrics[0].rows[0]
    short, long = 6 * math.sqrt(0.25), 3 * math.sqrt(2)
    mean = (short * math.log(2) + long * math.log(1.5)) / (short + long)
    assert row.ratio == pytest.approx(math.exp(mean), rel=0.01)
    assert row.low < row.ratio < row.high
    assert (row.p, row.state) == (2 / 2**9, "better")
    assert analysis.methods.weights == pytest.approx(spending.block_weights(plan), rel=1e-5)
    assert "measured longer count 2.8 times as much" in analysis.scatter.text


@pytest.mark.parametrize("scatter", [None, {"cell": 0.0, "visit": 0.05}, {"cell": 0, "visit": 0}])
def test_blocks_that_know_as_much_count_alike(scatter):
    assert spending.block_weights(decided(scatter)) is None


def test_blocks_of_one_length_count_alike():
    assert spending.block_weights(made_plan()) is None
    first = spending.first_part(decided({"cell": 0.05, "visit": 0.0}))
    assert spending.block_weights(first) is None


def test_cells_that_are_always_as_long_make_blocks_more_alike():
    scatter = {"cell": 0.05, "visit": 0.0}
    long = 1200  # s, so that six blocks are short
    loads = ["tcp_stream", "tcp_crr"]
    mixed = spending.block_weights(decided(scatter, workloads=loads, time_budget=long))
    assert mixed[8] == pytest.approx(2 * math.sqrt(2) / (0.5 + 1) * mixed[0])
    loads = ["tcp_stream", {"name": "tcp_crr", "duration": 7}]
    beside = spending.block_weights(decided(scatter, workloads=loads, time_budget=long))
    assert beside[8] == pytest.approx(math.sqrt(8) * beside[0])


def test_a_decision_is_told_in_a_line():
    scatter = {"cell": 0.02, "visit": 0.05}
    decision = {
        "block": 3,
        "blocks": 20,
        "seconds": 0.25,
        "spent": 9,
        "beside": 0.9,
        "scatter": scatter,
    }
    text = spending.spending_text(decision)
    assert text.startswith("time budget: cells of 0.25 s, 20 blocks, 17 more")
    assert "whole visits by 5.0 %" in text
    assert "no further block" in spending.spending_text({**decision, "blocks": 3})
