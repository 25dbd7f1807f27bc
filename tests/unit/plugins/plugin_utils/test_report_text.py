# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers and sentences as they are printed."""
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.plugin_utils import _report_answer as answers
from ansible_collections.offload.lab.plugins.plugin_utils import _report_text as text


@pytest.mark.parametrize(("value", "printed"), [
    (None, "–"), (math.nan, "–"), (0.0, "0.000"), (0.0451, "0.045"), (1.234, "1.23"), (99.4, "99.40"),
    (489.44, "489.4"), (4281.2, "4281"), (9999.4, "9999"), (10072.4, "10,072")])
def test_number(value, printed):
    assert text.number(value) == printed


@pytest.mark.parametrize(("value", "printed"), [
    (None, "–"), (1.0, "1.000"), (1.0133, "1.013"), (1.453, "1.45"), (0.64, "0.64"), (12.3, "12.30")])
def test_ratio(value, printed):
    assert text.ratio(value) == printed


@pytest.mark.parametrize(("value", "printed"), [
    (1.84, "84 % more"), (1.052, "5.2 % more"), (0.58, "42 % less"), (1.0, "0.0 % more"), (2.4, "2.40 times as much")])
def test_change(value, printed):
    assert text.change(value) == printed


@pytest.mark.parametrize(("value", "printed"), [(1.084, "8.4 %"), (1.92, "92 %"), (2.25, "a factor of 2.2")])
def test_size(value, printed):
    assert text.size(value) == printed


@pytest.mark.parametrize(("value", "printed"), [(None, "–"), (0.0004, "<0.001"), (0.03125, "0.031"), (1.0, "1.000")])
def test_p_value(value, printed):
    assert text.p_value(value) == printed


@pytest.mark.parametrize(("value", "printed"), [(None, "–"), (45, "45 s"), (720, "12 min"), (12600, "3.5 h")])
def test_seconds(value, printed):
    assert text.seconds(value) == printed


@pytest.mark.parametrize(("words", "printed"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"),
                                                (["a", "b", "c"], "a, b and c")])
def test_listed(words, printed):
    assert text.listed(words) == printed


def row(ratio, low=None, high=None, verdict="better", profile="all_on"):
    return {"profile": profile, "label": profile, "ratio": ratio, "low": low, "high": high, "verdict": verdict}


@pytest.mark.parametrize(("effect", "printed"), [
    (row(1.84, 1.71, 1.97), "84 % more throughput than all_off (71 to 97 %)"),
    (row(0.58, 0.55, 0.62), "42 % less throughput than all_off (38 to 45 %)"),
    (row(2.31, 2.23, 2.39), "2.31 times the throughput of all_off (2.23 to 2.39)"),
    (row(1.01, 0.98, 1.04), "1.0 % more throughput than all_off (between 2.0 % less and 4.0 % more)"),
    (row(1.5), "50 % more throughput than all_off")])
def test_effect(effect, printed):
    assert answers.effect(effect, "throughput", "all_off") == printed


def table(*rows, demands=()):
    def quantity(group, label, members):
        return {"group": group, "label": label, "control": "all_off", "smallest": 1.06, "rows": list(members)}
    return {"pair": None, "path": "physical", "mtu": 9000, "workload": "tcp_stream", "test": "TCP_STREAM",
            "quantities": [quantity("main", "throughput", rows),
                           quantity("service_demand_client", "service demand at the client", demands)]}


@pytest.mark.parametrize(("found", "verdict", "printed"), [
    (table(row(1.84, 1.71, 1.97), demands=[row(0.5, 0.4, 0.6)]), "better",
     "all_on gave 84 % more throughput than all_off (71 to 97 %), with 50 % less service demand at the client "
     "(40 to 60 %)."),
    (table(row(1.01, 0.98, 1.04, "same"), demands=[row(0.5, 0.4, 0.6)]), "same",
     "no difference in throughput shown between all_on and all_off; measured 1.0 % more (between 2.0 % less and 4.0 % "
     "more); less than about 6.0 % could not have shown; but 50 % less service demand at the client (40 to 60 %)."),
    (table(row(1.5, verdict="unknown")), "unknown",
     "all_on measured 50 % more throughput than all_off; too few blocks for an interval."),
    (table(row(None, verdict="unknown")), "unknown", "nothing to compare with all_off."),
    (table(row(1.2, 1.1, 1.3, profile="a"), row(0.5, 0.4, 0.6, "worse", "b"), row(1.0, 0.9, 1.1, "same", "c")), "worse",
     "2 of 3 profiles differ from all_off: b, 50 % less throughput (40 to 60 %) and a, 20 % more throughput "
     "(10 to 30 %)."),
    (table(row(1.0, 0.9, 1.1, "same", "a"), row(1.0, 0.9, 1.1, "same", "b")), "same",
     "none of 2 profiles shown to differ from all_off in throughput; less than about 6.0 % could not have shown.")])
def test_sentence(found, verdict, printed):
    assert answers.sentence(found)[:2] == (verdict, "TCP_STREAM over physical at MTU 9000: " + printed)


def test_many_tables_give_the_largest_effects_in_table_order():
    tables = [table(row(1.0 + size / 10, 1.01, 2.0)) for size in (1, 9, 2, 8, 3, 7, 4, 6, 5)]
    items = answers.by_table(tables)
    sizes = [item["text"].split("gave ")[1][:4] for item in items[:-1]]
    assert sizes == ["90 %", "80 %", "70 %", "40 %", "60 %", "50 %"]
    assert items[-1]["text"] == "These are the largest of 9 comparisons; all are below."


@given(st.floats(0.01, 50), st.floats(1.0001, 3))
def test_any_effect_has_a_sentence(ratio, width):
    words = answers.effect(row(ratio, ratio / width, ratio * width), "throughput", "all_off")
    assert words.endswith(")") and "nan" not in words
