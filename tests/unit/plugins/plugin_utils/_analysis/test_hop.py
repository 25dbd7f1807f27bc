# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hop at which a setting breaks, by chains whose truth is known (tests/instruments/simulation)."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.plugin_utils._analysis import blame, hop
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cure import at
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.simulation import curing, hops
from ansible_collections.offload.lab.tests.support import each_day
from ansible_collections.offload.lab.tests.unit.builders import payload_sentences
from ansible_collections.offload.lab.tests.unit.plugins.plugin_utils._report.test_broken import (
    found,
)

CLASSES = hops.CHAINS[-1]
NOWHERE = hop.Hop(("tx",), "client", "underlay")


def checks_of(truth, plan, rate=1.0, noise="none", seed=1):
    return curing.measured(hops.Chain(plan, truth, rate, noise, seed), plan)


def likeliest(plan, checks):
    return hop.likeliest(plan, at(checks.planned, curing.PLACE), payload.WRONG)


@pytest.mark.parametrize("devices", CLASSES)
@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("setting", ["tx", "gro"])
def test_a_fault_that_always_acts_is_placed(setting, side, devices):
    truth = hop.Hop((setting,), side, devices)
    plan = hops.plan_of(setting, CLASSES, 1, 1.0)
    assert likeliest(plan, checks_of(truth, plan)) == [[truth]]


@pytest.mark.parametrize("noise", each_day(["bursts"], curing.NOISES))
def test_rare_faults_are_placed_in_most_chains_under_each_noise(noise):
    assert sum(hops.named_by(seed, 1e-4, noise) for seed in range(20)) >= 16


@pytest.mark.parametrize("devices", CLASSES)
@pytest.mark.parametrize("side", ["client", "server"])
def test_an_end_at_which_nothing_breaks_is_left_out(side, devices):
    plan = hops.plan_of("tx", CLASSES, 1, 1.0)
    truth = hop.Hop(("tx",), side, devices)
    campaign_plan, record = hops.until_named(hops.Chain(plan, truth, 1.0, "none", 1), plan)
    assert campaign_plan[-1]["answered"]
    assert likeliest(plan, payload.checks_of(record)) == [[truth]]
    other = {"client": "server", "server": "client"}[side]
    late = {trial["profile"] for trial in record if trial["block"] > 2}
    assert not any(f"_at_{other}" in name for name in late)
    assert 3 * len(record) <= 2 * len(plan["visits"])


def test_an_end_that_breaks_seldom_is_not_left_out():
    plan = hops.plan_of("tx", CLASSES, 1, 1.0)
    planned_checks = curing.measured(hops.Chain(plan, NOWHERE, 0.0, "none", 1), plan).planned
    tallies = at(planned_checks, curing.PLACE)
    often, seldom = "tx_at_client", "tx_at_server"
    tallies[often].update(troubled=3, kinds={payload.WRONG: 3}, trials=6)
    for trials, spared in ((1, False), (3, False), (6, True)):
        tallies[seldom].update(trials=trials)
        assert (seldom in set().union(*hop.innocent(plan, tallies))) is spared
    tallies["not_tx_at_server_tunnel"].update(troubled=1, kinds={payload.WRONG: 1})
    assert hop.innocent(plan, tallies) == []


@pytest.mark.parametrize("stalled, spared", [(0, False), (1, True)])
def test_a_fault_with_many_strikes_in_each_trial_spares_the_other_end_after_one(stalled, spared):
    plan = hops.plan_of("tx", CLASSES, 1, 1.0)
    planned_checks = curing.measured(hops.Chain(plan, NOWHERE, 0.0, "none", 1), plan).planned
    tallies = at(planned_checks, curing.PLACE)
    whole = tallies["tx_at_client"]["whole"]
    counts = dict.fromkeys(result.COUNTS, 0)
    check = {**counts, "first": None, "segments_lost": 9, "stalled": stalled}
    whole = {**whole, "checks": {"tcp_forward": check}}
    tallies["tx_at_client"].update(troubled=1, kinds={payload.STALLED: 1}, trials=1, whole=whole)
    tallies["tx_at_server"].update(trials=1)
    assert ("tx_at_server" in set().union(*hop.innocent(plan, tallies))) is spared


def test_what_did_not_break_has_no_hop():
    plan = hops.plan_of("tx", CLASSES, 1, 1.0)
    assert likeliest(plan, checks_of(NOWHERE, plan, rate=0.0)) == []


def test_a_campaign_that_varies_no_setting_by_hop_names_none():
    assert blame.chains(curing.plan_of()) == []


def test_what_both_ends_break_is_placed_at_both():
    plan = hops.plan_of("tx", CLASSES, 1, 1.0)
    truths = [hop.Hop(("tx",), "client", "tenant"), hop.Hop(("tx",), "server", "tunnel")]
    machine = hops.Chain(plan, truths[0], 1.0, "none", 1)
    machine.faults.update(hops.Chain(plan, truths[1], 1.0, "none", 1).faults)
    checks = curing.measured(machine, plan)
    assert likeliest(plan, checks) == [[truth] for truth in truths]


@pytest.mark.parametrize(
    "causes_seen, message",
    [
        ({"wrong": 1}, payload.WRONG),
        ({"missing": 1}, payload.LOST_ANY),
        ({"duplicated": 1}, payload.TWICE),
    ],
)
def test_the_verdict_names_the_hop(causes_seen, message):
    plan = hops.plan_of("tx", CLASSES, 1, 1.0)
    checks = payload.Checks({}, {})
    wrong = {**found()["checks"]["tcp_forward"], **causes_seen}
    for visit in plan["visits"]:
        levels = plan["profiles"][visit["profile"]]["levels"]
        sent = ["tx_at_client_tenant", "tx_at_client_tunnel"]
        checked = (
            found(checks={"tcp_forward": wrong})
            if all(levels[name] == "on" for name in sent)
            else found()
        )
        checks.see(("physical", 1500, visit["profile"]), None, checked)
    [line] = payload_sentences(plan, checks)
    assert f": {message} in " in line["text"]
    assert "The hop: tx at the tunnel of the client." in line["text"]
