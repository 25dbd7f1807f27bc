# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trials that cannot be used: counted, reported with their reason, and never a gain."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import DeviceVerdict
from ansible_collections.offload.lab.tests.support import as_file
from ansible_collections.offload.lab.tests.unit.builders import made
from ansible_collections.offload.lab.tests.unit.plugins.plugin_utils._analysis.example import (
    boost,
    checked,
    metric,
    plan,
    trials,
)


def test_marked_failed_unplanned_and_repeated_trials_are_counted_and_left_out():
    campaign_plan = plan(factors=["tso"], blocks=12)
    rows = list(trials(campaign_plan, boost(tso=1.5)))
    rows[0].update(
        marks=[{"guard": "mss", "reason": "r", "excludes": True}, {"guard": "steal", "reason": "r"}]
    )
    rows[1].update(error="no route", result={})
    rows[2].update(marks=[{"guard": "line_rate", "reason": "r", "excludes": False}])
    rows += [dict(rows[5]), dict(rows[5], profile="other"), dict(rows[5], block=99)]
    analysis = checked(campaign_plan, rows[:3] + rows[4:])
    assert analysis["unfinished"]["visits_missing"] == 1 and analysis["unfinished"]["extended"]
    assert (
        analysis["unfinished"]["seconds"] > 0
        and analysis["warnings"][0] == analysis["unfinished"]["text"]
    )
    assert (
        metric(analysis)["rows"][0]["state"] == "unknown"
        and analysis["recommendation"]["name"] is None
    )
    assert analysis["trials"] == {
        "planned": 24,
        "recorded": 26,
        "used": 21,
        "failed": 1,
        "excluded": 1,
        "unplanned": 2,
        "twice": 1,
        "missing": 1,
        "marks": {"line_rate": 1, "mss": 1, "steal": 1},
        "excluded_by": {"mss": 1, "steal": 1},
        "failures": [{"id": rows[1]["id"], "error": "no route"}],
    }
    assert analysis["warnings"][3] == "1 marked trial is left out (mss 1, steal 1)"


def test_a_lost_trial_of_one_profile_is_told():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"])
    rows = [
        row
        for row in trials(campaign_plan, boost(a=2.0))
        if not (row["profile"] == "a=on" and row["block"] == 3)
    ]
    metric_analysis = metric(checked(campaign_plan, rows))
    assert [row["n"] for row in metric_analysis["rows"]] == [7, 8]
    assert "fewer than 8 blocks, so less can be shown: a=on (7)" in metric_analysis["warnings"]


def test_a_profile_that_was_never_used_is_untestable():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"], untestable={"lro": "fixed"})
    rows = [row for row in trials(campaign_plan) if row["profile"] != "a=on"]
    analysis = checked(campaign_plan, rows)
    unusable = "no trial of this profile could be used"
    assert analysis["untestable"] == {"lro": "fixed", "a=on": unusable + " (none was measured)"}
    assert (
        metric(analysis)["rows"][0]["ratio"] is None
        and metric(analysis)["rows"][0]["state"] == "unknown"
    )


def test_a_profile_whose_trials_are_all_left_out_says_why():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"])
    rows = list(trials(campaign_plan))
    for row in rows:
        if row["profile"] == "a=on":
            row["marks"] = [
                {"guard": "line_rate", "reason": "r", "excludes": False},
                {"guard": "profile", "reason": "client: eth0 did not take tso", "excludes": True},
            ]
        if row["profile"] == "b=on":
            row.update(error="no route", result=None)
    unusable = "no trial of this profile could be used"
    assert checked(campaign_plan, rows)["untestable"] == {
        "a=on": unusable + " (profile: client: eth0 did not take tso)",
        "b=on": unusable + " (no route)",
    }


def test_no_trials_at_all():
    analysis = checked(plan(), [])
    assert analysis["tables"][0]["metrics"] == [] and analysis["trials"]["missing"] == 16


def test_what_could_not_act_is_not_recommended():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"])
    rows = [
        made(DeviceVerdict, factor="a", verdict=verdict, reason="r", end=end)
        for end, verdict in (("client", "masked"), ("server", "unsupported"))
    ] + [made(DeviceVerdict, factor="b", verdict="no_op")]
    analysis = checked(
        campaign_plan, trials(campaign_plan, boost(a=1.5, b=1.5)), verdicts=lambda: rows
    )
    assert analysis["verdicts"] == [as_file(row) for row in rows] and analysis["untestable"] == {
        "a": "masked: r"
    }
    assert analysis["recommendation"]["changes"] == {"b": "on"}
    assert {row["factor"] for entry in analysis["attribution"] for row in entry["candidates"]} == {
        "b"
    }


@pytest.mark.parametrize("design", ["one_at_a_time", "on_off"])
def test_where_nothing_could_act_nothing_is_recommended(design):
    campaign_plan = plan(design=design, factors=["a"])
    rows = [made(DeviceVerdict, factor="a", verdict="unsupported", reason="r")]
    analysis = checked(campaign_plan, trials(campaign_plan, boost(a=1.5)), verdicts=lambda: rows)
    assert analysis["attribution"] == [] and analysis["recommendation"]["levels"] == {}
    assert analysis["recommendation"]["goals"] == []


def test_what_receives_nothing_is_counted_and_not_recommended():
    campaign_plan = plan(factors=["a"], blocks=8)
    rows = list(trials(campaign_plan, boost(a=1.5)))
    stalled = [row for row in rows if row["profile"] == "all_on"][:2]
    for row in stalled:
        row.update(
            result={"throughput_mbps": 0.0}, marks=[{"guard": "nothing_received", "reason": "r"}]
        )
    rows[0].update(marks=[{"guard": "steal", "reason": "r"}])
    analysis = checked(campaign_plan, rows)
    assert [(row["profile"], row["trials"], row["failed"]) for row in analysis["failures"]] == [
        ("all_off", 8 - (rows[0]["profile"] == "all_off"), 0),
        ("all_on", 8 - (rows[0]["profile"] == "all_on"), 2),
    ]
    assert analysis["tables"][0]["failures"][1]["kinds"] == {"nothing_received": 2}
    assert analysis["recommendation"]["name"] is None
    assert (
        "trials failed or received nothing" in analysis["recommendation"]["forbidden"][0]["reason"]
    )


def test_zero_throughput_is_no_ratio():
    campaign_plan = plan(factors=["a"], blocks=6)
    rows = [
        dict(row, result={"throughput_mbps": 0.0}) if row["profile"] == "all_on" else row
        for row in trials(campaign_plan)
    ]
    row = metric(checked(campaign_plan, rows))["rows"][0]
    assert row["n"] == 0 and row["ratio"] is None and row["median"] == 0.0
