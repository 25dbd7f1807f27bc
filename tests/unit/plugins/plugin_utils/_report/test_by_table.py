# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Effects in words, and what was shown in single tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.plugin_utils._figures.nouns import NamedTable
from ansible_collections.offload.lab.plugins.plugin_utils._report import advice, phrases
from ansible_collections.offload.lab.tests.unit.builders import made, shown_row


def row(ratio, low=None, high=None, verdict="better", profile="all_on"):
    needs = {"blocks": 4, "seconds": 60.0, "text": "4 more blocks"}
    return shown_row(
        profile,
        profile,
        ratio=ratio,
        low=low,
        high=high,
        verdict=verdict,
        needs=needs if verdict == "unknown" else None,
    )


@pytest.mark.parametrize(
    ("effect", "printed"),
    [
        (row(1.84, 1.71, 1.97), "84 % more throughput than all_off (71 to 97 %)"),
        (row(0.58, 0.55, 0.62), "42 % less throughput than all_off (38 to 45 %)"),
        (row(2.31, 2.23, 2.39), "2.31 times the throughput of all_off (2.23 to 2.39)"),
        (row(1.35, 1.05, 2.4), "35 % more throughput than all_off (1.05 to 2.40 times)"),
        (
            row(1.01, 0.98, 1.04),
            "1.0 % more throughput than all_off (between 2.0 % less and 4.0 % more)",
        ),
        (row(1.5), "50 % more throughput than all_off"),
    ],
)
def test_effect(effect, printed):
    assert phrases.effect(effect.effect, "throughput", "all_off") == printed


def table(*rows, demands=()):
    def quantity(group, label, members):
        return {
            "group": group,
            "label": label,
            "control": "all_off",
            "smallest": 1.06,
            "rows": list(members),
        }

    return made(
        NamedTable,
        **{
            "pair": None,
            "path": "physical",
            "mtu": 9000,
            "workload": "tcp_stream",
            "test": "TCP_STREAM",
            "saturated": False,
            "quantities": [
                quantity("main", "throughput", rows),
                quantity("service_demand_client", "service demand at the client", demands),
            ],
        },
    )


@pytest.mark.parametrize(
    ("row_of_effect", "verdict", "printed"),
    [
        (
            table(row(1.84, 1.71, 1.97), demands=[row(0.5, 0.4, 0.6)]),
            "better",
            "all_on gave 84 % more throughput than all_off (71 to 97 %), with 50 % less service demand at the client "
            "(40 to 60 %).",
        ),
        (
            table(row(1.01, 0.98, 1.04, "same"), demands=[row(0.5, 0.4, 0.6)]),
            "same",
            "no difference that matters in throughput between all_on and all_off: 1.0 % more (between 2.0 % "
            "less and 4.0 % "
            "more); but 50 % less service demand at the client (40 to 60 %).",
        ),
        (
            table(row(1.5, verdict="unknown")),
            "unknown",
            "not known; all_on measured 50 % more throughput than all_off; 4 more blocks would settle it.",
        ),
        (table(row(None, verdict="unknown")), "unknown", "nothing to compare with all_off."),
        (
            table(
                row(1.2, 1.1, 1.3, profile="a"),
                row(0.5, 0.4, 0.6, "worse", "b"),
                row(1.0, 0.9, 1.1, "same", "c"),
            ),
            "worse",
            "2 of 3 profiles differ from all_off: b, 50 % less throughput (40 to 60 %) and a, 20 % more throughput "
            "(10 to 30 %).",
        ),
        (
            table(row(1.0, 0.9, 1.1, "same", "a"), row(1.0, 0.9, 1.1, "same", "b")),
            "same",
            "no difference that matters in throughput between 2 profiles and all_off.",
        ),
        (
            table(row(1.1, 0.9, 1.3, "unknown", "a"), row(1.0, 0.99, 1.01, "same", "b")),
            "unknown",
            "none of 2 profiles was shown to differ from all_off in throughput; not known of 1.",
        ),
    ],
)
def test_sentence(row_of_effect, verdict, printed):
    assert advice.sentence(row_of_effect)[:2] == (
        verdict,
        "TCP_STREAM over physical at MTU 9000: " + printed,
    )


def test_service_demand_on_a_saturated_cpu_is_no_second_piece_of_evidence():
    saturated_table = replace(
        table(row(1.84, 1.71, 1.97), demands=[row(0.5, 0.4, 0.6)]), saturated=True
    )
    assert advice.sentence(saturated_table)[1].endswith(
        "84 % more throughput than all_off (71 to 97 %)."
    )


def test_many_tables_give_the_largest_effects_in_table_order():
    tables = [table(row(1.0 + size / 10, 1.01, 2.0)) for size in (1, 9, 2, 8, 3, 7, 4, 6, 5)]
    items = advice.by_table(tables)
    sizes = [item["text"].split("gave ")[1][:4] for item in items[:-1]]
    assert sizes == ["90 %", "80 %", "70 %", "40 %", "60 %", "50 %"]
    assert items[-1]["text"] == "These are the largest of 9 comparisons; all are below."


@given(st.floats(0.01, 50), st.floats(1.0001, 3))
def test_any_effect_has_a_sentence(ratio, width):
    sentence = phrases.effect(
        row(ratio, ratio / width, ratio * width).effect, "throughput", "all_off"
    )
    assert sentence.endswith(")") and "nan" not in sentence
