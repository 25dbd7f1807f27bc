# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines.payload.result import COUNTS
from ansible_collections.offload.lab.plugins.plugin_utils._analysis import integrity
from ansible_collections.offload.lab.plugins.plugin_utils._statistics import signflip
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.simulation import curing
from ansible_collections.offload.lab.tests.unit.builders import payload_sentences

FACTORS = {"tx": [], "tso": ["tx"], "gro": []}


def plan():
    """Return what is read of a plan of design leave_one_out, with all off."""
    on = dict.fromkeys(FACTORS, "on")
    off = dict.fromkeys(FACTORS, "off")
    profiles = {"all_on": {"levels": on}, "all_off": {"levels": off}}
    for name in FACTORS:
        profiles[f"{name}=off"] = {"levels": {**on, name: "off"}}
    profiles["tx=off"]["levels"]["tso"] = "off"
    factors = [
        {
            "name": name,
            "needs": needs,
            "levels": ["off", "on"],
            "kind": "feature",
            "settings": [name],
            "sides": ["client", "server"],
            "devices": ["underlay"],
        }
        for name, needs in FACTORS.items()
    ]
    return {"profiles": profiles, "factors": factors}


def tally(trials, troubled, sent=1000, missing=0):
    counts = {**dict.fromkeys(COUNTS, 0), "sent": sent, "wrong": troubled, "missing": missing}
    check = {**counts, "first": {"number": 1, "size": 65, "offset": 64} if troubled else None}
    kinds = {"the payload arrived wrong": troubled} if troubled else {}
    entry = {"checks": {"tcp_forward": check}, "counters": {}, "error": None}
    return {"trials": trials, "troubled": troubled, "kinds": kinds, "lesser": {}, "whole": entry}


def checks(**troubled):
    """Return 12 trials of each profile; ``troubled`` gives how many were wrong."""
    counts = {name: troubled.get(name.replace("=", "_"), 0) for name in plan()["profiles"]}
    planned = {("physical", 9000, name): tally(12, count) for name, count in counts.items()}
    return payload.Checks(planned, {})


ALWAYS = {"all_on": 12, "all_off": 12, "tso_off": 12, "tx_off": 12, "gro_off": 12}


def but(*names):
    """Return what is wrong in each trial of each profile but these."""
    return {name: count for name, count in ALWAYS.items() if name not in names}


@pytest.mark.parametrize(
    "troubled, verdict, blamed, off",
    [
        ({}, "clean", [], []),
        ({"all_on": 12, "gro_off": 12}, "broken", [{"tso": True}], ["tso"]),
        ({"all_on": 12, "tso_off": 12, "gro_off": 12}, "broken", [{"tx": True}], ["tx"]),
        ({"all_on": 12, "tso_off": 12, "tx_off": 12}, "broken", [{"gro": True}], ["gro"]),
        ({"tso_off": 12}, "broken", [{"tx": True, "tso": False}], []),
        (but("all_off"), "broken", [{"tx": True}, {"gro": True}], ["tx", "gro"]),
        ({"all_on": 1}, "suspect", [], []),
        (ALWAYS, "broken without", [], []),
    ],
)
def test_verdicts(troubled, verdict, blamed, off):
    (row,) = integrity.verdicts(plan(), checks(**troubled))
    assert row.verdict == verdict
    assert [blame.settings for blame in row.blames] == blamed
    assert row.off == off


def test_where_all_off_was_not_visited_it_is_not_known_whether_an_offload_does_it():
    checks_found = checks(**ALWAYS)
    del checks_found.planned["physical", 9000, "all_off"]
    (row,) = integrity.verdicts(plan(), checks_found)
    assert row.verdict == "broken everywhere"
    assert "No profile had all offloads off" in payload_sentences(plan(), checks_found)[0]["text"]


def test_the_sentence_names_what_to_switch_off():
    (sentence,) = payload_sentences(plan(), checks(all_on=12, gro_off=11))
    assert sentence["tone"] == "worse"
    assert sentence["text"] == (
        "Broken over physical at MTU 9000: the payload arrived wrong in 23 of 24 trials with "
        "tso on, in 0 of 36 without (p = 1e-15); switch tso off. The smallest message that "
        "arrived wrong has 65 bytes, from byte 64 on."
    )


def test_a_clean_verdict_states_its_bounds():
    (sentence,) = payload_sentences(plan(), checks())
    # 2,000 messages of 24 trials with TSO: 1 - (0.05 / 6) ** (1 / 2000) is 1 in 418.
    assert sentence["text"] == (
        "Clean over physical at MTU 9000: all 5,000 messages of 60 trials arrived as sent. With "
        "95 % confidence, with any one of these settings on, fewer than 1 in 418 messages arrives "
        "wrong (least is known of tso), and fewer than 19 % of the trials are in trouble."
    )


def test_datagrams_that_busy_cpus_lost_are_counted_in_a_clean_verdict():
    checks_found = checks()
    checks_found.planned["physical", 9000, "all_on"] = tally(12, 0, missing=2)
    (sentence,) = payload_sentences(plan(), checks_found)
    assert (
        "4,998 of 5,000 messages of 60 trials arrived as sent, and 2 were lost" in sentence["text"]
    )
    assert "fewer than 1 in 231 messages" in sentence["text"]


@pytest.mark.parametrize("hits, of, highest", [(0, 59, 0.0495), (1, 93, 0.0500), (5, 5, 1.0)])
def test_the_bounds_are_those_of_clopper_and_pearson(hits, of, highest):
    assert signflip.highest_share(hits, of, 0.05) == pytest.approx(highest, abs=2e-4)


def test_bounds_hold_in_95_of_100_campaigns():
    """The bounds of all settings together: of 400 campaigns at most 5 % state one that is wrong."""
    chance = random.Random(5)
    wrong = 0
    for _campaign in range(400):
        rate = chance.choice([1e-4, 1e-3, 3e-3])
        all_checks = payload.Checks({}, {})
        for name in plan()["profiles"]:
            lost = sum(chance.random() < rate for _message in range(200))
            all_checks.planned["physical", 9000, name] = tally(2, 0, sent=200, missing=lost)
        (row,) = integrity.verdicts(plan(), all_checks)
        wrong += any(bound.messages < rate for bound in row.bounds)
    assert wrong <= 20


def test_the_same_trouble_everywhere_blames_a_setting_seldom():
    """Of 400 reports on a path that is as bad with each profile, at most 5 % name a setting."""
    chance = random.Random(4)
    claimed = 0
    for _report in range(400):
        rate = chance.choice([0.05, 0.2, 0.5, 0.8])
        troubled = {name: sum(chance.random() < rate for _one in range(12)) for name in ALWAYS}
        (row,) = integrity.verdicts(plan(), checks(**troubled))
        claimed += row.verdict == "broken"
    assert claimed <= 20


def lossy(**troubled):
    """Return checks in which segments were lost, and nothing was wrong."""
    checks_found = checks(**troubled)
    for tally_of_profile in checks_found.planned.values():
        tally_of_profile["kinds"] = dict.fromkeys(
            [payload.SEGMENTS_LOST] if tally_of_profile["troubled"] else [], 1
        )
        tally_of_profile["whole"]["checks"]["tcp_forward"].update(wrong=0, first=None)
    return checks_found


@pytest.mark.parametrize("troubled", [{"all_on": 1}, ALWAYS])
def test_a_queue_that_overflows_breaks_nothing(troubled):
    (row,) = integrity.verdicts(plan(), lossy(**troubled))
    assert (row.verdict, row.off) == ("lossy", [])
    (sentence,) = payload_sentences(plan(), lossy(**troubled))
    assert sentence["text"].startswith(
        "Packets are lost over physical at MTU 9000: segments were lost and retransmitted in "
        f"{sum(troubled.values())} of 60 trials, and no setting was shown to be the cause."
    )


@pytest.mark.parametrize("sign", payload.LESSER)
def test_what_a_network_does_by_itself_is_a_settings_fault_where_it_goes_with_it(sign):
    checks_found = checks()
    for name in ("all_on", "gro=off"):
        checks_found.planned["physical", 9000, name]["lesser"] = {sign: 8}
    (row,) = integrity.verdicts(plan(), checks_found)
    assert (row.verdict, row.off, row.blames[0].kind) == ("broken", ["tso"], sign)
    for tally in checks_found.planned.values():
        tally["lesser"] = {sign: 3}  # as on busy CPUs
    (row,) = integrity.verdicts(plan(), checks_found)
    assert row.verdict == "clean"


def test_segments_that_are_lost_with_a_setting_only_are_its_fault():
    (row,) = integrity.verdicts(plan(), lossy(all_on=12, gro_off=12))
    assert (row.verdict, row.off) == ("broken", ["tso"])


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [1, 2])
def test_the_cure_is_right_and_smallest_in_95_of_100_campaigns(kinds):
    good = curing.right("bursts", 2, kinds)
    assert good.right >= 0.95 * good.of


@pytest.mark.slow
def test_a_clean_campaign_blames_a_setting_seldom():
    assert curing.claims("bursts", 40).right <= 2
