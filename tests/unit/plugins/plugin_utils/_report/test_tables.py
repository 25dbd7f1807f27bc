# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables as printed: names without what is the same for all, one table for few profiles, the
overview.
"""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.offload.lab.plugins.plugin_utils._figures.nouns import NamedTable
from ansible_collections.offload.lab.plugins.plugin_utils._report import tables
from ansible_collections.offload.lab.tests.unit.builders import made, shown_row

SPREAD = {"n": 6, "median": 100.0, "q1": 90.0, "q3": 110.0}


def row(profile, ratio, verdict, **effect_keys):
    spread = {
        **SPREAD,
        "ratio": ratio,
        "low": ratio * 0.9,
        "high": ratio * 1.1,
        "p": 0.03,
        **effect_keys,
    }
    return shown_row(profile, profile, verdict=verdict, **spread)


def table(path, mtu, rows, notes=(), **table_keys):
    quantity = {
        "name": "throughput",
        "group": "main",
        "label": "throughput",
        "unit": "Mbit/s",
        "better": "higher",
        "blocks": 6,
        "control": "all_off",
        "control_row": SPREAD,
        "noise_floor": 1.0 + mtu / 1e5,
        "smallest": 1.05,
        "rows": rows,
    }
    return made(
        NamedTable,
        id=f"{path}/{mtu}",
        path=path,
        mtu=mtu,
        workload="tcp_stream",
        test="TCP_STREAM",
        notes=list(notes),
        quantities=[quantity],
        **table_keys,
    )


def named(tables_found):
    """Return tables with the names that they have in one report."""
    names = tables.name_tables(tables_found)
    return [
        replace(table_found, **name._asdict()) for table_found, name in zip(tables_found, names)
    ]


def many(path, mtu, count):
    return table(
        path,
        mtu,
        [
            row(f"p{number:02}", 1.5 if not number else 1.0, "same" if number else "better")
            for number in range(count)
        ],
    )


def test_one_profile_gives_one_table_of_all_places():
    named_tables = named(
        [
            table("physical", 9000, [row("all_on", 1.5, "better")], ["drifts."]),
            table("tenant", 1500, [row("all_on", 1.0, "same")], ["drifts."]),
        ]
    )
    (block,) = tables.blocks(named_tables)
    (quantity,) = block.quantities
    assert block.title == "all_on against all_off" and quantity.noise_floor is None
    assert [row.floor for row in quantity.rows] == [1.09, 1.015]  # each table has its own
    assert "6 blocks; the grey band of a row is its table's noise floor (A/A)" in quantity.caption
    assert block.notes == ["Drifts (physical · MTU 9000; tenant · MTU 1500)."]
    assert [
        (cell["label"], cell["effect"], cell["base"]["median"]) for cell in quantity.table_rows
    ] == [("physical · MTU 9000", "1.50", "100.0"), ("tenant · MTU 1500", "~", "100.0")]


def test_without_a_test_a_ratio_has_a_question_mark_and_no_floor_is_told():
    few = [
        table(path, 9000, [row("all_on", 0.72, "unknown", low=None, high=None, p=None)])
        for path in ("physical", "tenant")
    ]
    few = [
        replace(
            row_of_few,
            quantities=[replace(row_of_few.quantities[0], noise_floor=None, smallest=None)],
        )
        for row_of_few in few
    ]
    (quantity,) = tables.blocks(named(few))[0].quantities
    assert [cell["effect"] for cell in quantity.table_rows] == ["0.72?", "0.72?"]
    assert quantity.caption == "Mbit/s, higher is better; 6 blocks"


def test_a_search_shows_what_each_set_measured_and_no_table_where_no_set_is_compared():
    """On the second path every measured set has a setting that no device takes, so its medians are
    empty.
    """
    measured, nothing = (
        table(path, 9000, [], medians={"throughput": values_by_profile})
        for path, values_by_profile in (
            ("physical", {"all_off": 100.0, "tso=on": 150.0}),
            ("tenant", {}),
        )
    )
    (shown,) = tables.visited(named([measured, nothing]))
    assert shown["title"].startswith("What each set measured, physical")
    assert [row["cells"] for row in shown["rows"]] == [["all_off", "100.0"], ["tso=on", "150.0"]]


def test_a_caption_counts_the_blocks_of_its_rows():
    rows = [row("a", 1.5, "better"), row("b", 1.5, "better", n=4)]
    quantity = table("physical", 9000, rows).quantities[0]
    assert tables.caption(quantity).startswith("Mbit/s, higher is better; 4 to 6 blocks; ")


def test_medians_that_say_something_else_than_their_ratio_are_explained():
    quantity = table("physical", 9000, [row("all_on", 0.92, "unknown", median=122.4)]).quantities[0]
    assert tables.at_odds(quantity) == (
        "Medians are over all trials of a profile, ratios are inside blocks and count: "
        "all_on (100.0 → 122.4, ratio 0.92)."
    )
    assert (
        tables.at_odds(
            table("physical", 9000, [row("a", 1.2, "better", median=119.0)]).quantities[0]
        )
        == ""
    )


def test_without_a_profile_to_compare_the_control_is_there():
    (first, _second) = tables.blocks(
        named([table("physical", 9000, []), table("tenant", 9000, [])])
    )
    assert [cell["label"] for cell in first.quantities[0].table_rows] == ["all_off"]


def test_overview_has_a_column_a_table_and_names_what_never_differs():
    named_tables = named([many("physical", mtu, tables.LONG + 1) for mtu in (1500, 9000)])
    (matrix,) = tables.matrices(named_tables)
    assert [[cell.text for cell in level.cells] for level in matrix.head] == [["1500", "9000"]]
    assert matrix.caption.startswith("tcp_stream. Ratio to all_off; ")
    assert [line.label for line in matrix.rows] == ["p00"]
    assert matrix.flat.startswith("No difference that matters in any column: p01, p02")


def test_overview_is_turned_when_there_are_many_tables_and_left_out_when_both_are_many():
    wide = named([many("physical", mtu, 3) for mtu in range(tables.MATRIX_COLUMNS + 1)])
    (matrix,) = tables.matrices(wide)
    assert len(matrix.rows) == tables.MATRIX_COLUMNS + 1
    assert len(matrix.rows[0].cells) == len(matrix.head[0].cells)
    both = named([many("physical", mtu, 17) for mtu in range(17)])
    assert tables.matrices(both) == []
