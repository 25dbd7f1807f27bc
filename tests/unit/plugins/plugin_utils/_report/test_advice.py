# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who leads, and what to set, in words: several leaders, none, both ends, what is not confirmed."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._report import advice

TABLE = {
    "id": "t",
    "pair": None,
    "path": "physical",
    "mtu": 9000,
    "workload": "tcp_stream",
    "test": "TCP_STREAM",
}
OTHER = dict(TABLE, id="u", path="tenant_vxlan")


def candidate(factor, ratio, verdict="better"):
    return {
        "factor": factor,
        "level": "on",
        "base": "off",
        "n": 7,
        "ratio": ratio,
        "low": ratio * 0.95,
        "high": ratio * 1.05,
        "state": verdict,
    }


def entry(table, *candidates, leaders=(), side="both", end=None):
    return {
        "goal": "tcp_throughput",
        "side": side,
        "table": table,
        "end": end,
        "leaders": list(leaders),
        "separated": len(leaders) == 1,
        "candidates": list(candidates),
    }


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            [entry("t", candidate("tso", 1.4), leaders=["tso"])],
            (
                "better",
                "TCP throughput: tso=on leads for TCP_STREAM over physical at MTU 9000: 40 % more (33 to 47 %).",
            ),
        ),
        (
            [
                entry("t", candidate("tso", 1.4), leaders=["tso"]),
                entry("u", candidate("tso", 1.5), candidate("gro", 1.45), leaders=["tso", "gro"]),
            ],
            (
                "better",
                "TCP throughput: tso=on leads in 2 of 2 comparisons, most for TCP_STREAM over tenant_vxlan at MTU "
                "9000: 50 % more (42 to 58 %). Not shown to differ from it, or leading elsewhere: gro=on.",
            ),
        ),
        (
            [entry("t", candidate("tso", 3.7, "same"), candidate("gro", 1.1), leaders=["gro"])],
            (
                "better",
                "TCP throughput: gro=on leads for TCP_STREAM over physical at MTU 9000: 10 % more (4.5 to 16 %). "
                "Gained more there, but was not shown: tso=on (3.70 in 7 blocks).",
            ),
        ),
        (
            [entry("t", candidate("tso", 1.0, "same"))],
            ("same", "TCP throughput: no setting helps by an amount that matters."),
        ),
        (
            [entry("t", candidate("tso", 1.0, "unknown"))],
            ("unknown", "TCP throughput: no setting was shown to help."),
        ),
        (
            [entry("t", candidate("tso", 1.4), leaders=["tso"], side="transmitter", end="client")],
            (
                "better",
                "TCP throughput, set at the transmitter: tso=on leads for TCP_STREAM over physical at MTU 9000 at the "
                "client: 40 % more (33 to 47 %).",
            ),
        ),
    ],
)
def test_sentences(entries, said):
    found = advice.sentences(entries, [TABLE, OTHER])
    assert [(item["verdict"], item["text"]) for item in found] == [said]


def test_leader_table_names_the_next():
    entries = [
        entry("t", candidate("tso", 1.4), candidate("gro", 1.2), leaders=["tso"]),
        entry("u", candidate("tso", 1.0, "same")),
    ]
    rows = advice.leader_table(entries, {"t": "physical", "u": "tenant"})["rows"]
    assert [row["cells"] for row in rows] == [
        ["TCP throughput", "physical", "tso=on 1.40 (1.33 to 1.47)", "yes", "gro=on 1.20"],
        ["TCP throughput", "tenant", "~", "", "–"],
    ]
    assert advice.leader_table([], {}) is None


def effect(ratio, state="better", metric="throughput", end=None):
    return {
        "table": "t",
        "metric": metric,
        "end": end,
        "goal": "tcp_throughput",
        "n": 6,
        "ratio": ratio,
        "low": ratio - 0.1,
        "high": ratio + 0.1,
        "state": state,
    }


def findings(**changed):
    recommendation = {
        "name": "tso=on",
        "levels": {"tso": "on", "gro": "off"},
        "changes": {"tso": "on"},
        "settings": {},
        "goals": [],
        "confirmed": False,
        "confirmed_by": None,
        "score": {"ratio": 1.2, "low": 1.1, "high": 1.3, "n": 6},
        "by": [effect(1.4), effect(0.98, "unknown", "service_demand_client", "client")],
        "costs_unknown_in": [effect(0.98, "unknown", "service_demand_client", "client")],
        "best": False,
        "not_told_apart": ["gro=on"],
        "forbidden": [{"profile": "gso=on", "reason": "3 of 6 trials failed"}],
        "why": "",
        "against": [],
    }
    return {
        "recommendation": dict(recommendation, **changed),
        "matters": 3.0,
        "untestable": {"lro": "fixed"},
        "changes_fewest": True,
        "names": {name: name for name in ("tso=on", "gro=on", "gso=on")},
    }


def test_the_recommended_set_is_shown_table_by_table_with_what_is_not_known():
    advice_of = advice.recommendations(findings(), {"t": "physical"})
    assert advice_of["set"] == "tso=on" and not advice_of["confirmed"]
    assert [row["cells"] for row in advice_of["table"]["rows"]] == [
        ["physical", "throughput", "1.40", "1.30 to 1.50", "better"],
        ["physical", "service demand at the client", "0.980", "0.88 to 1.08", "?"],
    ]
    assert advice_of["notes"] == [
        "Not confirmed: playbooks/apply.yml takes it only with -e offload_lab_allow_unconfirmed=true.",
        "Over all tables, throughput and CPU cost counted alike: 1.20 (1.10 to 1.30, 6 blocks).",
        "Not known whether it costs more than 3 % in 1 comparison: those marked ?.",
        "Not shown to differ from it: gro=on. It changes the fewest settings.",
        "Refused: gso=on, 3 of 6 trials failed.",
        "Not tested: lro, fixed.",
        "For these hosts, drivers and workloads only. recommended.yml has it for playbooks/apply.yml.",
    ]


def test_what_was_confirmed_with_it_is_compared_with_the_recommended_set():
    others = [{"profile": "gro=on", "n": 6, "ratio": 1.08, "low": 1.02, "high": 1.14}]
    found = dict(
        findings(against=others), changes_fewest=False, names={"gro=on": "all_on but tso=off"}
    )
    found["recommendation"]["forbidden"] = []
    told = advice.recommendations(found, {"t": "physical"})
    assert [row["cells"] for row in told["against"]["rows"]] == [
        ["all_on but tso=off", "1.08", "1.02 to 1.14"]
    ]
    assert "Not shown to differ from it: all_on but tso=off." in told["notes"]
    assert advice.recommendations(findings(), {"t": "physical"})["against"] is None


def test_nothing_recommended_says_why():
    nothing = findings(
        name=None,
        by=[],
        changes={},
        score=None,
        costs_unknown_in=[],
        not_told_apart=[],
        forbidden=[],
        why="no set was shown to be better",
    )
    assert advice.recommendations(nothing, {})["notes"][0] == "No set was shown to be better."
