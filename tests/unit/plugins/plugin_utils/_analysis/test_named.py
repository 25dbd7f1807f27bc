# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A check of the payload that ends when its faults are named, and how often it names one by chance."""

from __future__ import annotations

import itertools
import random

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.integrity import verdicts
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.named import decide
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import design, interim
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.looks import rest
from ansible_collections.offload.lab.plugins.plugin_utils._trials.payload import checks_of
from ansible_collections.offload.lab.tests.support import each_day

PATHS = ["physical", "tenant_vxlan"]
COUNTERS = {"client": {}, "server": {}}
CHECK = {"elapsed_s": 1.0, "mss": 1448, "checks": {}, "counters": COUNTERS}


def plan(**changed):
    campaign = {
        "name": "x",
        "design": "integrity",
        "control_visits": 1,
        "factors": ["tx", "rx", {"name": "tso", "needs": ["tx"]}, "gso", "gro"],
        "paths": PATHS,
        "blocks": 4,
        "until": "named",
        "duration": 1,
        "workloads": ["payload"],
        **changed,
    }
    return design.make_plan(read_campaign(campaign, "test"), "2026-01-05T08:00:00Z")


def trials(campaign_plan, troubled):
    """Return the trials of a plan; ``troubled`` takes a path and the levels of a trial's profile."""
    records = []
    for visit in campaign_plan["visits"]:
        for cell in visit["cells"]:
            wrong = troubled(cell["path"], campaign_plan["profiles"][visit["profile"]]["levels"])
            row = {key: visit[key] for key in ("mtu", "profile", "block")}
            payload = {**CHECK, "error": "wrong" if wrong else None}
            records.append({**row, "path": cell["path"], "result": {"payload": payload}})
    return records


def played(campaign_plan, record):
    """Return the interim tests of a campaign whose trials would be ``record``."""
    decided_looks = []
    for look in campaign_plan["looks"]:
        decided_looks.append(decide(campaign_plan, record, look, list(decided_looks)))
        if decided_looks[-1]["answered"]:
            break
    return decided_looks


def test_the_levels_of_all_tests_add_up_to_five_per_cent():
    looks_planned = plan()["looks"]
    assert [look["block"] for look in looks_planned] == [1, 2, 3]
    assert looks_planned[0]["alpha"] == pytest.approx(0.02)
    assert rest(looks_planned) == pytest.approx(looks_planned[1]["alpha"])


def test_a_fault_in_each_packet_is_named_after_the_first_block():
    campaign_plan = plan()
    record = trials(campaign_plan, lambda path, levels: path == PATHS[1] and levels["tx"] == "on")
    [look] = played(campaign_plan, record)
    assert look["answered"] and look["named"] == ["tx on"]
    shortened = interim.with_decisions(campaign_plan, [look])
    assert {visit["block"] for visit in shortened["visits"]} == {1}
    checks_seen = checks_of(trial for trial in record if trial["block"] == 1)
    assert {row.path: row.verdict for row in verdicts(shortened, checks_seen)} == {
        "physical": "clean",
        "tenant_vxlan": "broken",
    }
    assert (
        interim.decision_text(look) == "interim test after block 1: tx on is named; the check ends"
    )


def test_a_path_in_trouble_that_is_not_named_keeps_the_check_going():
    campaign_plan = plan()

    def troubled(path, levels):
        return levels["tx"] == "on" if path == PATHS[1] else levels == {**levels, "gro": "on"}

    chance = random.Random(1)
    record = trials(
        campaign_plan, lambda path, levels: troubled(path, levels) and chance.random() < 0.5
    )
    made_tests = played(campaign_plan, record)
    assert len(made_tests) > 1
    assert made_tests[0]["named"] == [] and not made_tests[0]["answered"]


def test_a_path_that_is_dead_under_each_profile_ends_the_check():
    campaign_plan = plan()
    record = trials(campaign_plan, lambda path, _levels: path == PATHS[1])
    [look] = played(campaign_plan, record)
    assert look["answered"] and look["named"] == []
    end = {**interim.with_decisions(campaign_plan, [look]), "looked": [look]}
    checks_seen = checks_of(trial for trial in record if trial["block"] == 1)
    assert {row.verdict for row in verdicts(end, checks_seen)} == {"clean", "broken without"}
    both = trials(campaign_plan, lambda path, levels: path == PATHS[1] or levels["tx"] == "on")
    assert [test["named"] for test in played(campaign_plan, both)] == [["tx on"]]


@pytest.mark.slow
@pytest.mark.parametrize("share", each_day([0.05], [0.05, 0.5]))
def test_trouble_without_a_cause_is_blamed_in_few_campaigns(share):
    campaign_plan = plan(paths=PATHS[:1])
    named = 0
    for seed in range(60):
        chance = random.Random(seed)
        record = trials(
            campaign_plan, lambda _path, _levels, chance=chance: chance.random() < share
        )
        tests = played(campaign_plan, record)
        end = {**campaign_plan, "looked": tests}
        blamed = any(row.blames for row in verdicts(end, checks_of(record)))
        named += tests[-1]["answered"] or blamed
    assert named <= 8  # of 60 at 5 %, more than 8 have a chance of 0.3 %


def test_the_end_of_a_clean_check_has_what_the_interim_tests_left():
    campaign_plan = plan()
    record = trials(campaign_plan, lambda _path, _levels: False)
    tests = played(campaign_plan, record)
    assert [look["answered"] for look in tests] == [False] * 3
    assert all(
        row.verdict == "clean"
        for row in verdicts({**campaign_plan, "looked": tests}, checks_of(record))
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"design": "on_off"}, "design on_off cannot end when it is named"),
        ({"until": "answered"}, "design integrity cannot end when it is answered"),
    ],
)
def test_what_cannot_end_so_is_refused(keys, message):
    with pytest.raises(InputError, match=message):
        plan(**keys)


def test_all_faults_of_a_path_are_named():
    campaign_plan = plan(paths=PATHS[:1], blocks=8)
    record = trials(campaign_plan, lambda _path, levels: "on" in (levels["tx"], levels["gro"]))
    named = list(
        itertools.chain.from_iterable(look["named"] for look in played(campaign_plan, record))
    )
    assert named and set(named) <= {"tx on", "gro on"}
