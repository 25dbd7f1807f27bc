# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who leads, and what to set, in words: several leaders, none, both ends, disputes, the better level of two."""
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils import _report_advice as advice

TABLE = {"id": "t", "pair": None, "path": "physical", "mtu": 9000, "workload": "tcp_stream", "test": "TCP_STREAM"}
OTHER = dict(TABLE, id="u", path="tenant_vxlan")


def candidate(factor, ratio, verdict="better"):
    return {"factor": factor, "level": "on", "base": "off", "n": 7, "ratio": ratio, "low": ratio * 0.95,
            "high": ratio * 1.05, "verdict": verdict}


def entry(table, *candidates, leaders=(), side="both", end=None):
    return {"goal": "tcp_throughput", "side": side, "table": table, "end": end, "leaders": list(leaders),
            "separated": len(leaders) == 1, "candidates": list(candidates)}


@pytest.mark.parametrize(("entries", "said"), [
    ([entry("t", candidate("tso", 1.4), leaders=["tso"])],
     ("better", "TCP throughput: tso=on leads for TCP_STREAM over physical at MTU 9000: 40 % more (33 to 47 %).")),
    ([entry("t", candidate("tso", 1.4), leaders=["tso"]),
      entry("u", candidate("tso", 1.5), candidate("gro", 1.45), leaders=["tso", "gro"])],
     ("better", "TCP throughput: tso=on leads in 2 of 2 comparisons, most for TCP_STREAM over tenant_vxlan at MTU "
                "9000: 50 % more (42 to 58 %). Not told apart from it, or leading elsewhere: gro=on.")),
    ([entry("t", candidate("tso", 3.7, "same"), candidate("gro", 1.1), leaders=["gro"])],
     ("better", "TCP throughput: gro=on leads for TCP_STREAM over physical at MTU 9000: 10 % more (4.5 to 16 %). "
                "Gained more there, but was not shown: tso=on (3.70 in 7 blocks).")),
    ([entry("t", candidate("tso", 1.0, "same"))], ("same", "TCP throughput: no setting was shown to help.")),
    ([entry("t", candidate("tso", 1.0, "unknown"))], ("unknown", "TCP throughput: too few blocks for a test.")),
    ([entry("t", candidate("tso", 1.4), leaders=["tso"], side="transmitter", end="client")],
     ("better", "TCP throughput, set at the transmitter: tso=on leads for TCP_STREAM over physical at MTU 9000 at the "
                "client: 40 % more (33 to 47 %)."))])
def test_sentences(entries, said):
    found = advice.sentences(entries, [TABLE, OTHER])
    assert [(item["verdict"], item["text"]) for item in found] == [said]


def test_leader_table_names_the_next():
    entries = [entry("t", candidate("tso", 1.4), candidate("gro", 1.2), leaders=["tso"]),
               entry("u", candidate("tso", 1.0, "same"))]
    rows = advice.leader_table(entries, {"t": "physical", "u": "tenant"})["rows"]
    assert [row["cells"] for row in rows] == [
        ["TCP throughput", "physical", "tso=on 1.40 (1.33 to 1.47)", "yes", "gro=on 1.20"],
        ["TCP throughput", "tenant", "~", "", "–"]]
    assert advice.leader_table([], {}) is None


@pytest.mark.parametrize(("metric", "ratio", "expected"), [
    ("throughput", 1.25, (1.25, 1.0, 1.6)), ("throughput", 0.8, (1.25, 1.0, 1.6)),
    ("service_demand_client", 0.8, (0.8, 0.625, 1.0)), ("service_demand_client", 1.25, (0.8, 0.625, 1.0))])
def test_evidence_is_told_of_the_better_level(metric, ratio, expected):
    found = advice.as_set({"metric": metric, "ratio": ratio, "low": 1.0 if ratio > 1 else 0.625,
                           "high": 1.6 if ratio > 1 else 1.0})
    assert (found["ratio"], found["low"], found["high"]) == pytest.approx(expected)


def evidence(ratio, metric="throughput"):
    return {"metric": metric, "ratio": ratio, "low": ratio - 0.1, "high": ratio + 0.1, "table": "t", "end": None}


def goal(name, *settings, profile=None, shared=()):
    chosen = [{"factor": factor, "level": level, "instead_of": "off", "evidence": list(own)}
              for factor, level, own in settings]
    return {"goal": name, "profile": profile, "note": "a note", "evidence": list(shared), "conflicts": [],
            "settings": chosen}


def test_recommendations_by_setting():
    found = advice.recommendations({"conflicts": [], "goals": [
        goal("tcp_throughput", ("tso", "on", [evidence(1.4), evidence(1.6)]), ("gro", "off", [evidence(0.8)])),
        goal("udp_throughput", ("tso", "on", [evidence(1.2)]))]}, {"lro": "fixed by the driver"})
    assert [row["cells"] for row in found["table"]["rows"]] == [
        ["tso=on", "TCP throughput 1.60 (1.50 to 1.70, 2 comparisons); UDP throughput 1.20 (1.10 to 1.30)"],
        ["gro=off", "TCP throughput 1.25 (1.11 to 1.43)"]]
    assert found["notes"][:2] == ["A note.", "Not tested: lro, fixed by the driver."]


def test_recommendation_of_a_profile_is_one_row():
    found = advice.recommendations({"conflicts": [], "goals": [goal(
        "tcp_throughput", ("tso", "on", []), ("gro", "on", []), profile="all_on", shared=[evidence(1.4)])]}, {})
    assert [row["cells"][0] for row in found["table"]["rows"]] == ["tso=on, gro=on"]


def test_disputes_are_told():
    found = advice.recommendations({"goals": [], "conflicts": [
        {"factor": "gro", "levels": {"on": ["tcp_throughput"], "off": ["tcp_latency"]}},
        {"factor": "tso", "within": ["udp_cpu"]}]}, {})
    assert found["table"]["rows"] == []
    assert found["notes"] == [
        "No setting was shown to help in one comparison and to harm in none.",
        "gro: the goals disagree (on for TCP throughput; off for TCP latency (p99)), so it is left as it is.",
        "tso: it helps in one comparison and harms in another (UDP service demand), so it is left as it is."]
