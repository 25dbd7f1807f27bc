# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import math
import zlib

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis import analyse
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import read_campaign, validate
from ansible_collections.offload.lab.plugins.plugin_utils._design import make_plan

BASE = {"TCP_STREAM": 4000.0, "UDP_STREAM": 2000.0, "TCP_RR": 20000.0, "TCP_MAERTS": 3000.0}
WOBBLE = (1.00, 1.02, 0.99, 1.01, 0.98, 1.015, 0.995, 1.005, 1.01, 0.99)


def plan(**campaign):
    asked = {"name": "x", "duration": 1, "paths": ["physical"], "workloads": ["tcp_stream"], "blocks": 8, **campaign}
    return make_plan(read_campaign(asked), "2026-01-05T08:00:00Z")


def trials(made, effect=lambda levels, test: 1.0, demand=None, drift=1.0):
    """Trials without chance: each block has its level, and each trial wobbles a little by its id."""
    tests = {work["name"]: work for work in made["workloads"]}
    for visit in made["visits"]:
        levels = made["profiles"][visit["profile"]]["levels"]
        for cell in visit["cells"]:
            work = tests[cell["workload"]]
            wobble = WOBBLE[zlib.crc32(cell["id"].encode()) % len(WOBBLE)]
            value = BASE[work["test"]] * effect(levels, work["test"]) * wobble * drift ** visit["block"] * (
                1 + 0.1 * (visit["block"] % 3))
            result = {"transactions_per_s": value, "latency_us": {"mean": 1e6 / value, "p99": 2e6 / value}} if (
                work["test"] == "TCP_RR") else {"throughput_mbps": value}
            ends = {end: {"service_demand_us_per_kb": cost(levels) * wobble, "percent": {
                "user": 5.0, "nice": 1.0, "system": 30.0, "irq": 0.0, "softirq": 14.0, "iowait": 0.0, "steal": 0.0,
                "idle": 50.0}} for end, cost in (demand or {}).items()}
            yield {"id": cell["id"], "block": visit["block"], "visit": visit["visit"], "path": cell["path"],
                   "mtu": visit["mtu"], "profile": visit["profile"], "repeat": visit["repeat"], "workload": work,
                   "pair": cell.get("pair", "node1-node2"), "result": result, "cpu": {"ends": ends} if ends else None,
                   "marks": [], "error": None}


def boost(**factors):
    return lambda levels, _test: math.prod(
        factors.get(factor, 1.0) for factor, level in levels.items() if level == "on")


def metric(analysis, name="throughput", table=0):
    return next(found for found in analysis["tables"][table]["metrics"] if found["metric"] == name)


def checked(*arguments, **options):
    found = analyse(*arguments, **options)
    validate(json.loads(json.dumps(found, allow_nan=False)), "analysis", "analysis")
    return found


def test_on_against_off():
    made = plan(factors=["tso", "gro"])
    found = checked(made, trials(made, boost(tso=1.5)))
    row = metric(found)["rows"][0]
    assert row["profile"] == "all_on" and row["n"] == 8
    assert row["ratio"] == pytest.approx(1.5, rel=0.02) and row["low"] < 1.5 < row["high"]
    assert row["p"] == row["p_holm"] == 2 / 2 ** 8 and row["verdict"] == "better"
    assert metric(found)["control"]["n"] == 16
    assert 1 < metric(found)["noise_floor"] < 1.05 and 1 < metric(found)["smallest_detectable"] < 1.1
    assert found["attribution"] == []
    goal = found["recommendations"]["goals"][0]
    assert goal["profile"] == "all_on" and found["recommendations"]["levels"] == {"tso": "on", "gro": "on"}
    assert found["recommendations"]["settings"]["client"] == {"underlay": {"features": {"tso": True, "gro": True}}}


def test_nothing_differs_and_nothing_is_claimed():
    made = plan(design="one_at_a_time", factors=["a", "b", "c", "d", "e", "f"])
    found = checked(made, trials(made))
    assert {row["verdict"] for row in metric(found)["rows"]} == {"same"}
    entry = found["attribution"][0]
    assert entry["leaders"] == [] and not entry["separated"]
    assert found["recommendations"] == {"goals": [], "conflicts": [], "levels": {}, "settings": {}}


def test_below_six_blocks_there_is_no_interval():
    made = plan(factors=["tso"], blocks=5)
    found = checked(made, trials(made, boost(tso=3.0)))
    row = metric(found)["rows"][0]
    assert row["ratio"] == pytest.approx(3.0, rel=0.03)
    assert (row["low"], row["high"], row["p"], row["p_holm"], row["verdict"]) == (None, None, None, None, "unknown")
    assert metric(found)["noise_floor"] is None and metric(found)["smallest_detectable"] is None
    assert found["warnings"] == ["5 blocks give no interval and no test: 6 are needed"]
    assert found["recommendations"]["levels"] == {}


def test_too_few_blocks_for_the_family_are_told():
    made = plan(design="one_at_a_time", factors=["a", "b", "c", "d", "e", "f"], blocks=7)
    found = checked(made, trials(made, boost(a=2.0)))
    assert "7 blocks cannot show any of 6 effects: 8 are needed" in metric(found)["warnings"]
    assert metric(found)["smallest_detectable"] is None
    assert metric(found)["rows"][0]["verdict"] == "same"


def test_the_leader_is_named_where_it_is_separated():
    made = plan(design="one_at_a_time", factors=["a", "b", "c"], paths=["physical", "tenant_vxlan"])
    entry = checked(made, trials(made, boost(a=1.1, b=1.5, c=0.8)))["attribution"][0]
    assert (entry["goal"], entry["side"], entry["table"]) == ("tcp_throughput", "both", "physical/9000/tcp_stream")
    assert entry["leaders"] == ["b"] and entry["separated"]
    assert [(row["factor"], row["rank"], row["verdict"]) for row in entry["candidates"]] == [
        ("b", 1, "better"), ("a", 2, "better"), ("c", 3, "worse")]


def test_equals_are_not_ranked():
    made = plan(design="one_at_a_time", factors=["a", "b", "c"])
    entry = checked(made, trials(made, boost(a=1.3, b=1.3)))["attribution"][0]
    assert sorted(entry["leaders"]) == ["a", "b"] and not entry["separated"] and entry["undecided"] == []


def test_left_out_is_judged_as_switched_on():
    made = plan(design="leave_one_out", factors=["a", "b"])
    found = checked(made, trials(made, boost(a=1.5, b=0.8)))
    assert [(row["profile"], row["verdict"]) for row in metric(found)["rows"]] == [
        ("a=off", "worse"), ("b=off", "better")]
    first = found["attribution"][0]["candidates"][0]
    assert (first["factor"], first["level"], first["base"], first["verdict"]) == ("a", "on", "off", "better")
    assert first["ratio"] == pytest.approx(1.5, rel=0.02) and first["low"] < first["ratio"] < first["high"]
    assert found["recommendations"]["levels"] == {"a": "on", "b": "off"}


def test_each_end_has_its_own_leader():
    made = plan(design="one_at_a_time", factors=["tso", "gro"], sides=["tx", "rx"], blocks=9, workloads=[
        "tcp_stream", "tcp_maerts"])
    found = checked(made, trials(made, boost(**{"tso@tx": 1.5, "gro@tx": 1.1, "gro@rx": 1.3})))
    leaders = {(entry["table"], entry["side"]): entry["leaders"] for entry in found["attribution"]}
    assert leaders == {
        ("physical/9000/tcp_stream", "transmitter"): ["tso@tx"], ("physical/9000/tcp_stream", "receiver"): ["gro@rx"],
        ("physical/9000/tcp_maerts", "receiver"): ["tso@tx"], ("physical/9000/tcp_maerts", "transmitter"): ["gro@rx"]}


def test_full_factorial_has_main_effects_and_interactions():
    def effect(levels, _test):
        both = levels["tso"] == levels["gso"] == "on"
        return boost(tso=1.4, gro=1.1)(levels, _test) * (1.2 if both else 1.0)

    made = plan(design="full_factorial", factors=["tso", "gso", "gro"], blocks=8)
    found = metric(checked(made, trials(made, effect)))
    mains = {row["factor"]: row["ratio"] for row in found["main_effects"]}
    assert mains == {"tso": pytest.approx(1.4 * 1.2 ** 0.5, rel=0.02), "gso": pytest.approx(1.2 ** 0.5, rel=0.02),
                     "gro": pytest.approx(1.1, rel=0.02)}
    pairs = {tuple(row["factors"]): (row["ratio"], row["verdict"]) for row in found["interactions"]}
    assert pairs["tso", "gso"] == (pytest.approx(1.2, rel=0.02), "better")
    assert pairs["tso", "gro"][1] == pairs["gso", "gro"][1] == "same"


def test_service_demand_and_cpu_of_both_ends():
    made = plan(design="one_at_a_time", factors=["tso", "gro"])
    demand = {"client": lambda levels: 0.5 if levels["tso"] == "on" else 1.0,
              "server": lambda levels: 0.4 if levels["gro"] == "on" else 1.0}
    found = checked(made, trials(made, demand=demand))
    goals = {(entry["goal"], entry["end"]): entry["leaders"] for entry in found["attribution"]}
    assert goals == {("tcp_throughput", None): [], ("tcp_cpu", "client"): ["tso"], ("tcp_cpu", "server"): ["gro"]}
    assert metric(found, "cpu_client_user")["control"]["median"] == 6.0
    assert metric(found, "cpu_server_busy")["control"]["median"] == 50.0
    steal = metric(found, "cpu_server_steal")
    assert steal["compared"] is False and steal["rows"][0] == {"profile": "tso=on", "n": 8, "median": 0.0, "q1": 0.0,
                                                               "q3": 0.0}


def test_goals_in_conflict_are_shown_and_not_recommended():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    demand = {"client": lambda levels: 2.0 if levels["a"] == "on" else 1.0}
    found = checked(made, trials(made, boost(a=1.5, b=1.2), demand))["recommendations"]
    assert found["conflicts"] == [{"factor": "a", "levels": {"on": ["tcp_throughput"], "off": ["tcp_cpu"]}}]
    assert found["levels"] == {"b": "on"}


def test_help_on_one_path_and_harm_on_another_is_a_conflict():
    made = plan(factors=["a"], design="one_at_a_time", workloads=["tcp_stream", "tcp_maerts"])
    found = checked(made, trials(made, lambda levels, test: 1.0 if levels["a"] == "off" else {
        "TCP_STREAM": 1.5, "TCP_MAERTS": 0.7}[test]))["recommendations"]
    assert found["goals"][0]["conflicts"][0]["factor"] == "a" and found["goals"][0]["settings"] == []
    assert found["levels"] == {}


def test_what_only_harms_is_recommended_off():
    made = plan(factors=["a", "b"])
    found = checked(made, trials(made, boost(a=0.5)))["recommendations"]
    assert found["goals"][0]["profile"] == "all_off" and found["levels"] == {"a": "off", "b": "off"}


def test_transactions_and_latency():
    made = plan(factors=["a"], workloads=["tcp_rr"])
    found = checked(made, trials(made, boost(a=1.25)))
    assert [each["metric"] for each in found["tables"][0]["metrics"]] == ["transactions", "latency_mean", "latency_p99"]
    assert metric(found, "transactions")["rows"][0]["verdict"] == "better"
    assert metric(found, "latency_p99")["rows"][0]["ratio"] == pytest.approx(0.8, rel=0.02)
    assert metric(found, "latency_p99")["rows"][0]["verdict"] == "better"


def test_marked_failed_unplanned_and_repeated_trials_are_counted_and_left_out():
    made = plan(factors=["tso"], blocks=8)
    rows = list(trials(made, boost(tso=1.5)))
    rows[0].update(marks=[{"guard": "mss", "reason": "r", "excludes": True}, {"guard": "steal", "reason": "r"}])
    rows[1].update(error="no route", result={})
    rows[2].update(marks=[{"guard": "line_rate", "reason": "r", "excludes": False}])
    rows += [dict(rows[5]), dict(rows[5], profile="other"), dict(rows[5], block=99)]
    found = checked(made, rows[:3] + rows[4:])
    assert found["trials"] == {
        "planned": 24, "recorded": 26, "used": 21, "failed": 1, "excluded": 1, "unplanned": 2, "twice": 1, "missing": 1,
        "marks": {"line_rate": 1, "mss": 1, "steal": 1}, "excluded_by": {"mss": 1, "steal": 1},
        "failures": [{"id": rows[1]["id"], "error": "no route"}]}
    assert analyse(made, rows, include_marked=True)["trials"]["excluded"] == 0
    assert found["warnings"][2] == "1 marked trial is left out (mss 1, steal 1)"


def test_a_lost_trial_of_one_profile_is_told():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    rows = [row for row in trials(made, boost(a=2.0)) if not (row["profile"] == "a=on" and row["block"] == 3)]
    found = metric(checked(made, rows))
    assert [row["n"] for row in found["rows"]] == [7, 8]
    assert "fewer than 8 blocks, so that less can be shown: a=on (7)" in found["warnings"]


def test_a_profile_that_was_never_used_is_untestable():
    made = plan(design="one_at_a_time", factors=["a", "b"], untestable={"lro": "fixed"})
    rows = [row for row in trials(made) if row["profile"] != "a=on"]
    found = checked(made, rows)
    unusable = "no trial of this profile could be used"
    assert found["untestable"] == {"lro": "fixed", "a=on": unusable + " (none was measured)"}
    assert metric(found)["rows"][0]["ratio"] is None and metric(found)["rows"][0]["verdict"] == "unknown"


def test_a_profile_whose_trials_are_all_left_out_says_why():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    rows = list(trials(made))
    for row in rows:
        if row["profile"] == "a=on":
            row["marks"] = [{"guard": "line_rate", "reason": "r", "excludes": False},
                            {"guard": "profile", "reason": "client: eth0 did not take tso", "excludes": True}]
        if row["profile"] == "b=on":
            row.update(error="no route", result=None)
    unusable = "no trial of this profile could be used"
    assert checked(made, rows)["untestable"] == {
        "a=on": unusable + " (profile: client: eth0 did not take tso)", "b=on": unusable + " (no route)"}


def test_no_trials_at_all():
    found = checked(plan(), [])
    assert found["tables"][0]["metrics"] == [] and found["trials"]["missing"] == 24


def test_what_could_not_act_is_not_recommended():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    rows = [{"factor": "a", "verdict": verdict, "reason": "r", "end": end} for end, verdict in (
        ("client", "masked"), ("server", "unsupported"))] + [{"factor": "b", "verdict": "no_op", "reason": ""}]
    found = checked(made, trials(made, boost(a=1.5, b=1.5)), verdicts=lambda: rows)
    assert found["verdicts"] == rows and found["untestable"] == {"a": "masked: r"}
    assert found["recommendations"]["levels"] == {"b": "on"}
    assert {row["factor"] for entry in found["attribution"] for row in entry["candidates"]} == {"b"}


@pytest.mark.parametrize("design", ["one_at_a_time", "on_off"])
def test_where_nothing_could_act_nothing_is_recommended(design):
    made = plan(design=design, factors=["a"])
    rows = [{"factor": "a", "verdict": "unsupported", "reason": "r", "end": "client"}]
    found = checked(made, trials(made, boost(a=1.5)), verdicts=lambda: rows)
    assert found["attribution"] == [] and found["recommendations"]["levels"] == {}
    assert found["recommendations"]["goals"] == []


def test_zero_throughput_is_no_ratio():
    made = plan(factors=["a"], blocks=6)
    rows = [dict(row, result={"throughput_mbps": 0.0}) if row["profile"] == "all_on" else row for row in trials(made)]
    row = metric(checked(made, rows))["rows"][0]
    assert row["n"] == 0 and row["ratio"] is None and row["median"] == 0.0


def test_drift_is_told():
    made = plan(factors=["a"], blocks=10)
    found = metric(checked(made, trials(made, drift=0.9)))
    assert found["drift"]["ratio_per_block"] == pytest.approx(0.9, rel=0.03) and found["drift"]["p"] < 0.001
    assert any("drift by -" in warning for warning in found["warnings"])
    assert found["rows"][0]["verdict"] == "same"


def test_one_host_bills_its_cpu_once():
    made = plan(factors=["a"], blocks=6)
    rows = [dict(row, result=dict(row["result"], local_service_demand=2.0, remote_service_demand=2.0,
                                  local_cpu_percent=90.0, remote_cpu_percent=90.0)) for row in trials(made)]
    manifest = {"nodes": {"node1": {"before": {"kernel": {"boot_id": "a"}}}, "node2": {"before": {"boot_id": "a"}}}}
    names = [each["metric"] for each in checked(made, rows, manifest)["tables"][0]["metrics"]]
    assert names == ["throughput", "service_demand_combined", "cpu_combined_busy"]
    manifest["nodes"]["node2"]["before"]["boot_id"] = "b"
    names = [each["metric"] for each in checked(made, rows, manifest)["tables"][0]["metrics"]]
    assert names == ["throughput", "service_demand_client", "service_demand_server", "cpu_client_busy",
                     "cpu_server_busy"]
    for row in rows:
        row["workload"] = dict(row["workload"], streams=4)
    assert [each["metric"] for each in checked(made, rows)["tables"][0]["metrics"]] == ["throughput"]


def test_pairs_have_tables_of_their_own():
    made = plan(factors=["a"], pairs=["node1-node2", "node3-node4"])
    found = checked(made, trials(made, boost(a=1.5)))
    assert [table["id"] for table in found["tables"]] == [
        "node1-node2/physical/9000/tcp_stream", "node3-node4/physical/9000/tcp_stream"]
    assert all(metric(found, table=number)["rows"][0]["verdict"] == "better" for number in (0, 1))


def test_the_order_of_the_record_does_not_matter():
    made = plan(design="one_at_a_time", factors=["a", "b"])
    rows = list(trials(made, boost(a=1.2)))
    assert analyse(made, rows) == analyse(made, reversed(rows))
