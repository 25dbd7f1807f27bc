# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One campaign under several kernels: on which side each is, in simulated nights and from folders."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.plugin_utils._across import kernels_page as page
from ansible_collections.offload.lab.plugins.plugin_utils._across.kernels import (
    judged_quantities,
    narrowest,
    report_of,
    sides_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._across.kernels_page import documents
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.simulation import (
    comparisons,
    kernels,
    synthetic,
)
from ansible_collections.offload.lab.tests.instruments.simulation.truth import at_least
from ansible_collections.offload.lab.tests.report_golden import (
    KERNELS,
    kernel_manifest,
    kernels_of,
    kernels_texts,
    own,
)
from ansible_collections.offload.lab.tests.support import each_day

NOISES = each_day(["AR(1)"], comparisons.NOISES)
NIGHTS = each_day(["four kernels, in the second alone"], kernels.NIGHTS)


@pytest.fixture(name="folder", scope="module")
def three_kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    kernels_of(folder)
    return folder


@pytest.fixture(name="report", scope="module")
def report_over_three(folder):
    return report_of([str(folder)])


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("night", NIGHTS)
def test_a_regression_of_a_tenth_is_named_with_the_side_of_each_kernel(night, noise):
    right, false = kernels.judged(night, noise, 0.9, 40).T
    assert right.mean() >= 0.9
    assert at_least(false) <= 0.05  # not shown to be above 5 %


@pytest.mark.nightly  # by day false differences are counted next to a true one
@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
def test_where_kernels_are_alike_no_difference_is_named(noise):
    _right, false = kernels.judged("four kernels, since the third", noise, 1.0, 60, seed=41).T
    assert at_least(false) <= 0.05


def test_texts_are_the_golden_ones(tmp_path):
    """To accept a change of the texts: make golden, then read the diff."""
    for text, content in kernels_texts(tmp_path).items():
        assert content == (KERNELS / text).read_text(), text


@pytest.mark.parametrize(
    "shown, places, groups, between",
    [
        ([], [], [[0, 1, 2, 3]], []),
        ([(0, 2), (0, 3), (1, 2), (1, 3)], [(1, 2)], [[0, 1], [2, 3]], []),
        ([(0, 1), (1, 2), (1, 3)], [(0, 1), (1, 2)], [[0], [1], [2, 3]], []),
        ([(0, 2), (0, 3)], [(0, 2)], [[0], [2, 3]], [1]),
        ([(0, 3)], [(0, 3)], [[0], [3]], [1, 2]),
        ([(0, 2), (1, 3)], [(0, 2), (1, 3)], [[0], [3]], [1, 2]),
    ],
)
def test_the_narrowest_pairs_say_on_which_side_each_kernel_is(shown, places, groups, between):
    assert narrowest(shown) == places
    assert sides_of(places, range(4)) == (groups, between)


def test_a_kernel_without_the_effect_is_on_no_side():
    assert sides_of([(0, 2)], [0, 2, 3]) == ([[0], [2, 3]], [])


def test_a_change_is_named_between_neighbours_in_the_order_of_versions(report):
    assert [row["kernel"] for row in report["kernels"]] == ["6.1.0-9", "6.1.0-56", "6.12.107"]
    (effect,) = [row for row in report["quantities"] if row["changes"]]
    (change,) = effect["changes"]
    assert effect["profile"] == "tso=on" and effect["state"] == "different"
    assert (change["before"], change["after"]) == ("6.1.0-56", "6.12.107")
    assert change["verdict"] == "worse" and change["low"] < 0.95 / 1.3 < change["high"]
    assert effect["sides"] == [["6.1.0-9", "6.1.0-56"], ["6.12.107"]]
    low = effect["under"][0]["low"]
    high = effect["under"][0]["high"]
    assert low < 1.3 < high


def test_what_can_be_set_and_what_is_recommended_is_named_where_it_differs(report):
    assert [row["values"] for row in report["support"]] == [
        ["fixed on", "can be set", "can be set"]
    ] * 2
    assert [row["words"] for row in report["advice"]] == ["tso=on", "tso=on", "nothing"]


def test_the_same_folders_give_the_same_files(folder, report):
    texts = documents(report)
    assert texts == documents(report_of([str(folder)]))
    assert json.loads(texts["kernels.json"]) == report
    assert texts["kernels.html"].count("<svg") == 3 and "://" not in texts["kernels.html"]


def test_a_setting_that_one_kernel_refuses_is_named(folder, tmp_path):
    for index, kernel in enumerate(("6.1.0-9", "6.1.0-56")):
        shutil.copytree(folder / kernel, tmp_path / kernel)
        path = tmp_path / kernel / "analysis.json"
        analysis = json.loads(path.read_text())
        row = {
            "factor": "tso",
            "path": "physical",
            "node": "node1",
            "device": "underlay0",
            "reason": "",
            "end": "client",
            "proof": "read_back",
            "share_on": None,
            "share_off": None,
            "others": [],
            "confounded": False,
        }
        analysis["verdicts"] = [{**row, "verdict": "applied" if index else "unsupported"}]
        path.write_text(json.dumps(analysis))
    kernels_report = report_of([str(tmp_path)])
    assert kernels_report["support"][0] == {
        "what": "tso",
        "where": "node1 underlay0, physical",
        "values": ["unsupported", "applied"],
    }
    sentences = [item["text"] for item in page.answer(kernels_report)]
    expected = "tso of node1 underlay0, physical (unsupported, then applied)"
    assert any(expected in sentence for sentence in sentences)


def test_what_was_measured_under_one_kernel_alone_is_shown_and_not_judged():
    night = kernels.night_of("two kernels, since the second", "plain", np.random.default_rng(1), 1)
    night.campaigns[1].cube.values["throughput"][0, 1] = np.nan
    quantities = judged_quantities(night.campaigns, kernels.MATTERS).quantities
    effect = next(quantity for quantity in quantities if quantity["id"].endswith(night.profile))
    assert [kernel_value["mean"] is None for kernel_value in effect["under"]] == [False, True]
    assert effect["state"] == "unknown" and effect["changes"] == []


def written(folder, kernel, blocks=8, *, report=True, control="off"):
    """Write a results folder of a campaign under a kernel, and its report."""
    plan = synthetic.make_plan(
        1,
        blocks=blocks,
        paths=("physical",),
        workloads=("tcp_stream",),
        design="on_off" if control == "off" else "leave_one_out",
    )
    nodes = {"node1": {"before": {"host": {"kernel": kernel}}}} if kernel else {}
    trials = synthetic.make_trials(plan, seed=blocks, cpu=False, raw="")
    synthetic.write(str(folder), plan, trials, {"nodes": nodes})
    if report:
        make_report(str(folder))


@pytest.mark.parametrize(
    "second, message",
    [
        ({"kernel": "6.1"}, "both were measured under kernel 6.1"),
        ({"kernel": None}, "it is not known under which kernel this was measured"),
        ({"kernel": "6.12", "report": False}, "there is no analysis.json"),
        ({"kernel": "6.12", "blocks": 4}, "no effect in common that can be tested"),
        ({"kernel": "6.12", "control": "on"}, "different controls"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path, second, message):
    written(tmp_path / "one", "6.1")
    written(tmp_path / "two", **second)
    with pytest.raises(InputError, match=message):
        report_of([str(tmp_path)])


def test_one_kernel_is_no_comparison(tmp_path):
    written(tmp_path / "one", "6.1")
    with pytest.raises(InputError, match="two kernels or more are needed"):
        report_of([str(tmp_path)])


def checked(trial, wrong):
    """Return a trial of workload payload, whose messages arrived wrong or not."""
    check = {**dict.fromkeys(result.COUNTS, 0), "sent": 90, "arrived": 90, "first": None}
    paths_checked = {
        "elapsed_s": 2.0,
        "mss": 1448,
        "checks": {"tcp_forward": {**check, "wrong": int(wrong)}},
        "counters": {"client": {}, "server": {}},
        "error": None,
    }
    error = payload.trouble(paths_checked)
    return {**trial, "result": {**trial["result"], "payload": paths_checked}, "error": error}


@pytest.mark.parametrize("broken", [True, False])
def test_a_check_of_the_payload_says_under_which_kernel_it_is_broken(tmp_path, broken):
    """Four blocks are too few to test an effect: the verdicts are shown all the same."""
    for kernel in ("6.1.0-9", "6.12.107"):
        plan = own(
            name="integrity",
            design="integrity",
            factors=["tso", "gso"],
            blocks=4,
            workloads=["payload"],
        )
        trials = []
        for trial in synthetic.make_trials(plan, cpu=False):
            tso = plan["profiles"][trial["profile"]]["levels"]["tso"] == "on"
            trials.append(checked(trial, broken and tso and kernel == "6.1.0-9"))
        synthetic.write(str(tmp_path / kernel), plan, trials, kernel_manifest(kernel, 2))
        make_report(str(tmp_path / kernel))
    kernels_report = report_of([str(tmp_path)])
    [row] = kernels_report["payload"]
    assert row["verdicts"] == ["broken" if broken else "clean", "clean"]
    first = page.answer(kernels_report)[0]
    if broken:
        assert first["tone"] == "worse"
        assert "6.1.0-9: broken with tso on, " in first["text"]
        assert "6.12.107: clean, 0 of " in first["text"]
    assert (
        page.NOTHING_BROKEN in [item["text"] for item in page.answer(kernels_report)]
    ) is not broken
    assert "The payload" in documents(kernels_report)["kernels.md"]
