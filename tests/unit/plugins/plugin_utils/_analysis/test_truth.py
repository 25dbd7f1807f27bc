# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Truth tests: 1,000 simulated campaigns with a known truth each, judged by the real analysis code,
fixed seeds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.analysis import analyse
from ansible_collections.offload.lab.tests.instruments.simulation import noise as noises
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic, truth
from ansible_collections.offload.lab.tests.support import each_day

NOISES = pytest.mark.parametrize("noise", each_day(["skewed"], truth.NOISES))
# Designs of six factors take minutes of CPU time; three are a family of comparisons too.
GIVEN = [
    pytest.param(
        design, marks=pytest.mark.nightly if design[1] > 3 else (), id="{}-{}-{}".format(*design)
    )
    for design in (*truth.DESIGNS, ("one_at_a_time", 3, 8))
]
FACTORS = pytest.mark.parametrize("factors", each_day([3], [3, 6]))
DESIGNS = pytest.mark.parametrize("design", GIVEN)
COMPARED = [design for design in GIVEN if design.values[0][0] != "full_factorial"]


@pytest.mark.slow
@NOISES
@DESIGNS
def test_where_nothing_differs_hardly_anything_is_claimed(noise, design):
    """2,000 campaigns do not tell 5.0 % from 5.5 %: not shown to be above 5 %.

    tests/instruments/simulation/truth_tables.py has more.
    """
    claims_made = truth.claimed(truth.plan_of(*design), truth.NOISES[noise])
    assert truth.at_least(claims_made) <= 0.05 and truth.bounded(claims_made)[1] <= 0.07


@pytest.mark.slow
@NOISES
@DESIGNS
def test_intervals_cover_the_truth(noise, design):
    """Of 5 %; tests/instruments/simulation/truth_tables.py has 2 and 20 % too, which on logarithms are the same
    differences, shifted.
    """
    ratio = 1.05
    covered, _width = truth.coverage(
        truth.plan_of(*design), truth.NOISES[noise], ratio, seed=int(100 * ratio)
    )
    # Outliers widen an interval of t: what it holds too often it does not claim. 2,000 campaigns have
    # a standard error of 0.6 %: the lowest of these cells, skewed with three factors, holds 92.95 %
    # of them, and 94.2 and 94.4 % of 20,000 with two seeds.
    assert 0.925 <= covered <= (0.98 if noise == "with outliers" else 0.97)


@pytest.mark.slow
@pytest.mark.parametrize("noise", each_day(["recorded"], ["recorded", "normal"]))
@pytest.mark.parametrize("design", COMPARED)
def test_the_smallest_detectable_effect_is_right_within_a_quarter(noise, design):
    plan = truth.plan_of(*design)
    kind = truth.NOISES[noise]
    right = truth.true_smallest(plan, kind)
    stated = truth.stated_smallest(plan, kind)
    assert np.median(stated) == pytest.approx(right, rel=0.25)


@pytest.mark.slow
@NOISES
@FACTORS
def test_one_of_two_equals_is_hardly_ever_ranked_first(noise, factors):
    share, bound = truth.false_leaders(
        truth.plan_of("one_at_a_time", factors, 10), truth.NOISES[noise], 3.0
    )
    assert share <= 0.05 and bound <= 0.07


@pytest.mark.slow
@FACTORS
def test_lost_trials_do_not_make_claims(factors):
    plan = truth.plan_of("one_at_a_time", factors, 10)
    share, bound = truth.false_claims(plan, truth.NORMAL, lost=0.05)
    assert share <= 0.05 and bound <= 0.07
    assert 0.93 <= truth.coverage(plan, truth.NORMAL, 1.05, lost=0.05)[0] <= 0.97


def test_simulations_and_records_go_the_same_way():
    """The arrays that are simulated above, written as trial records and analysed as a user's, give
    the same numbers.
    """
    plan = truth.plan_of("one_at_a_time", 3, 8)
    metric = truth.simulate(plan, truth.NORMAL, {"tso=on": 1.2})
    rows = dict(zip(metric.cube.profiles, range(9)))
    records = [
        {
            "id": visit["cells"][0]["id"],
            "block": visit["block"],
            "mtu": 9000,
            "path": "physical",
            "profile": visit["profile"],
            "repeat": visit["repeat"],
            "workload": plan["workloads"][0],
            "result": {
                "throughput_mbps": metric.cube.values["throughput"][
                    7, -1 if visit["repeat"] else rows[visit["profile"]], visit["block"] - 1
                ]
            },
        }
        for visit in plan["visits"]
    ]
    metric_of_report = analyse(plan, records).tables[0].metrics[0]
    metric_of_simulation = metric.of_table(7)
    # These are of one metric alone in the simulation, of a whole report in the other.
    blank = {"p_report": None, "state": None, "needs": None, "significant": False}
    metric_of_report, metric_of_simulation = (
        replace(
            judged, rows=[replace(row, **blank) for row in judged.rows], smallest_detectable=None
        )
        for judged in (metric_of_report, metric_of_simulation)
    )
    assert metric_of_report == metric_of_simulation


def test_noise_is_read_from_a_campaign_as_it_was_put_in():
    plan = synthetic.make_plan(4, blocks=30, design="one_at_a_time")
    trials = synthetic.make_trials(
        plan, synthetic.Truth(noise=0.04, block_noise=0.2), cpu=False, raw=""
    )
    noise = noises.extract(plan, trials, "synthetic")
    assert noise["trial_sd"] == pytest.approx(0.04, rel=0.1)
    assert noise["block_sd"] == pytest.approx(0.2, rel=0.35)
    assert len(noise["residuals"]) == 400 and np.std(noise["residuals"]) == pytest.approx(
        1, abs=0.01
    )
    assert set(noise) - {"trials"} == set(noises.recorded_noise()) - {"trials"}


def test_noise_of_too_little_is_refused():
    plan = synthetic.make_plan(1, blocks=1)
    with pytest.raises(InputError, match="too few trials"):
        noises.extract(plan, synthetic.make_trials(plan), "one block")
