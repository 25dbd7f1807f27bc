# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first lines of a report tell it right: two modes, stalls, an interaction, too few blocks, not
finished.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import (
    Analysis,
    SetEffect,
)
from ansible_collections.offload.lab.plugins.plugin_utils._figures.nouns import NamedTable
from ansible_collections.offload.lab.plugins.plugin_utils._report import answer, page
from ansible_collections.offload.lab.plugins.plugin_utils._trials.digest import Digest
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.report_pages import campaign
from ansible_collections.offload.lab.tests.unit.builders import made, shown_row

PLAN = {
    "control": "all_off",
    "blocks": 6,
    "design": "one_at_a_time",
    "factors": [],
    "profiles": {"all_off": {}},
}
SCORE = {"n": 9, "ratio": 1.3, "low": 1.2, "high": 1.4}
FIRST = "Set tso=on: 50 % more throughput than all_off (40 to 60 %) for TCP_STREAM over physical at MTU 9000"
DECIDED = {
    "profiles": {"all_off": {"role": "control"}}
}  # there was nothing to confirm: going on measures nothing


def effect(ratio, state="better", metric="throughput", end=None, table="t"):
    return made(
        SetEffect,
        **{
            "table": table,
            "metric": metric,
            "end": end,
            "goal": "tcp_throughput",
            "n": 6,
            "ratio": ratio,
            "low": ratio - 0.1,
            "high": ratio + 0.1,
            "state": state,
        },
    )


def row(ratio, verdict, needs=None, n=6, label="tso=on"):
    return shown_row(
        **{
            "profile": label,
            "label": label,
            "n": n,
            "ratio": ratio,
            "low": ratio - 0.1,
            "high": ratio + 0.1,
            "verdict": verdict,
            "needs": needs,
        }
    )


def table(*rows):
    return made(
        NamedTable,
        **{
            "id": "t",
            "title": "t",
            "pair": None,
            "path": "physical",
            "mtu": 9000,
            "workload": "tcp_stream",
            "test": "TCP_STREAM",
            "saturated": False,
            "failures": [],
            "quantities": [
                {"group": "main", "label": "throughput", "control": "all_off", "rows": list(rows)}
            ],
        },
    )


RECOMMENDATION = {
    "name": "tso=on",
    "changes": {"tso": "on"},
    "levels": {},
    "settings": {},
    "goals": [],
    "score": None,
    "confirmed": True,
    "confirmed_by": "confirmation",
    "by": [effect(1.4), effect(1.1, table="u")],
    "costs_unknown_in": [],
    "not_told_apart": [],
    "forbidden": [],
    "why": "",
    "best": True,
}


def lines(recommendation=None, tables=None, digest=None, plan=None, **values_given):
    analysis = made(
        Analysis,
        **{
            "recommendation": dict(RECOMMENDATION, **(recommendation or {})),
            "confirmation": {"blocks": 6},
            "methods": {"matters_percent": 3.0},
            "control": "all_off",
            "profiles": {name: {} for name in ("all_off", "tso=on", "gro=on")},
            **values_given,
        },
    )
    if digest is None:
        digest = Digest("all_off")
        digest.trials = 12
    tables = tables or [table(row(1.4, "better"))]
    return answer.answer(analysis, tables, dict(PLAN, **(plan or {})), digest, [])


MANY = [effect(1.5), *(effect(1.4 + number / 100, table=f"t{number}") for number in range(5))]
DEMAND = effect(0.5, metric="service_demand", end="client")


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (
            [effect(1.5), effect(1.25, table="u")],
            f"{FIRST}; 25 % more throughput (15 to 35 %) for u; shown in 2 of 2 tables.",
        ),
        (
            [effect(1.5), effect(1.45, state="unknown", table="u")],
            f"{FIRST}; shown in 1 of 2 tables.",
        ),
        ([effect(1.5), DEMAND], f"{FIRST}."),
        (
            MANY,
            "Set tso=on: 40 to 50 % more throughput than all_off (intervals within 30 to 60 %); "
            "shown in 6 of 6 tables.",
        ),
        (
            [replace(row, ratio=row.ratio + 1, high=row.high + 1) for row in MANY],
            "Set tso=on: 2.40 to 2.50 times the throughput of all_off (intervals within 1.30 to 2.60); "
            "shown in 6 of 6 tables.",
        ),
        (
            [effect(1.5, state="unknown"), DEMAND],
            "Set tso=on: 50 % less service demand at the client than all_off (40 to 60 %) for "
            "TCP_STREAM over physical at MTU 9000.",
        ),
        (
            [effect(1.5, state="unknown"), effect(1.4, state="unknown", table="u")],
            "Set tso=on: better than all_off by 30 % (20 to 40 %) on average over all tables, throughput "
            "and CPU cost counted alike; shown in 0 of 2 tables.",
        ),
    ],
    ids=(
        "each",
        "one of two",
        "throughput alone",
        "a range",
        "times",
        "cost alone",
        "the mean alone",
    ),
)
def test_the_first_line_has_each_shown_comparison_with_its_interval(by, expected):
    first, second = lines({"by": by, "score": SCORE, "confirmed_by": "plan"})[:2]
    assert first["text"] == expected
    mean = "This mean is 30 % (20 to 40 %)."
    assert (mean in second["text"]) == any(row.state == "better" for row in by)


@pytest.mark.parametrize(
    ("ended", "expected"), [("visits", True), ("time_budget", True), ("answered", False)]
)
def test_a_search_that_is_not_sure_says_so_beside_its_set(ended, expected):
    second = lines(search={"ended": ended, "standing": {"sure": 0.62}})[1]["text"]
    assert ("is not known: the search ended 62 % sure." in second) == expected


@pytest.mark.parametrize(("share", "expected"), [(0.5, "Half of the variance"), (0.2, "")])
def test_what_took_time_from_the_campaign_is_said(share, expected):
    scatter = {"meanwhile": [{"what": "steal", "share": share}]}
    texts = [entry["text"] for entry in lines(scatter=scatter)]
    assert any("hypervisor" in entry for entry in texts) == bool(expected)
    assert not expected or any(entry.startswith(expected) for entry in texts)


@pytest.mark.parametrize(
    ("plan", "command"),
    [
        ({"confirm": 6}, answer.GO_ON),
        ({"confirm": 0}, answer.measure({"confirm": 6})),
        ({"confirm": 6, **DECIDED}, answer.measure({"blocks": 12})),
        ({"confirm": 6, "blocks": 31, **DECIDED}, ""),
    ],
)
def test_what_is_not_confirmed_says_so_first_and_how_to_confirm_it(plan, command):
    sentences = lines(
        {"confirmed": False, "confirmed_by": None, "not_told_apart": ["gro=on"]}, plan=plan
    )
    assert sentences[0]["tone"] == "unknown" and sentences[0]["text"].startswith(
        "Best so far, not confirmed: tso=on, 40 %"
    )
    assert sentences[1]["text"].endswith(
        "Not shown to differ from it: gro=on. It changes the fewest settings."
    )
    assert sentences[-1]["command"] == command


def test_an_unfinished_campaign_claims_nothing_and_says_how_to_finish_it():
    missing = {
        "visits_missing": 4,
        "trials_missing": 8,
        "seconds": 120.0,
        "extended": False,
        "text": "4 of 21 visits were not measured: nothing is claimed",
    }
    sentences = lines(unfinished=missing)
    assert sentences[0]["text"].startswith("4 of 21 visits were not measured: nothing is claimed.")
    assert sentences[-1] == {
        "tone": "note",
        "text": "To finish it, about 2 min:",
        "command": answer.GO_ON,
    }
    assert not any(line["tone"] == "better" for line in sentences)


def test_lost_blocks_are_counted_in_what_would_settle_it():
    needs = {"blocks": 2, "seconds": 60.0, "text": "2 more blocks"}
    sentences = lines(
        {"name": None, "why": "no set was shown"}, [table(row(1.2, "unknown", needs, n=3))]
    )
    assert sentences[-1]["text"] == (
        "Not known in 1 of 1 comparison: 3 of 6 blocks could be compared; 10 blocks in place of 6 would "
        "settle it, about 5 min:"
    )
    assert sentences[-1]["command"] == answer.measure({"blocks": 10})
    hopeless = lines(
        {"name": None, "why": "no set was shown"},
        [table(row(1.001, "unknown", dict(needs, blocks=150)))],
    )
    assert "a quieter machine helps more" in hopeless[-1]["text"] and not hopeless[-1]["command"]


@pytest.mark.parametrize(
    ("needed", "expected"),
    [
        ((4, 4), "10 blocks in place of 6 would settle all 2,"),
        ((4, 9), "10 blocks in place of 6 would settle 1 of these 2,"),
        ((9, 4), "15 blocks in place of 6 would settle all 2,"),
        ((150, 4), "10 blocks in place of 6 would settle 1 of these 2,"),
        ((4, None), "10 blocks in place of 6 would settle 1 of these 2,"),
        ((150, 150), "more than 60 blocks would be needed."),
    ],
)
def test_the_remedy_counts_what_it_settles(needed, expected):
    rows = [
        row(ratio, "unknown", {"blocks": blocks, "seconds": 60.0, "text": ""}, label=str(ratio))
        for ratio, blocks in zip((1.3, 1.2), needed)
    ]
    sentences = lines({"name": None, "why": "no set was shown"}, [table(*rows)])
    assert f"Not known in 2 of 2 comparisons: {expected}" in sentences[-1]["text"]


def test_what_a_search_confirms_is_settled_by_more_blocks_of_its_confirmation():
    needs = {"blocks": 4, "seconds": 60.0, "text": "4 more blocks"}
    plan = {"design": "search", "blocks": 10, "confirm": 6}
    sentences = lines(
        {"name": None, "why": "no set was shown"}, [table(row(1.2, "unknown", needs))], plan=plan
    )
    assert sentences[-1]["command"] == answer.measure({"confirm": 10})


def test_a_saturated_cpu_and_ends_that_share_cpus_are_to_be_known():
    analysis = made(Analysis, methods={"one_host": True})
    tables = [replace(table(row(1.4, "better")), saturated=True)]
    sentences = page.caveats(
        analysis,
        tables,
        {"factors": []},
        Digest("all_off"),
        manifest={"nodes": {}},
        warnings=[],
    )
    assert sentences[0].startswith("A CPU was busy all the time for TCP_STREAM over physical")
    assert "one piece of evidence, not two" in sentences[0]
    assert sentences[1].startswith("Both ends share the CPUs of one machine")


def fails(profile, failed, forbids):
    return {
        "profile": profile,
        "trials": 32,
        "failed": failed,
        "shown": forbids,
        "forbids": "why" if forbids else None,
    }


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [fails("all_on", 1, False), fails("tso=off", 9, True), fails("gro=off", 0, False)],
            "tso=off 9 of 32, of all_on 1 of 32. What fails more is not recommended.",
        ),
        (
            [fails("all_on", 16, True), fails("tso=off", 0, False)],
            "16 of 32 with the control, all_on. Another profile fails less, so all_on is not recommended.",
        ),
        (
            [fails("all_on", 16, True), fails("tso=off", 20, True), fails("gro=off", 0, False)],
            "tso=off 20 of 32, of all_on 16 of 32. What fails more is not recommended.",
        ),
    ],
)
def test_a_control_that_fails_is_named_once(rows, expected):
    (line,) = answer.failing(made(Analysis, failures=rows))
    assert line["text"] == f"Trials that failed or received nothing: {expected}"


def test_nothing_is_said_where_nothing_fails_more():
    assert (
        answer.failing(
            made(Analysis, failures=[fails("all_on", 3, False), fails("tso=off", 2, False)])
        )
        == []
    )
    assert answer.failing(made(Analysis)) == []


def test_the_headline_does_not_announce_a_command_that_it_leaves_out(tmp_path):
    plan = synthetic.make_plan(1)
    trials = [trial for trial in synthetic.make_trials(plan) if trial["block"] == 1]
    headline = campaign(tmp_path, plan, trials)["headline"]
    assert "To finish it" in headline and headline.endswith(".")


def test_damage_with_the_recommended_profile_is_said():
    """A set that is faster, and with which packets arrive damaged, is not to be set unread."""
    digest = Digest("all_off")
    digest.trials = 12
    digest.damaged = {"tso=on": {"checksum_errors": 3, "drops": 1}, "all_off": {"timeouts": 1}}
    sentences = lines(digest=digest)
    assert (
        "With tso=on the kernels counted packets with wrong checksums in 3 trials and dropped "
        "packets in 1 trial: see Evidence." in [sentence["text"] for sentence in sentences]
    )
    assert not any("kernels counted" in sentence["text"] for sentence in lines())
