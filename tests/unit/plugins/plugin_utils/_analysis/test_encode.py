# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A result as analysis.json, and back."""

from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.encode import (
    decoded,
    read_analysis,
)
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.result import (
    Analysis,
    Comparison,
    Score,
)
from ansible_collections.offload.lab.plugins.plugin_utils._report.report import make_report
from ansible_collections.offload.lab.tests.report_golden import CAMPAIGNS
from ansible_collections.offload.lab.tests.support import as_file

SCORE = {"ratio": 1.2, "low": None, "high": 2, "n": 6}


@pytest.mark.parametrize("name", ["broken_hop", "search", "screen", "confirmed"])
def test_a_result_is_read_as_it_was_written(tmp_path, name):
    CAMPAIGNS[name](tmp_path)
    make_report(str(tmp_path))
    analysis = read_analysis(Analysis, str(tmp_path))
    assert as_file(analysis) == json.loads((tmp_path / "analysis.json").read_text())
    metrics = [metric for table in analysis.tables for metric in table.metrics]
    assert all(isinstance(metric, Comparison) == metric.compared for metric in metrics)


def test_a_folder_without_a_report_has_none(tmp_path):
    assert read_analysis(Analysis, str(tmp_path)) is None


def test_keys_of_later_versions_are_left_out():
    assert decoded(Score, {**SCORE, "later": 1}, "x") == Score(**SCORE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": "6"}, "here.n: this is not a value of type integer"),
        ({"n": True}, "here.n: this is not a value of type integer"),
        ({"low": "1.1"}, "here.low: this is not a value of type number"),
        ({"ratio": {}}, "here.ratio: this is not a value of type number"),
    ],
)
def test_what_is_of_another_type_is_named(change, message):
    with pytest.raises(InputError, match=message):
        decoded(Score, {**SCORE, **change}, "here")


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match="here: this is not a whole part: n is missing"):
        decoded(Score, {"ratio": 1.2, "low": None, "high": None}, "here")
    with pytest.raises(InputError, match="here: this is not a value of type object"):
        decoded(Score, [], "here")
