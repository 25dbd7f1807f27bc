# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._host.files import write_changed
from ansible_collections.offload.lab.plugins.plugin_utils._across import campaigns, comparison_text
from ansible_collections.offload.lab.plugins.plugin_utils._across.compare import compare_folders
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic
from ansible_collections.offload.lab.tests.report_golden import COMPARED, compared_texts


def written(folder, seed, ratio, manifest=None, *, blocks=8, matters=3):
    plan = synthetic.make_plan(
        1, blocks=blocks, paths=("physical",), workloads=("tcp_stream",), name="same"
    )
    plan["matters"] = matters
    truth = synthetic.Truth({synthetic.FEATURES[0]: ratio}, noise=0.01, block_noise=0.01)
    synthetic.write(
        str(folder), plan, synthetic.make_trials(plan, truth, seed=seed, cpu=False), manifest
    )
    return str(folder)


@pytest.fixture(name="two")
def two_results(tmp_path):
    manifests = [
        {"nodes": {"node1": {"before": {"kernel": release}}}} for release in ("6.1", "6.18")
    ]
    return [
        written(tmp_path / name / "demo", seed, ratio, manifest)
        for name, seed, ratio, manifest in zip(("old", "new"), (1, 2), (1.5, 1.2), manifests)
    ]


def test_texts_are_the_golden_ones(tmp_path):
    """To accept a change of the texts: make golden, then read the diff."""
    for text, content in compared_texts(tmp_path).items():
        assert content == (COMPARED / text).read_text(), text


def test_folders_of_the_same_name_are_told_apart(two):
    assert campaigns.labels_of(two) == ["old/demo", "new/demo"]
    assert campaigns.labels_of(["/a/x", "/a/y"]) == ["x", "y"]


def test_a_comparison_in_all_its_forms(two):
    comparison = compare_folders(two, 0.05)
    texts = comparison_text.documents(comparison)
    assert json.loads(texts["comparison.json"])["baseline"] == "old/demo"
    page = texts["comparison.md"].splitlines()
    assert page[0] == "# Against old/demo"
    assert [line for line in page if line.startswith("| physical")][0].endswith(
        " | worse **regression** |"
    )
    assert "- node1 kernel: 6.1 → 6.18" in page
    assert "| physical/9000/tcp_stream | throughput, Mbit/s | all_off | " in texts["comparison.md"]
    lines = comparison_text.console(comparison)
    assert (
        lines[0] == "new/demo against old/demo: 1 of 1 effect differs; worse by more than 5 %: 1."
    )
    assert lines[1].startswith("  physical/9000/tcp_stream, throughput, effect of all_on: 0.8")
    regressions = [line for line in lines if line.startswith("regression: ")]
    assert regressions == ["regression: " + text for text in comparison["failures"]]


@pytest.mark.parametrize(
    "matters, expected, mark, verdict",
    [
        (50, "0 of 1 effect differs.", "~", "same"),
        (0.01, "0 of 1 effect differs; 1 not known.", "?", "not known"),
    ],
)
def test_a_mark_says_what_is_known_where_no_difference_is_shown(
    tmp_path, matters, expected, mark, verdict
):
    names = ("old", "new")
    results = [
        written(tmp_path / name, seed, 1.5, matters=matters) for seed, name in enumerate(names)
    ]
    comparison = compare_folders(results)
    assert comparison_text.summary_lines(comparison) == [f"new against old: {expected}"]
    page = comparison_text.markdown(comparison)
    assert f"the interval lies within ± {matters} %. ?: not known." in page
    row = [line for line in page.splitlines() if line.startswith("| physical")][0].split(" | ")
    assert row[3].endswith(mark) and row[6] == f"{verdict} |"


def test_what_was_not_tested_is_told_from_what_is_not_known(tmp_path):
    results = [
        written(tmp_path / name, 1, 1.5, blocks=blocks) for name, blocks in (("a", 8), ("b", 5))
    ]
    comparison = compare_folders(results)
    assert comparison_text.summary_lines(comparison) == [
        "b against a: 0 of 1 effect differs; 1 not tested, 6 blocks of each are needed."
    ]


def test_what_is_no_results_folder_is_named(two, tmp_path):
    with pytest.raises(InputError, match="there is no plan.json"):
        compare_folders([two[0], str(tmp_path)])
    with pytest.raises(InputError, match="two results folders or more"):
        compare_folders(two[:1])
    (tmp_path / "new" / "demo" / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="this is not JSON"):
        compare_folders(two)


def test_files_are_written_where_they_differ(tmp_path):
    folder = tmp_path / "out"
    documents = {"a": "1\n", "b": "ä\r\n"}
    assert write_changed(str(folder), documents, check=True) == ["a", "b"] and not folder.exists()
    assert write_changed(str(folder), documents) == ["a", "b"]
    assert write_changed(str(folder), documents) == []
    (folder / "b").write_bytes(b"\xff")
    assert write_changed(str(folder), documents) == ["b"]
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    assert (folder / "b").read_bytes() == "ä\r\n".encode()
    with pytest.raises(InputError, match="cannot be written"):
        write_changed(str(folder / "a"), documents)
