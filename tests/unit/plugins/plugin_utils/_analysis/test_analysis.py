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
    made = plan(factors=["tso", "gro"], control_visits=visits)
    found = checked(made, trials(made, boost(tso=1.5)))
    row = metric(found)["rows"][0]
    assert row["profile"] == "all_on" and row["n"] == 8
    assert row["ratio"] == pytest.approx(1.5, rel=0.02) and row["low"] < 1.5 < row["high"]
    assert row["p"] == row["p_report"] == 2 / 2**8 and row["state"] == "better"
    assert metric(found)["control"]["n"] == 8 * visits
    floor = metric(found)["noise_floor"]
    assert floor is None if visits == 1 else 1 < floor < 1.05
    assert 1 < metric(found)["smallest_detectable"] < 1.1
    assert found["attribution"] == []
    wanted = found["recommendation"]
    assert wanted["name"] == "all_on" and wanted["changes"] == {"tso": "on", "gro": "on"}
    assert wanted["settings"]["client"] == {"underlay": {"features": {"tso": True, "gro": True}}}
    assert found["error_rate"]["text"].endswith("over all of its 2 tested effects together")


def test_nothing_differs_and_nothing_is_claimed():
    made = plan(design="one_at_a_time", factors=["a", "b", "c", "d", "e", "f"])
    found = checked(made, trials(made))
    assert {row["state"] for row in metric(found)["rows"]} == {"same"}
    entry = found["attribution"][0]
    assert entry["leaders"] == [] and not entry["separated"]
    assert found["recommendation"]["name"] is None and found["recommendation"]["settings"] == {}


def test_below_six_blocks_there_is_an_interval_and_no_claim():
    made = plan(factors=["tso"], blocks=5, control_visits=2)
    found = checked(made, trials(made, boost(tso=3.0)))
    row = metric(found)["rows"][0]
    assert (
        row["ratio"] == pytest.approx(3.0, rel=0.03) and 2.8 < row["low"] < 3.0 < row["high"] < 3.2
    )
    assert (row["p"], row["p_report"], row["state"]) == (None, None, "unknown")
    assert row["needs"]["blocks"] == 1 and row["needs"]["seconds"] > 0
    assert metric(found)["noise_floor"] is not None and metric(found)["smallest_detectable"] is None
    assert found["warnings"] == ["5 blocks give no test: 6 are needed"]
    assert found["recommendation"]["levels"] == {}


def test_below_three_blocks_there_is_no_interval():
    made = plan(factors=["tso"], blocks=2)
    row = metric(checked(made, trials(made, boost(tso=3.0))))["rows"][0]
    assert (row["low"], row["high"], row["state"], row["needs"]["blocks"]) == (
        None,
        None,
        "unknown",
        4,
    )


def test_six_blocks_show_one_of_many_effects():
    made = plan(design="one_at_a_time", factors=["a", "b", "c", "d", "e", "f"], blocks=6)
    found = metric(checked(made, trials(made, boost(a=2.0))))
    assert [row["state"] for row in found["rows"]][0] == "better"
    assert "better" not in [row["state"] for row in found["rows"][1:]]


def test_what_does_not_matter_is_said_to_be_the_same():
    made = plan(factors=["tso"], blocks=8, control_visits=2)
    row = metric(checked(dict(made, matters=5), trials(made, boost(tso=1.005))))["rows"][0]
    assert row["state"] == "same" and row["needs"] is None and row["high"] < 1.05
    row = metric(checked(dict(made, matters=0.1), trials(made)))["rows"][0]
    assert row["state"] == "unknown" and row["needs"]["blocks"] is None


def test_the_leader_is_named_where_it_is_separated():
    made = plan(design="one_at_a_time", factors=["a", "b", "c"], paths=["physical", "tenant_vxlan"])
    entry = checked(made, trials(made, boost(a=1.1, b=1.5, c=0.8)))["attribution"][0]
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
    made = plan(design="one_at_a_time", factors=["a", "b", "c"])
    entry = checked(made, trials(made, boost(a=1.3, b=1.3)))["attribution"][0]
    assert (
        sorted(entry["leaders"]) == ["a", "b"]
        and not entry["separated"]
        and entry["undecided"] == []
    )


def test_left_out_is_judged_as_switched_on():
    made = plan(design="leave_one_out", factors=["a", "b"])
    found = checked(made, trials(made, boost(a=1.5, b=0.8)))
    assert [(row["profile"], row["state"]) for row in metric(found)["rows"]] == [
        ("a=off", "worse"),
        ("b=off", "better"),
    ]
    first = found["attribution"][0]["candidates"][0]
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
    assert found["recommendation"]["name"] == "b=off" and not found["recommendation"]["confirmed"]
    assert found["recommendation"]["levels"] == {"a": "on", "b": "off"}


def test_each_end_has_its_own_leader():
    made = plan(
        design="one_at_a_time",
        factors=["tso", "gro"],
        sides=["tx", "rx"],
        blocks=9,
        workloads=["tcp_stream", "tcp_maerts"],
    )
    found = checked(made, trials(made, boost(**{"tso@tx": 1.5, "gro@tx": 1.1, "gro@rx": 1.3})))
    leaders = {(entry["table"], entry["side"]): entry["leaders"] for entry in found["attribution"]}
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

    made = plan(design="full_factorial", factors=["tso", "gso", "gro"], blocks=8)
    found = metric(checked(made, trials(made, effect)))
    mains = {row["factor"]: row["ratio"] for row in found["main_effects"]}
    assert mains == {
        "tso": pytest.approx(1.4 * 1.2**0.5, rel=0.02),
        "gso": pytest.approx(1.2**0.5, rel=0.02),
        "gro": pytest.approx(1.1, rel=0.02),
    }
    pairs = {tuple(row["factors"]): (row["ratio"], row["state"]) for row in found["interactions"]}
    assert pairs["tso", "gso"] == (pytest.approx(1.2, rel=0.02), "better")
    assert pairs["tso", "gro"][1] == pairs["gso", "gro"][1] == "same"


def test_full_factorial_without_what_no_host_can_be_in():
    def effect(levels, _test):
        both = levels["tso"] == levels["gro"] == "on"
        return boost(tx=1.3, tso=1.4, gro=1.1)(levels, _test) * (1.2 if both else 1.0)

    made = plan(
        design="full_factorial", factors=["tx", {"name": "tso", "needs": ["tx"]}, "gro"], blocks=8
    )
    found = metric(checked(made, trials(made, effect)))
    assert len(found["rows"]) == 5
    mains = {row["factor"]: row["ratio"] for row in found["main_effects"]}
    assert mains == {
        "tx": pytest.approx(1.3, rel=0.02),
        "tso": pytest.approx(1.4 * 1.2**0.5, rel=0.02),
        "gro": pytest.approx(1.1 * 1.2**0.5, rel=0.02),
    }
    pairs = {tuple(row["factors"]): (row["ratio"], row["state"]) for row in found["interactions"]}
    assert set(pairs) == {("tx", "gro"), ("tso", "gro")}  # TSO without checksums was not measured
    assert pairs["tso", "gro"] == (pytest.approx(1.2, rel=0.02), "better")
    assert pairs["tx", "gro"][0] == pytest.approx(1.0, rel=0.02)


def test_service_demand_and_cpu_of_both_ends():
    made = plan(design="one_at_a_time", factors=["tso", "gro"])
    demand = {
        "client": lambda levels: 0.5 if levels["tso"] == "on" else 1.0,
        "server": lambda levels: 0.4 if levels["gro"] == "on" else 1.0,
    }
    found = checked(made, trials(made, demand=demand))
    goals = {(entry["goal"], entry["end"]): entry["leaders"] for entry in found["attribution"]}
    assert goals == {
        ("tcp_throughput", None): [],
        ("tcp_cpu", "client"): ["tso"],
        ("tcp_cpu", "server"): ["gro"],
    }
    assert metric(found, "cpu_client_user")["control"]["median"] == 6.0
    assert metric(found, "cpu_server_busy")["control"]["median"] == 50.0
    steal = metric(found, "cpu_server_steal")
    assert steal["compared"] is False and steal["rows"][0] == {
        "profile": "tso=on",
        "n": 8,
        "median": 0.0,
        "q1": 0.0,
        "q3": 0.0,
    }


def test_what_the_hypervisor_took_is_named_as_the_cause_of_scatter():
    made = plan(design="one_at_a_time", factors=["tso", "gro"], paths=["physical", "tenant"])
    record = list(trials(made, demand={}))
    generator = np.random.default_rng(2)
    for trial in record:
        steal = generator.exponential(1.0)
        trial["cpu"] = {"ends": {"client": {"percent": {"steal": steal}}}}
        trial["result"]["throughput_mbps"] *= np.exp(-0.03 * steal)
    found = checked(made, record)["scatter"]
    assert [own["what"] for own in found["meanwhile"]] == ["steal"]
    assert 0.7 < found["meanwhile"][0]["share"] < 1
    assert "went with CPU time that the hypervisor took" in found["text"]
    for trial in record:
        trial["cpu"]["ends"]["client"]["percent"]["steal"] = 1.0
    assert checked(made, record)["scatter"]["meanwhile"] == []


def test_what_costs_cpu_is_not_recommended_for_its_throughput():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    demand = {"client": lambda levels: 2.0 if levels["a"] == "on" else 1.0}
    found = checked(made, trials(made, boost(a=1.5, b=1.2), demand))["recommendation"]
    assert found["name"] == "b=on" and [row["profile"] for row in found["forbidden"]] == ["a=on"]
    assert "service demand 1.99" in found["forbidden"][0]["reason"]


def test_help_in_one_table_and_harm_in_another_is_not_recommended():
    made = plan(factors=["a"], design="one_at_a_time", workloads=["tcp_stream", "tcp_maerts"])
    found = checked(
        made,
        trials(
            made,
            lambda levels, test: (
                1.0 if levels["a"] == "off" else {"TCP_STREAM": 1.5, "TCP_MAERTS": 0.7}[test]
            ),
        ),
    )["recommendation"]
    assert (
        found["name"] is None and "tcp_maerts" in found["forbidden"][0]["reason"] and found["why"]
    )


def test_what_only_harms_leaves_the_control():
    made = plan(factors=["a", "b"])
    found = checked(made, trials(made, boost(a=0.5)))["recommendation"]
    assert (
        found["name"] == "all_off"
        and found["levels"] == {"a": "off", "b": "off"}
        and found["changes"] == {}
    )
    assert found["best"] and found["confirmed"]


def test_transactions_and_latency():
    made = plan(factors=["a"], workloads=["tcp_rr"])
    found = checked(made, trials(made, boost(a=1.25)))
    assert [each["metric"] for each in found["tables"][0]["metrics"]] == [
        "transactions",
        "latency_mean",
        "latency_p99",
    ]
    assert metric(found, "transactions")["rows"][0]["state"] == "better"
    assert metric(found, "latency_p99")["rows"][0]["ratio"] == pytest.approx(0.8, rel=0.02)
    assert metric(found, "latency_p99")["rows"][0]["state"] == "better"


def test_drift_is_told():
    made = plan(factors=["a"], blocks=10)
    found = metric(checked(made, trials(made, drift=0.9)))
    assert (
        found["drift"]["ratio_per_block"] == pytest.approx(0.9, rel=0.03)
        and found["drift"]["p"] < 0.001
    )
    assert any("drift by -" in warning for warning in found["warnings"])
    assert found["rows"][0]["state"] == "same"


def test_one_host_bills_its_cpu_once():
    made = plan(factors=["a"], blocks=6)
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
        for row in trials(made)
    ]
    manifest = {
        "nodes": {
            "node1": {"before": {"kernel": {"boot_id": "a"}}},
            "node2": {"before": {"boot_id": "a"}},
        }
    }
    names = [each["metric"] for each in checked(made, rows, manifest)["tables"][0]["metrics"]]
    assert names == ["throughput", "service_demand_combined", "cpu_combined_busy"]
    manifest["nodes"]["node2"]["before"]["boot_id"] = "b"
    names = [each["metric"] for each in checked(made, rows, manifest)["tables"][0]["metrics"]]
    assert names == [
        "throughput",
        "service_demand_client",
        "service_demand_server",
        "cpu_client_busy",
        "cpu_server_busy",
    ]
    for row in rows:
        row["workload"] = dict(row["workload"], streams=4)
    assert [each["metric"] for each in checked(made, rows)["tables"][0]["metrics"]] == [
        "throughput"
    ]


def test_pairs_have_tables_of_their_own():
    made = plan(factors=["a"], pairs=["node1-node2", "node3-node4"])
    found = checked(made, trials(made, boost(a=1.5)))
    assert [table["id"] for table in found["tables"]] == [
        "node1-node2/physical/9000/tcp_stream",
        "node3-node4/physical/9000/tcp_stream",
    ]
    assert all(metric(found, table=number)["rows"][0]["state"] == "better" for number in (0, 1))


def test_the_order_of_the_record_does_not_matter():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    rows = list(trials(made, boost(a=1.2)))
    assert analyse(made, rows) == analyse(made, reversed(rows))


def test_the_confirmation_is_a_part_of_its_own():
    made = plan(design="one_at_a_time", factors=["a", "b"], verify=False)
    rows = list(trials(made, boost(a=1.5, b=1.3)))
    nominees = nominate(made, rows)
    assert [(found["role"], found["name"]) for found in nominees] == [
        ("chosen", "a=on,b=on"),
        ("runner_up", "a=on"),
    ]
    decided = confirmation_of(made, nominees)
    whole = {
        **made,
        "profiles": {**made["profiles"], **decided["profiles"]},
        "visits": [*made["visits"], *decided["visits"]],
    }
    second = dict(whole, visits=[visit for visit in whole["visits"] if visit.get("part")])
    rows += [dict(row, part="confirm") for row in trials(second, boost(a=1.5, b=1.3))]
    found = checked(whole, rows)
    assert found["unfinished"] is None and found["trials"]["missing"] == 0 and found["blocks"] == 8
    assert set(found["confirmation"]["profiles"]) == {"all_off", "a=on,b=on", "a=on"}
    wanted = found["recommendation"]
    assert (
        wanted["name"] == "a=on,b=on"
        and wanted["confirmed_by"] == "confirmation"
        and wanted["best"]
    )
    assert wanted["by"][0]["ratio"] == pytest.approx(1.95, rel=0.02) and wanted["by"][0]["n"] == 6
    waiting = checked(whole, rows[:-3])
    assert (
        waiting["unfinished"]["visits_missing"] == 3 and waiting["recommendation"]["name"] is None
    )


def test_where_nothing_helps_there_is_nothing_to_confirm():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    assert nominate(made, trials(made)) == [] and nominate(made, []) == []
    assert nominate(plan(factors=["a"]), trials(plan(factors=["a"]), boost(a=2.0))) == []
    assert nominate(made, trials(made, boost(a=1.5))) == [
        {"role": "chosen", "name": "a=on", "levels": {"a": "on", "b": "off"}}
    ]


def test_what_is_measured_again_is_not_missing():
    made = plan(factors=["a"])
    rows = list(trials(made, boost(a=1.5)))
    again = dict(rows[0], id=rows[0]["id"] + "-again")
    rows[0].update(marks=[{"guard": "steal", "reason": "r"}])
    found = checked(made, [*rows, again])
    assert (
        found["trials"]["missing"] == 0
        and found["trials"]["excluded"] == 1
        and found["unfinished"] is None
    )
    assert metric(found)["rows"][0]["n"] == 8
