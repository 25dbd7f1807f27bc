# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decisions of a search: the same from every prefix of its record, towards the best set, and
told in the report.
"""

from __future__ import annotations

import copy
import json
from xml.etree import ElementTree

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cube import collect
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    with_confirmation,
    with_search,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.schema import validate
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.visits import (
    MTU_SECONDS,
    longest_visit_seconds,
    visit_seconds,
)
from ansible_collections.offload.lab.plugins.plugin_utils._exports import pipeline
from ansible_collections.offload.lab.plugins.plugin_utils._report import sections
from ansible_collections.offload.lab.plugins.plugin_utils._report.quantities import shown_tables
from ansible_collections.offload.lab.plugins.plugin_utils._search import decide
from ansible_collections.offload.lab.tests.instruments.simulation import searching
from ansible_collections.offload.lab.tests.support import as_file, each_day

FACTORS = ["tso", "gso", "gro", "rx"]


def truth(levels):
    """Two settings that help; one of them does not while a third is on."""
    on = {name: level == "on" for name, level in levels.items()}
    return 0.4 * on["tso"] + 0.2 * on["gso"] - 0.3 * (on["tso"] and on["gso"]) + 0.1 * on["rx"]


@pytest.fixture(scope="module", name="searched")
def fixture_searched():
    """Return the plan, the machine, and the decisions and the record of a whole search."""
    plan = searching.make_search(trials=4, factors=FACTORS)
    machine = searching.Machine(truth, "plain", 5)
    return plan, machine, *searching.search(plan, machine)


def _visit(trial):
    return trial["block"], trial["visit"]


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_same_visits_follow_from_every_moment_at_which_it_was_killed(searched, every):
    plan, machine, decided, record = searched
    assert decided["rounds"] and decided["ended"]
    ends = [
        index
        for index in range(1, len(record))
        if _visit(record[index]) != _visit(record[index - 1])
    ]
    for length in [0, *ends[::every], len(record)]:
        kept = record[:length]
        blocks_kept = {trial["block"] for trial in kept}
        rounds = [
            round_ for round_ in decided["rounds"] if round_["visits"][0]["block"] in blocks_kept
        ]
        decided_before = {**decide.begin(plan), "rounds": rounds}
        again, measured = searching.search(plan, machine, copy.deepcopy(decided_before), kept)
        assert again == decided
        assert [trial["id"] for trial in measured] == [trial["id"] for trial in record]
        assert json.loads(json.dumps(again)) == again


def test_another_seed_searches_in_another_order(searched):
    plan, machine, _decided, _record = searched
    other = searching.make_search(seed=2, trials=4, factors=FACTORS)
    assert [visit["profile"] for visit in other["visits"]] != [
        visit["profile"] for visit in plan["visits"]
    ]
    assert searching.search(other, machine)[0]["nominees"][0]["levels"]["gso"] == "off"


def test_the_best_set_is_nominated_confirmed_and_told(searched):
    plan, machine, decided, record = searched
    best = {"tso": "on", "gso": "off", "gro": "off", "rx": "on"}
    assert {
        name: level for name, level in decided["nominees"][0]["levels"].items() if name != "gro"
    } == {name: level for name, level in best.items() if name != "gro"}  # gro does nothing
    assert [nominee["role"] for nominee in decided["nominees"]] == ["chosen", "all_on"]
    whole_plan = with_search(plan, decided)
    record = list(record)
    assert analyse(whole_plan, record).recommendation.name is None, "a search claims nothing"
    confirmation = confirmation_of(whole_plan, decided["nominees"])
    assert len(confirmation["visits"]) == 6 * 3
    assert confirmation["blocks"][0] == 2 + len(decided["rounds"])
    searching.measure(machine, confirmation["visits"], confirmation["profiles"], record)
    analysis = analyse(with_confirmation(whole_plan, confirmation), record)
    validate(as_file(analysis), "analysis", "analysis")
    assert analysis.unfinished is None
    assert analysis.trials.missing == analysis.trials.twice == analysis.trials.unplanned == 0
    recommended = analysis.recommendation
    assert recommended.confirmed_by == "confirmation"
    assert (recommended.levels["tso"], recommended.levels["gso"]) == ("on", "off")
    assert recommended.score.low < np.exp(truth(recommended.levels)) < recommended.score.high
    assert set(analysis.error_rate.by_kind) == {"comparisons", "sets"}
    names = analysis.names
    sentences, table = sections.search_section(analysis)
    assert len(table["rows"]) == -(-len(decided["rounds"]) // sections.IN_A_ROW) + 1
    visited = "; ".join(row["cells"][4] for row in table["rows"][:-1]).split("; ")
    assert visited == [
        names[visit["profile"]] for round_ in decided["rounds"] for visit in round_["visits"]
    ]
    assert names[recommended.name] in sentences[1]


def test_the_report_of_a_search_shows_what_was_confirmed_and_names_what_was_only_visited_as_measured(
    searched,
):
    plan, machine, decided, record = searched
    whole_plan = with_search(plan, decided)
    record = list(record)
    confirmation = confirmation_of(whole_plan, decided["nominees"])
    searching.measure(machine, confirmation["visits"], confirmation["profiles"], record)
    analysis = analyse(with_confirmation(whole_plan, confirmation), record)
    assert analysis.untestable == {}, "each set was measured"
    planned = analysis.tables[0].metrics[0]
    assert {(row.state, row.needs) for row in planned.rows} == {
        (None, None)
    } and not planned.warnings
    [shown] = shown_tables(analysis, ())
    confirmed = set(confirmation["profiles"]) - {"all_off"}
    assert {row.profile for row in shown.quantities[0].rows} == confirmed
    assert len(shown.medians["throughput"]) == len({*whole_plan["profiles"], *confirmed})
    recommended = analysis.recommendation
    assert {row.profile for row in recommended.against} == confirmed - {recommended.name}
    cases = [
        case
        for case in ElementTree.fromstring(pipeline.junit(analysis)).iter("testcase")
        if "effect of" in case.get("name")
    ]
    assert len(cases) == len(confirmed) and not any(
        case.find("skipped") is not None for case in cases
    )


def test_a_search_without_a_confirmation_has_a_report_that_claims_nothing(searched):
    plan, _machine, decided, record = searched
    analysis = analyse(with_search(plan, decided), record)
    assert analysis.recommendation.why == "a search recommends only what was confirmed"
    sentences, _table = sections.search_section(analysis)
    assert sentences[1].startswith("Nominated, but not visited again: ")
    assert analysis.names[decided["nominees"][0]["name"]] in sentences[1]
    [table] = shown_tables(analysis, ())
    assert {row.effect.outcome for row in table.quantities[0].rows} == {"unknown"}


def test_a_visit_counts_once_with_the_mean_of_its_trials_and_a_trial_only_once(searched):
    plan, _machine, _decided, record = searched
    first_block = [trial for trial in record if trial["block"] == 1]
    cube = collect(plan, [*first_block, first_block[0]])
    mean = np.mean(
        [
            trial["result"]["throughput_mbps"]
            for trial in first_block
            if trial["profile"] == "all_off"
        ]
    )
    assert cube.values["throughput"][0, 0, 0] == pytest.approx(mean)
    assert (cube.counts["used"], cube.counts["twice"]) == (len(first_block), 1)


def test_an_open_search_claims_nothing_and_says_so(searched):
    plan, _machine, decided, record = searched
    whole_plan = with_search(
        plan, {**decided, "rounds": decided["rounds"][:1], "ended": None, "nominees": []}
    )
    analysis = analyse(whole_plan, [trial for trial in record if trial["block"] <= 2])
    assert "the search has not ended" in analysis.unfinished.text
    assert analyse(whole_plan, [], running=True).nominated == []


def test_a_set_that_stalls_is_not_nominated(searched):
    plan, machine, _decided, _record = searched

    class Stalling(searching.Machine):
        def visit(self, visit, levels, index):
            trials_of_visit = super().visit(visit, levels, index)
            if levels["tso"] == "on" and levels["gro"] == "on":
                for trial in trials_of_visit[::4]:
                    trial.update(result={}, error="netperf: connection refused")
            return trials_of_visit

    decided, _record = searching.search(
        plan,
        Stalling(
            lambda levels: truth(levels) + 0.2 * (levels["tso"] == levels["gro"] == "on"),
            "plain",
            machine.seed,
        ),
    )
    record = _record
    stalled = {trial["profile"] for trial in record if trial["error"]}
    assert stalled
    assert decided["nominees"][0]["name"] not in stalled


def test_where_every_set_stalls_a_search_still_ends():
    class Stalling(searching.Machine):
        def visit(self, visit, levels, index):
            trials_of_visit = super().visit(visit, levels, index)
            trials_of_visit[0].update(result={}, error="netperf: connection refused")
            return trials_of_visit

    plan = searching.make_search(trials=4, factors=FACTORS[:2])
    decided, _record = searching.search(
        plan, Stalling(lambda levels: 0.2 * (levels["tso"] == "on"), "plain", 3)
    )
    assert decided["ended"] and decided["standing"]["best"]


def test_where_nothing_is_measured_a_search_ends():
    class Failing(searching.Machine):
        def visit(self, visit, levels, index):
            trials_of_visit = super().visit(visit, levels, index)
            for trial in trials_of_visit:
                trial.update(result={}, error="netperf: connection refused")
            return trials_of_visit

    plan = searching.make_search(trials=4, factors=FACTORS)
    decided, _record = searching.search(plan, Failing(truth, "plain", 3))
    assert (decided["ended"], decided["rounds"], decided["nominees"]) == (
        "nothing measured",
        [],
        [],
    )


def test_a_model_that_is_sure_is_tried_before_it_is_believed(monkeypatch):
    monkeypatch.setattr(decide, "ANSWERED", 0.5)  # it is surer than that after the first visits
    sure = searching.Machine(
        lambda levels: sum(level == "on" for level in levels.values()), "plain", 3
    )
    decided, _record = searching.search(searching.make_search(factors=FACTORS), sure)
    assert (decided["ended"], len(decided["rounds"])) == ("answered", decide.FEWEST_ROUNDS)
    assert decided["rounds"][0]["standing"]["sure"] > 0.5
    names = [nominee["name"] for nominee in decided["nominees"]]
    assert len(set(names)) == len(names), "the best set has all on: it is nominated once"


def test_the_time_budget_ends_it(monkeypatch):
    plan = searching.make_search(factors=FACTORS, trials=4, time_budget="40 min")
    assert plan["search"]["limit"] == "time_budget"
    assert plan["estimated_s"] <= 40 * 60
    with pytest.raises(InputError, match="time budget"):
        searching.make_search(factors=FACTORS, time_budget="60 s")
    flat = searching.Machine(lambda levels: 0.0, "unequal scatter", 3)
    decided, _record = searching.search({**plan, "search": {**plan["search"], "rounds": 1}}, flat)
    assert (decided["ended"], len(decided["rounds"])) == ("time_budget", 1)
    monkeypatch.setattr(
        decide, "MOST_BLOCKS", 1
    )  # the most rounds of any search: then no time was short
    assert decide.decide(plan, {**decided, "ended": None}, _record)["ended"] == "visits"


@pytest.mark.parametrize("minutes", each_day([None], [None, 60]))
def test_where_trials_scatter_later_visits_have_more_of_them_within_the_time_budget(minutes):
    more = {} if minutes is None else {"time_budget": f"{minutes} min"}
    plan = searching.make_search(factors=FACTORS, trials=4, **more)
    loud = searching.Machine(truth, "unequal scatter", 3)  # half of the sets by 20 %
    decided, _record = searching.search(plan, loud)
    whole_plan = with_search(plan, decided)
    cells_of_visits = [
        len(visit["cells"]) for round_ in decided["rounds"] for visit in round_["visits"]
    ]
    assert cells_of_visits == [
        round_["trials"] for round_ in decided["rounds"] for _visit in round_["visits"]
    ]
    assert max(cells_of_visits) > 4
    confirmation = confirmation_of(whole_plan, decided["nominees"])
    assert {len(visit["cells"]) for visit in confirmation["visits"]} == {decided["trials"]}
    assert longest_visit_seconds(plan) == visit_seconds({**plan, "trials": 16})
    if minutes is None:
        assert decided["trials"] == 16, "four times as many, at most"
    else:
        visits_made = [*whole_plan["visits"], *confirmation["visits"]]
        seconds = sum(
            visit_seconds({**plan, "trials": len(visit["cells"])}) for visit in visits_made
        )
        assert MTU_SECONDS + seconds <= 60 * minutes


def test_the_time_budget_is_kept_to_the_last_round():
    plan = searching.make_search(factors=FACTORS, trials=4, time_budget="40 min")
    rounds = [{"trials": 4}] * (plan["search"]["rounds"] - 1)
    assert decide.affordable(plan, {"rounds": rounds}, 4) == 4
    assert decide.affordable(plan, {"rounds": [*rounds, {"trials": 5}]}, 4) == 0
    assert decide.affordable(plan, {"rounds": [{}] * len(rounds)}, 4) == 4, (
        "as earlier versions wrote them"
    )


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(InputError, match="no number of blocks"):
        searching.make_search(blocks=3)
    with pytest.raises(InputError, match="one MTU"):
        searching.make_search(mtus=[1500, 9000])
    with pytest.raises(InputError, match="combinations cannot be searched"):
        searching.make_search(factors=[f"f{number}" for number in range(13)])


def test_what_is_not_reachable_is_neither_visited_nor_nominated():
    plan = searching.make_search(factors=["tx", "gro", "rx"])
    factors = [
        *plan["factors"],
        {**plan["factors"][0], "name": "tso", "settings": ["tso"], "needs": ["tx"]},
    ]
    plan = searching.make_search(factors=["tx", "gro", "rx", "tso"])
    plan["factors"] = [
        next(factor_found for factor_found in factors if factor_found["name"] == factor["name"])
        for factor in plan["factors"]
    ]
    machine = searching.Machine(
        lambda levels: 0.3 * (levels["tso"] == "on") - 0.2 * (levels["tx"] == "on"), "plain", 1
    )
    decided, _record = searching.search(plan, machine)
    rounds = [
        profile["levels"] for round_ in decided["rounds"] for profile in round_["profiles"].values()
    ]
    assert all(
        levels["tx"] == "on"
        for levels in [*rounds, *(profile["levels"] for profile in decided["nominees"])]
        if levels["tso"] == "on"
    )


@pytest.mark.nightly  # one search finds the best set and confirms it, above
def test_few_searches_choose_a_set_that_is_much_worse_than_the_best():
    """A short form of the table in docs/decisions/statistics.md."""
    campaigns_run = [searching.campaign(seed, seed % 4, 3, "plain") for seed in range(8)]
    assert max(row[2] for row in campaigns_run) <= 45
    assert sum(row[1] is None or row[1] > searching.WRONG for row in campaigns_run) <= 1


@pytest.mark.nightly
@pytest.mark.parametrize("noise", ["plain", "AR(1)", "skewed"])
def test_a_gain_of_three_together_beside_a_trap_is_found(noise):
    """As many as were seen to be wrong at most, 1 of these 12 under AR(1): see
    docs/decisions/search.md.
    """
    losses = [searching.hard_loss(seed, noise) for seed in range(12)]
    assert sum(loss > searching.HARD_WRONG for loss in losses) <= 1
