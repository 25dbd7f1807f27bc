# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis import integrity
from ansible_collections.offload.lab.plugins.plugin_utils._report import broken

FACTORS = {"tx": [], "tso": ["tx"], "gro": []}


def plan():
    """Return what is read of a plan of design leave_one_out."""
    on = dict.fromkeys(FACTORS, "on")
    profiles = {"all_on": {"levels": on}}
    for name in FACTORS:
        profiles[f"{name}=off"] = {"levels": {**on, name: "off"}}
    factors = [{"name": name, "needs": needs} for name, needs in FACTORS.items()]
    return {"profiles": profiles, "factors": factors}


def tally(trials, troubled, sent=1000):
    check = {"sent": sent, "first": {"number": 1, "size": 65, "offset": 64} if troubled else None}
    kinds = {"the payload arrived wrong": troubled} if troubled else {}
    whole = {"checks": {"tcp_forward": check}}
    return {"trials": trials, "troubled": troubled, "kinds": kinds, "whole": whole}


def tallies(**troubled):
    """Return 12 trials of each profile, of which those were wrong that are named."""
    names = ["all_on", *(f"{name}=off" for name in FACTORS)]
    counts = {name: troubled.get(name.replace("=", "_"), 0) for name in names}
    return {("physical", 9000, name): tally(12, count) for name, count in counts.items()}


@pytest.mark.parametrize(
    "troubled, verdict, guilty",
    [
        ({}, "clean", []),
        ({"all_on": 12, "gro_off": 12}, "broken", ["tso"]),
        ({"all_on": 12, "tso_off": 12, "gro_off": 12}, "broken", ["tx"]),
        ({"all_on": 12, "tso_off": 12, "tx_off": 12}, "broken", ["gro"]),
        ({"all_on": 1}, "suspect", []),
        ({"all_on": 12, "tso_off": 12, "tx_off": 12, "gro_off": 12}, "broken without", []),
    ],
)
def test_verdicts(troubled, verdict, guilty):
    (row,) = integrity.verdicts(plan(), tallies(**troubled))
    assert row["verdict"] == verdict
    assert [one["factor"] for one in row["guilty"]] == guilty


def test_the_sentence_names_what_to_switch_off():
    (one,) = broken.lines(plan(), tallies(all_on=12, gro_off=11))
    assert one["verdict"] == "worse"
    assert one["text"] == (
        "Broken over physical at MTU 9000: the payload arrived wrong in 12 of 12 trials with "
        "all_on, in 0 of 12 with tso=off (p = 3.7e-07); switch tso off. The smallest message that "
        "arrived wrong has 65 bytes, from byte 64 on."
    )


def test_a_clean_verdict_states_its_bound():
    (one,) = broken.lines(plan(), tallies())
    assert "all 4,000 messages of 48 trials arrived as sent" in one["text"]
    assert "fewer than 1 in 1,336 arrives otherwise" in one["text"]


def test_the_same_trouble_everywhere_blames_a_setting_seldom():
    """Of 400 reports on a path that is as bad with each profile, at most 5 % name a setting."""
    chance = random.Random(4)
    claimed = 0
    for _report in range(400):
        rate = chance.choice([0.05, 0.2, 0.5, 0.8])
        here = {
            ("physical", 9000, name): tally(12, sum(chance.random() < rate for _one in range(12)))
            for name in plan()["profiles"]
        }
        (row,) = integrity.verdicts(plan(), here)
        claimed += row["verdict"] == "broken"
    assert claimed <= 20
