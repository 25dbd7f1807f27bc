# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._ethtool.settings import parse_rss
from ansible_collections.offload.lab.plugins.module_utils._kinds.rss import (
    RSS_WEIGHTS,
    table_of,
    text_of,
)
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

EQUAL = [0, 1, 2, 3] * 4


def plan(weights, table=None, report_fixed=False):
    state = RSS_WEIGHTS.state(table or EQUAL, None)
    return RSS_WEIGHTS.plan({"rss_weights": {"weights": weights}}, state, "eth0", report_fixed)


@pytest.mark.parametrize(
    "weights, argv",
    [
        ("equal 4", None),
        ("equal 2", "ethtool -X eth0 equal 2"),
        ("3 1", "ethtool -X eth0 weight 12 4"),
        ("1 1 1", "ethtool -X eth0 weight 5 5 6"),
        ("0 1", "ethtool -X eth0 weight 0 16"),
        ("1 0", "ethtool -X eth0 equal 1"),
    ],
)
def test_what_differs_is_written(weights, argv):
    steps = RSS_WEIGHTS.steps(plan(weights)["change"], "eth0")
    assert [" ".join(argv_words) for argv_words in steps] == ([argv] if argv else [])


def test_a_snapshot_brings_the_table_back():
    kept = RSS_WEIGHTS.kept(RSS_WEIGHTS.described(RSS_WEIGHTS.state(EQUAL, None)))
    back = plan(kept["weights"], [0] * 12 + [1] * 4)
    assert RSS_WEIGHTS.steps(back["change"], "eth0") == [["ethtool", "-X", "eth0", "equal", "4"]]


def test_a_table_of_another_shape_is_not_kept_and_can_be_changed():
    state = RSS_WEIGHTS.state([1, 0, 0, 1], None)
    assert state["current"] == {"weights": "other"}
    assert RSS_WEIGHTS.kept(RSS_WEIGHTS.described(state)) == {}
    assert plan("equal 2", [1, 0, 0, 1])["change"] == {"weights": "equal 2"}


def test_a_table_that_has_become_smaller_is_reported():
    planned = plan("12 4", [0, 1], report_fixed=True)
    reason = "12 4 adds up to more than the 2 entries of the table"
    assert planned["fixed"] == {"weights": {"asked": "12 4", "reason": reason}}
    with pytest.raises(InputError, match="adds up to more than the 2 entries"):
        plan("12 4", [0, 1])


def test_recorded_tables_can_be_written_back():
    for path in sorted((corpus_dir() / "ethtool_x").iterdir()):
        table = list(parse_rss(path.read_text()).values())[0]["indirection"]
        assert table_of(text_of(table), len(table)) == table, path


@pytest.mark.parametrize("weights", ["9 9", "0 0", "equal 0", "equal", "-1 2", "1,2", "", "1 x"])
def test_what_does_not_divide_the_table(weights):
    with pytest.raises(InputError):
        plan(weights)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=16), st.sampled_from([16, 128, 1000]))
def test_what_is_written_reads_back_the_same(weights, size):
    assume(0 < sum(weights) <= size)
    table = table_of(" ".join(map(str, weights)), size)
    assert len(table) == size
    text = text_of(table)
    assert table_of(text, size) == table
    assert plan(text, table)["change"] == {}
