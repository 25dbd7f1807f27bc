# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that corrupts is recommended: one trial in which the payload arrived wrong is enough."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.nominate import nominate
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import plan_file
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.confirmation import (
    confirmation_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    with_confirmation,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.workloads import CHECK
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.simulation import searching
from ansible_collections.offload.lab.tests.support import each_day
from ansible_collections.offload.lab.tests.unit.plugins.plugin_utils._analysis.example import (
    boost,
    checked,
    plan,
    trials,
)


def found(wrong=0, missing=0):
    """Return a check of the payload as a trial has it."""
    counts = {**dict.fromkeys(payload.COUNTS, 0), "sent": 1000, "arrived": 1000}
    check = {**counts, "wrong": wrong, "missing": missing, "first": None}
    checks = {"tcp_forward": check}
    return {"elapsed_s": 1.0, "mss": 1448, "checks": checks, "counters": {}, "error": None}


def with_payload(row, content):
    return {
        **row,
        "result": {**row["result"], "payload": content},
        "error": payload.trouble(content),
    }


def confirmed(campaign_plan, effect, wrong):
    """Return the plan of a whole campaign and its trials; ``wrong`` says of a profile and the
    number of its check how many messages of it arrive wrong.
    """
    rows = list(trials(campaign_plan, effect))
    decided = confirmation_of(campaign_plan, nominate(campaign_plan, rows))
    whole_plan = with_confirmation(campaign_plan, decided)
    second = {**whole_plan, "visits": decided["visits"], "workloads": [*campaign_plan["workloads"]]}
    second["workloads"].append({**campaign_plan["verify"], "test": "TCP_STREAM"})
    visits_seen = dict.fromkeys(whole_plan["profiles"], 0)
    for row in trials(second, effect):
        made_here = {**row, "part": "confirm"}
        if row["workload"]["name"] == CHECK:
            visits_seen[row["profile"]] += 1
            content = found(wrong(row["profile"], visits_seen[row["profile"]]))
            made_here = with_payload(made_here, content)
        rows.append(made_here)
    return whole_plan, rows


def recommended(wrong, **more):
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"], **more)
    analysis = checked(*confirmed(campaign_plan, boost(a=1.5, b=1.3), wrong))
    assert analysis["unfinished"] is None
    assert analysis["trials"]["unplanned"] == 0 and analysis["trials"]["missing"] == 0
    return analysis["recommendation"]


def test_each_visit_of_a_confirmation_ends_with_a_check_of_the_payload_on_each_path():
    campaign_plan = plan(
        design="one_at_a_time", factors=["a", "b"], paths=["physical", "tenant_vxlan"]
    )
    assert all(
        cell["workload"] != CHECK for visit in campaign_plan["visits"] for cell in visit["cells"]
    )
    nominees = [{"role": "chosen", "name": "a=on", "levels": {"a": "on"}}]
    for visit in confirmation_of(campaign_plan, nominees)["visits"]:
        assert [cell["workload"] for cell in visit["cells"][2:]] == [CHECK, CHECK]
        assert {cell["path"] for cell in visit["cells"][2:]} == {"physical", "tenant_vxlan"}
        assert len({cell["id"] for cell in visit["cells"]}) == 4


@pytest.mark.parametrize(
    "keys", [{"verify": False}, {"workloads": ["tcp_stream", "payload"]}, {"confirm": 0}]
)
def test_where_it_is_not_wanted_or_is_there_already_no_check_is_added(keys):
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"], **keys)
    assert "verify" not in campaign_plan


def test_a_plan_of_an_earlier_version_stays_as_it_is():
    campaign_plan = plan(design="one_at_a_time", factors=["a", "b"])
    old = {key: value for key, value in campaign_plan.items() if key != "verify"}
    assert plan_file.differences(old, campaign_plan) == []
    nominees = [{"role": "chosen", "name": "a=on", "levels": {"a": "on"}}]
    assert {len(visit["cells"]) for visit in confirmation_of(old, nominees)["visits"]} == {1}


def test_what_is_clean_is_recommended():
    recommendation = recommended(lambda profile, number: 0)
    assert recommendation["name"] == "a=on,b=on" and recommendation["confirmed"]


@pytest.mark.parametrize("paths", [["physical"], ["physical", "tenant", "tenant_vxlan"]])
def test_one_wrong_message_in_one_of_all_trials_forbids_a_profile(paths):
    recommendation = recommended(
        lambda profile, number: int(profile == "a=on,b=on" and number == 4), paths=paths
    )
    assert recommendation["name"] == "a=on"
    assert recommendation["forbidden"] == [
        {"profile": "a=on,b=on", "reason": "the payload arrived wrong in 1 trial"}
    ]


def test_what_is_wrong_without_offloads_too_forbids_none():
    recommendation = recommended(
        lambda profile, number: number % 2 if profile == "all_off" else number == 4
    )
    assert recommendation["name"] == "a=on,b=on"


def test_a_control_with_offloads_on_is_not_kept_where_it_corrupts():
    campaign_plan = plan(
        design="profiles",
        factors=["a", "b"],
        profiles={"base": {"a": "on"}, "less": {}, "more": {"a": "on", "b": "on"}},
        workloads=["payload"],
    )
    rows = []
    for row in trials(campaign_plan):
        first = row["block"] == 1 and row["profile"] != "less"
        rows.append(with_payload(row, found(wrong=int(first))))
    refused = [row["profile"] for row in checked(campaign_plan, rows)["failures"] if row["forbids"]]
    assert refused == ["base", "more"]


@pytest.mark.parametrize("seed", each_day([0], range(3)))
def test_a_search_does_not_recommend_what_corrupts(seed):
    """The fastest profile corrupts in one check of each confirmation, so no search takes
    it.
    """
    search_made = searching.make_search(
        seed=seed, factors=["tso", "gso", "gro"], trials=2, verify=True
    )
    machine = Corrupting(lambda levels: 0.4 * (levels["tso"] == "on"), "plain", seed)
    whole_plan, record, _decided = searching.confirmed(search_made, machine)
    recommendation = checked(whole_plan, record)["recommendation"]
    assert recommendation["levels"].get("tso", "off") == "off"


class Corrupting(searching.Machine):
    """With TSO a message arrives wrong in the second block of a confirmation."""

    @staticmethod
    def records(visit, values):
        rows = searching.Machine.records(visit, values)
        bad = "tso=on" in visit["profile"] and visit["block"] % 6 == 2
        return [
            with_payload(row, found(int(bad))) if row["workload"]["name"] == CHECK else row
            for row in rows
        ]


def test_the_name_of_the_check_is_not_a_workloads():
    with pytest.raises(Exception, match="payload_check appears twice"):
        make_plan(
            read_campaign({"name": "x", "workloads": [{"name": CHECK, "test": "TCP_RR"}]}), ""
        )
