# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._across.campaigns import load
from ansible_collections.offload.lab.plugins.plugin_utils._across.compare import (
    compare,
    rows_of,
    welch,
)
from ansible_collections.offload.lab.plugins.plugin_utils._across.comparison_text import junit
from ansible_collections.offload.lab.plugins.plugin_utils._across.rows import direction
from ansible_collections.offload.lab.tests.instruments.simulation import searching, synthetic

FEATURES = synthetic.FEATURES
NOISE = {"noise": 0.01, "block_noise": 0.01}


def campaign(label, ratios=None, base=1.0, manifest=None, **plan):
    campaign_plan = synthetic.make_plan(
        2,
        design="one_at_a_time",
        name=label,
        **{"blocks": 8, "paths": ("physical",), "workloads": ("tcp_stream",), **plan},
    )
    truth = synthetic.Truth(ratios or {}, **NOISE)
    trials = list(
        synthetic.make_trials(campaign_plan, truth, seed=sum(map(ord, label)), cpu=False, raw="")
    )
    for trial in trials:
        trial["result"]["throughput_mbps"] *= base
    return load(campaign_plan, trials, manifest)


def metric_of(comparison):
    return comparison["compared"][0]["tables"][0]["metrics"][0]


def effects(comparison):
    return {row["profile"]: row for row in metric_of(comparison)["effects"]}


def values(comparison):
    return {row["profile"]: row for row in metric_of(comparison)["values"]}


def test_of_two_searches_the_confirmed_sets_are_compared():
    """Between them tso has become worthless.

    Both confirmed all_on; what each visited once is not compared.
    """
    pair = []
    for label, gain in (("before", 0.5), ("after", 0.0)):
        plan = searching.make_search(trials=2, factors=["tso", "gso", "gro", "rx"], name=label)
        machine = searching.Machine(
            lambda levels, gain=gain: (
                gain * (levels["tso"] == "on") + 0.1 * (levels["gro"] == "on")
            ),
            "plain",
            5,
        )
        whole_plan, record, _decided = searching.confirmed(plan, machine)
        pair.append(load(whole_plan, record))
    effects_found = effects(compare(pair, threshold=0.05))
    all_on = "tso=on,gso=on,gro=on,rx=on"
    assert (
        effects_found[all_on]["n"] == effects_found[all_on]["n_baseline"] == 6
        and effects_found[all_on]["regression"]
    )


def test_welch_takes_what_each_campaign_measured():
    generator = np.random.default_rng(1)
    first = generator.normal(0, 1, 9)
    second = generator.normal(0.5, 2, 7)
    reference = stats.ttest_ind(second, first, equal_var=False)
    n_first, n_second, mean, low, high, p = (
        column[0] for column in welch(first[None], np.append(second, [np.nan, np.nan])[None])
    )
    assert (n_first, n_second) == (9, 7)
    assert p == pytest.approx(reference.pvalue)
    assert (low, high) == pytest.approx(tuple(reference.confidence_interval()))
    assert mean == pytest.approx(second.mean() - first.mean())


def test_what_changes_all_profiles_alike_is_information_and_no_regression():
    comparison = compare([campaign("old"), campaign("new", base=0.8)], threshold=0.05)
    assert values(comparison)["all_off"]["ratio"] == pytest.approx(0.8, rel=0.03)
    assert values(comparison)["all_off"]["value"] == pytest.approx(
        0.8 * values(comparison)["all_off"]["baseline"], rel=0.03
    )
    assert comparison["passed"] and all(
        row["verdict"] == "same" for row in effects(comparison).values()
    )


def pair_that_matters(*percents, **ratios):
    """Return two campaigns to which ``percents`` matter; ``ratios`` hold in the second."""
    pair = [campaign("old"), campaign("new", ratios)]
    for campaign_of_pair, percent in zip(pair, percents):
        campaign_of_pair.plan["matters"] = percent
    return pair


@pytest.mark.parametrize(
    "percents, verdict",
    [((50, 50), "same"), ((0.01, 0.01), "unknown"), ((50, 0.01), "unknown")],
    ids=["narrow", "wide", "the smaller counts"],
)
def test_what_is_not_shown_is_same_only_within_what_matters(percents, verdict):
    comparison = compare(pair_that_matters(*percents), threshold=0.0)
    rows = effects(comparison).values()
    assert comparison["matters_percent"] == min(percents) and comparison["passed"]
    assert [(row["significant"], row["verdict"]) for row in rows] == [(False, verdict)] * 2
    suite = ElementTree.fromstring(junit(comparison)).find("testsuite")
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "0")
    verdict_words = {"same": ": same", "unknown": ": not known"}[verdict]
    assert all(case.findtext("system-out").endswith(verdict_words) for case in suite)


def test_what_is_shown_is_a_regression_though_it_is_smaller_than_what_matters():
    comparison = compare(pair_that_matters(50, 50, **{FEATURES[1]: 0.9}), threshold=0.05)
    row = effects(comparison)[f"{FEATURES[1]}=on"]
    assert 1 / 1.5 < row["low"] < row["high"] < 1.5
    assert row["significant"] and row["verdict"] == "worse" and row["regression"]
    assert not comparison["passed"]


def test_of_plans_of_earlier_versions_3_percent_matter():
    pair = pair_that_matters(50, 50)
    del pair[1].plan["matters"]
    assert compare(pair)["matters_percent"] == 3.0


@pytest.mark.parametrize(
    "better, ratio, verdict",
    [
        ("higher", 1.1, "better"),
        ("higher", 0.9, "worse"),
        ("lower", 1.1, "worse"),
        ("lower", 0.9, "better"),
        (None, 1.1, "higher"),
        (None, 0.9, "lower"),
    ],
)
def test_the_verdict_on_a_difference_that_is_shown(better, ratio, verdict):
    assert direction(better, ratio) == verdict


def test_an_effect_that_is_gone_shows_though_all_is_faster():
    comparison = compare(
        [campaign("old", {FEATURES[1]: 1.5}), campaign("new", base=2.0)], threshold=0.05
    )
    lost = effects(comparison)[f"{FEATURES[1]}=on"]
    assert (
        lost["ratio"] == pytest.approx(1 / 1.5, rel=0.03)
        and lost["low"] < lost["ratio"] < lost["high"]
    )
    assert lost["verdict"] == "worse" and lost["regression"] and not comparison["passed"]
    assert comparison["failures"] == [
        "new: physical/9000/tcp_stream, throughput, effect of tx-tcp-segmentation=on: "
        f"{lost['ratio']:.3f} of the baseline's"
    ]


def test_equals_pass():
    comparison = compare([campaign("old"), campaign("new")], threshold=0.05)
    assert comparison["passed"] and comparison["failures"] == []


def test_what_is_worse_by_less_than_the_threshold_passes():
    lost = {FEATURES[1]: 0.9}
    comparison = compare([campaign("old"), campaign("new", lost)], threshold=0.2)
    assert comparison["passed"] and effects(comparison)[f"{FEATURES[1]}=on"]["verdict"] == "worse"
    assert compare([campaign("old"), campaign("new", {FEATURES[1]: 0.5})])[
        "passed"
    ]  # no threshold, no judgement


def test_one_error_rate_for_all_effects_of_all_campaigns():
    campaigns = [campaign("old"), campaign("new", {FEATURES[1]: 0.9}), campaign("newer")]
    rows = [row for *_where, row in rows_of(compare(campaigns)["compared"])]
    assert len(rows) == 4
    ordered = sorted(rows, key=lambda row: row["p"])
    assert ordered[0]["p_holm"] == pytest.approx(4 * ordered[0]["p"], rel=1e-4)


def test_too_few_blocks_are_not_judged():
    comparison = compare(
        [campaign("old"), campaign("new", {FEATURES[1]: 0.5}, blocks=5)], threshold=0.05
    )
    row = effects(comparison)[f"{FEATURES[1]}=on"]
    assert (row["n_baseline"], row["n"], row["low"], row["p"], row["verdict"]) == (
        8,
        5,
        None,
        None,
        "unknown",
    )
    assert comparison["passed"]
    assert ElementTree.fromstring(junit(comparison)).find("testsuite").get("skipped") == "2"


def test_without_an_effect_in_common_nothing_is_judged_and_that_is_said():
    pair = [campaign("old"), campaign("new")]
    for campaign_of_pair in pair:  # as imported logs of one profile are
        campaign_of_pair.cube.profiles = campaign_of_pair.cube.profiles[:1]
        campaign_of_pair.cube.values = {
            "throughput": campaign_of_pair.cube.values["throughput"][:, [0, -1]]
        }
    assert metric_of(compare(pair))["effects"] == []
    with pytest.raises(InputError, match="no effect in common: nothing can be judged"):
        compare(pair, threshold=0.05)


def test_manifests_are_compared_but_for_what_always_differs():
    manifests = [
        {
            "nodes": {
                "node1": {"before": {"kernel": {"release": release}, "boot_id": boot, "same": 1}}
            }
        }
        for release, boot in (("6.1", "a"), ("6.18", "b"))
    ]
    comparison = compare(
        [campaign("old", manifest=manifests[0]), campaign("new", manifest=manifests[1])]
    )
    assert comparison["manifest"] == [
        {"node": "node1", "name": "kernel.release", "values": ["6.1", "6.18"]}
    ]


def test_junit_names_the_regressions():
    lost = {FEATURES[1]: 0.5}
    comparison = compare([campaign("old"), campaign("new", lost), campaign("same")], threshold=0.05)
    root = ElementTree.fromstring(junit(comparison))
    suites = {suite.get("name"): suite for suite in root}
    assert (suites["new"].get("tests"), suites["new"].get("failures")) == ("2", "1")
    assert suites["same"].get("failures") == "0"
    failure = suites["new"].find("testcase/failure")
    assert failure.get("type") == "regression" and "8 and 8 blocks" in failure.get("message")


@pytest.mark.parametrize("labels", [("old",), ("old", "old")])
def test_names_must_tell_the_campaigns_apart(labels):
    with pytest.raises(InputError, match="each with a name of its own"):
        compare([campaign(label) for label in labels])


def test_nothing_in_common_is_an_error():
    with pytest.raises(InputError, match="new has no table that old has too"):
        compare([campaign("old"), campaign("new", mtus=(1500,))])
