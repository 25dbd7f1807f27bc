# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benchmark of answers replays: the pool of trials, the two shell loops, and a search."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.tests.instruments.simulation.replays import Pool, every_set

FACTORS = ["tx", "sg", {"name": "tso", "needs": ["tx", "sg"]}, "rps"]
NOISE = 0.01


@pytest.fixture(scope="module")
def pool():
    """Trials of all sets: TSO makes it half as much again, RPS costs a tenth, and each block has a
    level of its own.
    """
    campaign_keys = {
        "name": "truth",
        "seed": 1,
        "design": "profiles",
        "blocks": 6,
        "confirm": 0,
        "paths": ["physical"],
        "workloads": ["tcp_rr"],
        "factors": FACTORS,
    }
    plan = make_plan(
        read_campaign(
            {**campaign_keys, "profiles": every_set({**campaign_keys, "design": "on_off"})}
        ),
        "",
    )
    generator = np.random.default_rng(1)
    trials = []
    for visit in plan["visits"]:
        levels = plan["profiles"][visit["profile"]]["levels"]
        value = (
            0.4 * (levels["tso"] == "on")
            - 0.1 * (levels["rps"] != "off")
            + NOISE * generator.standard_normal()
        )
        trials.append(
            {
                "block": visit["block"],
                "profile": visit["profile"],
                "workload": {"test": "TCP_RR"},
                "result": {"transactions_per_s": np.exp(9 + visit["block"] + value)},
            }
        )
    return Pool(plan, trials)


def test_the_best_set_has_no_loss_and_others_lose_what_they_do(pool):
    off, on = pool.sets()
    assert pool.best() == {**pool.best(), "tx": "on", "sg": "on", "tso": "on", "rps": "off"}
    assert pool.loss(pool.best()) == (0.0, 0.0)
    for levels, loss in ((off, 0.4), (on, 0.1)):
        loss_found, error = pool.loss(levels)
        assert abs(loss_found - loss) < 4 * error < 0.1


def test_what_is_worse_is_told_from_the_best_set_and_where_all_are_alike_none_is(pool):
    _off, on = pool.sets()
    assert pool.told(pool.best()) == 1.0
    assert pool.told(on) < 0.001
    alike = copy.copy(pool)
    generator = np.random.default_rng(1)
    alike.pool = {key: generator.normal(0, NOISE, 6) for key in pool.pool}
    worst = min(alike.pool, key=lambda key: np.mean(alike.pool[key]))
    assert alike.told(dict(zip(on, worst))) > 0.05  # the best of many looks better than it is


def test_a_feature_stays_off_while_one_that_it_needs_is_off(pool):
    off, on = pool.sets()
    assert pool.kept({**off, "tso": "on"}) == off
    assert pool.kept({**on, "sg": "off"}) == {**on, "sg": "off", "tso": "off"}
    assert pool.kept(on) == on


def test_a_loop_from_all_off_sees_nothing_of_what_needs_others(pool):
    _off, on = pool.sets()
    assert (
        pool.looped(np.random.default_rng(1), 30) == on
    )  # for all on is better than each alone, RPS and all


def test_a_loop_from_all_on_takes_away_what_costs(pool):
    levels_found = pool.looped(np.random.default_rng(1), 30, from_all_on=True)
    assert levels_found == {**pool.best(), "rps": "off", "tso": "on"}


def test_a_search_is_replayed(pool):
    loss, visits = pool.searched(seed=1, trials=3)
    assert loss < 0.02
    assert 20 < visits < 45


def test_a_search_is_replayed_within_its_time_budget(pool):
    _loss, visits = pool.searched(seed=1, trials=3)
    _loss, fewer = pool.searched(seed=1, trials=3, time_budget=930)  # seconds: two rounds fit
    assert 15 < fewer < visits
