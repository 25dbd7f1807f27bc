# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.nominate import nominate
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.tests.unit.plugins.plugin_utils._analysis.example import (
    boost,
    checked,
    metric,
    plan,
    trials,
)


@pytest.mark.parametrize("visits", [1, 2])
def test_on_against_off(visits):
    """Only where a block visits the control twice there is a noise floor."""
    campaign_plan = plan(factors=["tso", "gro"], control_visits=visits)
    analysis = checked(campaign_plan, trials(campaign_plan, boost(tso=1.5)))
    row = metric(analysis)["rows"][0]
    assert row["profile"] == "all_on" and row["n"] == 8
    assert row["ratio"] == pytest.approx(1.5, rel=0.02) and row["low"] < 1.5 < row["high"]
    assert row["p"] == row["p_report"] == 2 / 2**8 and row["state"] == "better"
    assert metric(analysis)["control"]["n"] == 8 * visits
    floor = metric(analysis)["noise_floor"]
    assert floor is None if visits == 1 else 1 < floor < 1.05
    assert 1 < metric(analysis)["smallest_detectable"] < 1.1
    assert analysis["attribution"] == []
    recommendation = analysis["recommendation"]
    assert recommendation["name"] == "all_on" and recommendation["changes"] == {
        "tso": "on",
        "gro": "on",
    }
    assert recommendation["settings"]["client"] == {
        "underlay": {"features": {"tso": True, "gro": True}}
    }
    assert analysis["error_rate"]["text"].endswith("over all of its 2 tested effects together")


def test_nothing_differs_and_nothing_is_claimed():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b", "c", "d", "e", "f"])
    analysis = checked(campaign_plan, trials(campaign_plan))
    assert {row["state"] for row in metric(analysis)["rows"]} == {"same"}
    entry = analysis["attribution"][0]
    assert entry["leaders"] == [] and not entry["separated"]
    assert (
        analysis["recommendation"]["name"] is None and analysis["recommendation"]["settings"] == {}
    )


def test_below_six_blocks_there_is_an_interval_and_no_claim():
    campaign_plan = plan(factors=["tso"], blocks=5, control_visits=2)
    analysis = checked(campaign_plan, trials(campaign_plan, boost(tso=3.0)))
    row = metric(analysis)["rows"][0]
    assert (
        row["ratio"] == pytest.approx(3.0, rel=0.03) and 2.8 < row["low"] < 3.0 < row["high"] < 3.2
    )
    assert (row["p"], row["p_report"], row["state"]) == (None, None, "unknown")
    assert row["needs"]["blocks"] == 1 and row["needs"]["seconds"] > 0
    assert (
        metric(analysis)["noise_floor"] is not None
        and metric(analysis)["smallest_detectable"] is None
    )
    assert analysis["warnings"] == ["5 blocks give no test: 6 are needed"]
    assert analysis["recommendation"]["levels"] == {}


def test_below_three_blocks_there_is_no_interval():
    campaign_plan = plan(factors=["tso"], blocks=2)
    row = metric(checked(campaign_plan, trials(campaign_plan, boost(tso=3.0))))["rows"][0]
    assert (row["low"], row["high"], row["state"], row["needs"]["blocks"]) == (
        None,
        None,
        "unknown",
        4,
    )


def test_six_blocks_show_one_of_many_effects():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b", "c", "d", "e", "f"], blocks=6)
    metric_analysis = metric(checked(campaign_plan, trials(campaign_plan, boost(a=2.0))))
    assert [row["state"] for row in metric_analysis["rows"]][0] == "better"
    assert "better" not in [row["state"] for row in metric_analysis["rows"][1:]]


def test_what_does_not_matter_is_said_to_be_the_same():
    campaign_plan = plan(factors=["tso"], blocks=8, control_visits=2)
    row = metric(checked(dict(campaign_plan, matters=5), trials(campaign_plan, boost(tso=1.005))))[
        "rows"
    ][0]
    assert row["state"] == "same" and row["needs"] is None and row["high"] < 1.05
    row = metric(checked(dict(campaign_plan, matters=0.1), trials(campaign_plan)))["rows"][0]
    assert row["state"] == "unknown" and row["needs"]["blocks"] is None


def test_the_leader_is_named_where_it_is_separated():
    campaign_plan = plan(
        design="one_at_a_time", factors=["a", "b", "c"], paths=["physical", "tenant_vxlan"]
    )
    entry = checked(campaign_plan, trials(campaign_plan, boost(a=1.1, b=1.5, c=0.8)))[
        "attribution"
    ][0]
    assert (entry["goal"], entry["side"], entry["table"]) == (
        "tcp_throughput",
        "both",
        "physical/9000/tcp_stream",
    )
    assert entry["leaders"] == ["b"] and entry["separated"]
    assert [(row["factor"], row["rank"], row["state"]) for row in entry["candidates"]] == [
        ("b", 1, "better"),
        ("a", 2, "better"),
        ("c", 2, "worse"),
    ]


def test_equals_are_not_ranked():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b", "c"])
    entry = checked(campaign_plan, trials(campaign_plan, boost(a=1.3, b=1.3)))["attribution"][0]
    assert (
        sorted(entry["leaders"]) == ["a", "b"]
        and not entry["separated"]
        and entry["undecided"] == []
    )


def test_left_out_is_judged_as_switched_on():
    campaign_plan = plan(design="leave_one_out", factors=["a", "b"])
    analysis = checked(campaign_plan, trials(campaign_plan, boost(a=1.5, b=0.8)))
    assert [(row["profile"], row["state"]) for row in metric(analysis)["rows"]] == [
        ("a=off", "worse"),
        ("b=off", "better"),
    ]
    first = analysis["attribution"][0]["candidates"][0]
    assert (first["factor"], first["level"], first["base"], first["state"]) == (
        "a",
        "on",
        "off",
        "better",
    )
    assert (
        first["ratio"] == pytest.approx(1.5, rel=0.02)
        and first["low"] < first["ratio"] < first["high"]
    )
    assert (
        analysis["recommendation"]["name"] == "b=off"
        and not analysis["recommendation"]["confirmed"]
    )
    assert analysis["recommendation"]["levels"] == {"a": "on", "b": "off"}


def test_each_end_has_its_own_leader():
    campaign_plan = plan(
        design="one_at_a_time",
        factors=["tso", "gro"],
        sides=["tx", "rx"],
        blocks=9,
        workloads=["tcp_stream", "tcp_maerts"],
    )
    analysis = checked(
        campaign_plan, trials(campaign_plan, boost(**{"tso@tx": 1.5, "gro@tx": 1.1, "gro@rx": 1.3}))
    )
    leaders = {
        (entry["table"], entry["side"]): entry["leaders"] for entry in analysis["attribution"]
    }
    assert leaders == {
        ("physical/9000/tcp_stream", "transmitter"): ["tso@tx"],
        ("physical/9000/tcp_stream", "receiver"): ["gro@rx"],
        ("physical/9000/tcp_maerts", "receiver"): ["tso@tx"],
        ("physical/9000/tcp_maerts", "transmitter"): ["gro@rx"],
    }


def test_full_factorial_has_main_effects_and_interactions():
    def effect(levels, _test):
        both = levels["tso"] == levels["gso"] == "on"
        return boost(tso=1.4, gro=1.1)(levels, _test) * (1.2 if both else 1.0)

    campaign_plan = plan(design="full_factorial", factors=["tso", "gso", "gro"], blocks=8)
    metric_analysis = metric(checked(campaign_plan, trials(campaign_plan, effect)))
    mains = {row["factor"]: row["ratio"] for row in metric_analysis["main_effects"]}
    assert mains == {
        "tso": pytest.approx(1.4 * 1.2**0.5, rel=0.02),
        "gso": pytest.approx(1.2**0.5, rel=0.02),
        "gro": pytest.approx(1.1, rel=0.02),
    }
    pairs = {
        tuple(row["factors"]): (row["ratio"], row["state"])
        for row in metric_analysis["interactions"]
    }
    assert pairs["tso", "gso"] == (pytest.approx(1.2, rel=0.02), "better")
    assert pairs["tso", "gro"][1] == pairs["gso", "gro"][1] == "same"


def test_full_factorial_without_what_no_host_can_be_in():
    def effect(levels, _test):
        both = levels["tso"] == levels["gro"] == "on"
        return boost(tx=1.3, tso=1.4, gro=1.1)(levels, _test) * (1.2 if both else 1.0)

    campaign_plan = plan(
        design="full_factorial", factors=["tx", {"name": "tso", "needs": ["tx"]}, "gro"], blocks=8
    )
    metric_analysis = metric(checked(campaign_plan, trials(campaign_plan, effect)))
    assert len(metric_analysis["rows"]) == 5
    mains = {row["factor"]: row["ratio"] for row in metric_analysis["main_effects"]}
    assert mains == {
        "tx": pytest.approx(1.3, rel=0.02),
        "tso": pytest.approx(1.4 * 1.2**0.5, rel=0.02),
        "gro": pytest.approx(1.1 * 1.2**0.5, rel=0.02),
    }
    pairs = {
        tuple(row["factors"]): (row["ratio"], row["state"])
        for row in metric_analysis["interactions"]
    }
    assert set(pairs) == {("tx", "gro"), ("tso", "gro")}  # TSO without checksums was not measured
    assert pairs["tso", "gro"] == (pytest.approx(1.2, rel=0.02), "better")
    assert pairs["tx", "gro"][0] == pytest.approx(1.0, rel=0.02)


def test_service_demand_and_cpu_of_both_ends():
    campaign_plan = plan(design="one_at_a_time", factors=["tso", "gro"])
    demand = {
        "client": lambda levels: 0.5 if levels["tso"] == "on" else 1.0,
        "server": lambda levels: 0.4 if levels["gro"] == "on" else 1.0,
    }
    analysis = checked(campaign_plan, trials(campaign_plan, demand=demand))
    goals = {(entry["goal"], entry["end"]): entry["leaders"] for entry in analysis["attribution"]}
    assert goals == {
        ("tcp_throughput", None): [],
        ("tcp_cpu", "client"): ["tso"],
        ("tcp_cpu", "server"): ["gro"],
    }
    assert metric(analysis, "cpu_client_user")["control"]["median"] == 6.0
    assert metric(analysis, "cpu_server_busy")["control"]["median"] == 50.0
    steal = metric(analysis, "cpu_server_steal")
    assert steal["compared"] is False and steal["rows"][0] == {
        "profile": "tso=on",
        "n": 8,
        "median": 0.0,
        "q1": 0.0,
        "q3": 0.0,
    }


def test_what_the_hypervisor_took_is_named_as_the_cause_of_scatter():
    campaign_plan = plan(
        design="one_at_a_time", factors=["tso", "gro"], paths=["physical", "tenant"]
    )
    record = list(trials(campaign_plan, demand={}))
    generator = np.random.default_rng(2)
    for trial in record:
        steal = generator.exponential(1.0)
        trial["cpu"] = {"ends": {"client": {"percent": {"steal": steal}}}}
        trial["result"]["throughput_mbps"] *= np.exp(-0.03 * steal)
    scatter = checked(campaign_plan, record)["scatter"]
    assert [cause["what"] for cause in scatter["meanwhile"]] == ["steal"]
    assert 0.7 < scatter["meanwhile"][0]["share"] < 1
    assert "associated with CPU time that the hypervisor took" in scatter["text"]
    for trial in record:
        trial["cpu"]["ends"]["client"]["percent"]["steal"] = 1.0
    assert checked(campaign_plan, record)["scatter"]["meanwhile"] == []


def test_what_costs_cpu_is_not_recommended_for_its_throughput():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"])
    demand = {"client": lambda levels: 2.0 if levels["a"] == "on" else 1.0}
    recommendation = checked(campaign_plan, trials(campaign_plan, boost(a=1.5, b=1.2), demand))[
        "recommendation"
    ]
    assert recommendation["name"] == "b=on" and [
        row["profile"] for row in recommendation["forbidden"]
    ] == ["a=on"]
    assert "service demand 1.99" in recommendation["forbidden"][0]["reason"]


def test_help_in_one_table_and_harm_in_another_is_not_recommended():
    campaign_plan = plan(
        factors=["a"], design="one_at_a_time", workloads=["tcp_stream", "tcp_maerts"]
    )
    analysis = checked(
        campaign_plan,
        trials(
            campaign_plan,
            lambda levels, test: (
                1.0 if levels["a"] == "off" else {"TCP_STREAM": 1.5, "TCP_MAERTS": 0.7}[test]
            ),
        ),
    )["recommendation"]
    assert (
        analysis["name"] is None
        and "tcp_maerts" in analysis["forbidden"][0]["reason"]
        and analysis["why"]
    )


def test_what_only_harms_leaves_the_control():
    campaign_plan = plan(factors=["a", "b"])
    recommendation = checked(campaign_plan, trials(campaign_plan, boost(a=0.5)))["recommendation"]
    assert (
        recommendation["name"] == "all_off"
        and recommendation["levels"] == {"a": "off", "b": "off"}
        and recommendation["changes"] == {}
    )
    assert recommendation["best"] and recommendation["confirmed"]


def test_transactions_and_latency():
    campaign_plan = plan(factors=["a"], workloads=["tcp_rr"])
    analysis = checked(campaign_plan, trials(campaign_plan, boost(a=1.25)))
    assert [each["metric"] for each in analysis["tables"][0]["metrics"]] == [
        "transactions",
        "latency_mean",
        "latency_p99",
    ]
    assert metric(analysis, "transactions")["rows"][0]["state"] == "better"
    assert metric(analysis, "latency_p99")["rows"][0]["ratio"] == pytest.approx(0.8, rel=0.02)
    assert metric(analysis, "latency_p99")["rows"][0]["state"] == "better"


def test_drift_is_told():
    campaign_plan = plan(factors=["a"], blocks=10)
    metric_analysis = metric(checked(campaign_plan, trials(campaign_plan, drift=0.9)))
    assert (
        metric_analysis["drift"]["ratio_per_block"] == pytest.approx(0.9, rel=0.03)
        and metric_analysis["drift"]["p"] < 0.001
    )
    assert any("drift by -" in warning for warning in metric_analysis["warnings"])
    assert metric_analysis["rows"][0]["state"] == "same"


def test_one_host_bills_its_cpu_once():
    campaign_plan = plan(factors=["a"], blocks=6)
    rows = [
        dict(
            row,
            result=dict(
                row["result"],
                local_service_demand=2.0,
                remote_service_demand=2.0,
                local_cpu_percent=90.0,
                remote_cpu_percent=90.0,
            ),
        )
        for row in trials(campaign_plan)
    ]
    manifest = {
        "nodes": {
            "node1": {"before": {"kernel": {"boot_id": "a"}}},
            "node2": {"before": {"boot_id": "a"}},
        }
    }
    names = [
        each["metric"] for each in checked(campaign_plan, rows, manifest)["tables"][0]["metrics"]
    ]
    assert names == ["throughput", "service_demand_combined", "cpu_combined_busy"]
    manifest["nodes"]["node2"]["before"]["boot_id"] = "b"
    names = [
        each["metric"] for each in checked(campaign_plan, rows, manifest)["tables"][0]["metrics"]
    ]
    assert names == [
        "throughput",
        "service_demand_client",
        "service_demand_server",
        "cpu_client_busy",
        "cpu_server_busy",
    ]
    for row in rows:
        row["workload"] = dict(row["workload"], streams=4)
    assert [each["metric"] for each in checked(campaign_plan, rows)["tables"][0]["metrics"]] == [
        "throughput"
    ]


def test_pairs_have_tables_of_their_own():
    campaign_plan = plan(factors=["a"], pairs=["node1-node2", "node3-node4"])
    analysis = checked(campaign_plan, trials(campaign_plan, boost(a=1.5)))
    assert [table["id"] for table in analysis["tables"]] == [
        "node1-node2/physical/9000/tcp_stream",
        "node3-node4/physical/9000/tcp_stream",
    ]
    assert all(metric(analysis, table=number)["rows"][0]["state"] == "better" for number in (0, 1))


def test_the_order_of_the_record_does_not_matter():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"])
    rows = list(trials(campaign_plan, boost(a=1.2)))
    assert analyse(campaign_plan, rows) == analyse(campaign_plan, reversed(rows))


def test_the_confirmation_is_a_part_of_its_own():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"], verify=False)
    rows = list(trials(campaign_plan, boost(a=1.5, b=1.3)))
    nominees = nominate(campaign_plan, rows)
    assert [(nominee["role"], nominee["name"]) for nominee in nominees] == [
        ("chosen", "a=on,b=on"),
        ("runner_up", "a=on"),
    ]
    decided = confirmation_of(campaign_plan, nominees)
    whole_plan = {
        **campaign_plan,
        "profiles": {**campaign_plan["profiles"], **decided["profiles"]},
        "visits": [*campaign_plan["visits"], *decided["visits"]],
    }
    second = dict(whole_plan, visits=[visit for visit in whole_plan["visits"] if visit.get("part")])
    rows += [dict(row, part="confirm") for row in trials(second, boost(a=1.5, b=1.3))]
    analysis = checked(whole_plan, rows)
    assert (
        analysis["unfinished"] is None
        and analysis["trials"]["missing"] == 0
        and analysis["blocks"] == 8
    )
    assert set(analysis["confirmation"]["profiles"]) == {"all_off", "a=on,b=on", "a=on"}
    recommendation = analysis["recommendation"]
    assert (
        recommendation["name"] == "a=on,b=on"
        and recommendation["confirmed_by"] == "confirmation"
        and recommendation["best"]
    )
    assert (
        recommendation["by"][0]["ratio"] == pytest.approx(1.95, rel=0.02)
        and recommendation["by"][0]["n"] == 6
    )
    waiting = checked(whole_plan, rows[:-3])
    assert (
        waiting["unfinished"]["visits_missing"] == 3 and waiting["recommendation"]["name"] is None
    )


def test_where_nothing_helps_there_is_nothing_to_confirm():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"])
    assert (
        nominate(campaign_plan, trials(campaign_plan)) == [] and nominate(campaign_plan, []) == []
    )
    assert nominate(plan(factors=["a"]), trials(plan(factors=["a"]), boost(a=2.0))) == []
    assert nominate(campaign_plan, trials(campaign_plan, boost(a=1.5))) == [
        {"role": "chosen", "name": "a=on", "levels": {"a": "on", "b": "off"}}
    ]


def test_what_is_measured_again_is_not_missing():
    campaign_plan = plan(factors=["a"])
    rows = list(trials(campaign_plan, boost(a=1.5)))
    again = dict(rows[0], id=rows[0]["id"] + "-again")
    rows[0].update(marks=[{"guard": "steal", "reason": "r"}])
    analysis = checked(campaign_plan, [*rows, again])
    assert (
        analysis["trials"]["missing"] == 0
        and analysis["trials"]["excluded"] == 1
        and analysis["unfinished"] is None
    )
    assert metric(analysis)["rows"][0]["n"] == 8
