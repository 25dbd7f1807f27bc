# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Histories of simulated campaigns: twelve of them, with and without one real change."""

from __future__ import annotations

import numpy as np
import pytest
import ruptures

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._across import page
from ansible_collections.offload.lab.plugins.plugin_utils._across.campaigns import load
from ansible_collections.offload.lab.plugins.plugin_utils._across.history import (
    FEWEST,
    change_points,
    history,
    history_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._across.page import documents
from ansible_collections.offload.lab.plugins.plugin_utils._report.phrases import line
from ansible_collections.offload.lab.tests.instruments.simulation import (
    comparisons,
    searching,
    synthetic,
)
from ansible_collections.offload.lab.tests.instruments.simulation.truth import at_least
from ansible_collections.offload.lab.tests.support import each_day

DESIGN = next(iter(comparisons.DESIGNS))
KERNELS = ["6.1.0"] * 6 + ["6.12.1"] * 6


def manifest(kernel):
    return {"nodes": {"node1": {"before": {"host": {"kernel": kernel, "boot_id": kernel}}}}}


def campaigns(generator, noise, change=1.0, number=12):
    """Return campaigns of one plan, newest first; the first table is ``change`` times as fast from
    the 7th on.
    """
    plan = comparisons.plan_of(DESIGN)
    campaigns_made = []
    for index in range(number):
        campaign_made = comparisons.campaign(
            f"c{index + 1}", dict(plan, created=f"2026-01-{index + 1:02}"), noise, generator
        )
        if index >= 6:
            campaign_made.cube.values["throughput"][0] *= change
        campaigns_made.append(campaign_made._replace(manifest=manifest(KERNELS[min(index, 11)])))
    return campaigns_made[::-1]


def named(noise, change, histories):
    """Return the numbers of the campaigns that each history names."""
    generator = np.random.default_rng(19)
    return [
        [row["number"] for row in history(campaigns(generator, noise, change))["changes"]]
        for _history in range(histories)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("histories", each_day([50], [50, 200]))
@pytest.mark.parametrize("noise", each_day(["AR(1)"], comparisons.NOISES))
def test_without_a_change_none_is_named(noise, histories):
    changes_named = named(noise, 1.0, histories)
    assert (
        at_least(np.array([bool(numbers) for numbers in changes_named])) <= 0.05
    )  # not shown to be above 5 %


def test_a_change_of_a_tenth_names_the_campaign_since_which_it_is():
    assert named("plain", 0.9, 20) == [[7]] * 20


def test_a_history_says_what_changed_and_what_the_manifests_say():
    history_found = history(campaigns(np.random.default_rng(1), "plain", 0.9))
    assert [campaign["name"] for campaign in history_found["campaigns"]] == [
        f"c{number}" for number in range(1, 13)
    ]
    (change,) = history_found["changes"]
    step = change["steps"][0]
    assert (change["campaign"], change["before"], change["number"]) == ("c7", "c6", 7)
    assert (
        step["series"].startswith(history_found["series"][0]["table"])
        and step["verdict"] == "worse"
    )
    assert step["low"] < 0.9 < step["high"]
    assert change["manifest"] == [
        {"node": "node1", "name": "host.kernel", "values": ["6.1.0", "6.12.1"]}
    ]
    by_version = {(row["version"], row["campaigns"]) for row in history_found["versions"]}
    assert by_version == {("6.12.1", 6)}
    assert history_found["versions"][0]["ratio"] == pytest.approx(0.9, rel=0.03)


def test_a_history_of_searches_is_of_what_they_confirmed():
    """Twelve searches chose alike; since the seventh, tso gains a tenth less."""

    def machine(gain, seed):
        return searching.Machine(lambda levels: gain * (levels["tso"] == "on"), "plain", seed)

    plan = searching.make_search(trials=2, factors=["tso", "gro"])
    campaigns_made = []
    searched = searching.search(plan, machine(0.5, 1))
    for index in range(12):
        gain = 0.5 if index < 6 else 0.4
        whole_plan, record, _decided = searching.confirm(
            {**plan, "name": f"c{index + 1}"}, machine(gain, index), *searched
        )
        campaigns_made.append(load(whole_plan, record))
    (change,) = history(campaigns_made)["changes"]
    assert change["number"] == 7
    (step,) = [step for step in change["steps"] if step["series"].endswith("tso=on,gro=on")]
    assert step["low"] < np.exp(-0.1) < step["high"] and step["verdict"] == "worse"


def test_two_changes_are_named_and_one_bad_day_is_not():
    generator = np.random.default_rng(3)
    series = generator.normal(0, 0.01, (4, 24))
    series[1, 8:] += 0.1
    series[2, 16:] -= 0.1
    series[3, 12] += 0.1
    assert [(change.after, change.shown) for change in change_points(series)] == [
        (8, [1]),
        (16, [2]),
    ]


def test_the_place_is_the_one_that_ruptures_finds():
    generator = np.random.default_rng(5)
    for index in (3, 6, 10):
        series = generator.normal(0, 0.02, 14)
        series[index:] += 0.1
        expected = ruptures.Dynp(model="l2", min_size=2, jump=1).fit(series).predict(n_bkps=1)[0]
        assert [change.after for change in change_points(series[None])] == [expected]


@pytest.mark.parametrize("series", [np.zeros((3, 12)), np.zeros((0, 12)), np.ones((2, FEWEST - 1))])
def test_what_does_not_scatter_or_is_too_short_has_no_change(series):
    assert change_points(series) == []


def test_the_page_from_folders(tmp_path):
    truth = synthetic.Truth(noise=0.01, block_noise=0.01)
    for number, kernel in enumerate(KERNELS, 1):
        plan = synthetic.make_plan(
            1, paths=("physical",), workloads=("tcp_stream",), name="nightly"
        )
        trials = list(synthetic.make_trials(plan, truth, seed=number, cpu=False, raw=""))
        for trial in trials:
            trial["result"]["throughput_mbps"] *= 0.9 if number > 6 else 1.0
        folder = tmp_path / f"2026-01-{number:02}" / "nightly"
        synthetic.write(
            str(folder),
            dict(plan, created=f"2026-01-{number:02}T02:00:00Z"),
            trials,
            manifest(kernel),
        )
    history_found = history_of([str(tmp_path)])
    assert page.answer(history_found)[0]["text"].startswith(
        "Since campaign 7, 2026-01-07/nightly (2026-01-07): 1 quantity changed"
    )
    texts = documents(history_found)
    assert texts == documents(history_of([str(tmp_path)]))
    assert (
        "<svg" in texts["history.html"]
        and "6.12.1" in texts["history.html"]
        and "://" not in texts["history.html"]
    )
    assert "| node1 | host.kernel | 6.1.0 | 6.12.1 |" in texts["history.md"]
    few = history_of([str(tmp_path / f"2026-01-{number:02}") for number in (1, 2)])
    assert page.answer(few) == [
        line("unknown", "Too few campaigns: a change can be shown from 8 on.")
    ]


def test_where_no_change_is_shown_it_is_not_known_whether_there_is_one():
    quiet = history(campaigns(np.random.default_rng(1), "plain"))
    assert page.answer(quiet) == [
        line(
            "unknown",
            "No change was shown in 12 campaigns: whether there is one that matters is not known.",
        )
    ]


def test_what_is_no_history_is_said(tmp_path):
    with pytest.raises(InputError, match="there is no campaign in this folder"):
        history_of([str(tmp_path)])
    with pytest.raises(InputError, match="two campaigns or more"):
        history(campaigns(np.random.default_rng(1), "plain", number=1))
    pair = campaigns(np.random.default_rng(1), "plain", number=2)
    other = synthetic.make_plan(1, mtus=(1500,), paths=("physical",), workloads=("tcp_stream",))
    with pytest.raises(InputError, match="no table and control in common"):
        history([pair[0], comparisons.campaign("other", other, "plain", np.random.default_rng(1))])
