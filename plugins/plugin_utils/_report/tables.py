# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of effects as printed: one a path, MTU and workload, or all in one where there is little
to compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from .._analysis.result import Spread, Table
from .._figures.nouns import (
    NamedTable,
    PlainTable,
    Quantity,
    QuantityRow,
    plain_table,
)
from .._statistics import text
from . import phrases
from .nouns import (
    Cells,
    Matrix,
    MatrixCell,
    MatrixHead,
    MatrixRow,
    PageTable,
    PrintedQuantity,
    PrintedSpread,
    Span,
)

LONG = 12  # rows of an overview; in a longer one those without any difference are named in one line
FEW_PROFILES = (
    2  # in addition to the control: then a table holds all paths and workloads, one a row
)
MATRIX_COLUMNS = 16
AT_ODDS = 0.03  # how far medians and ratio are apart, as a logarithm, before a reader wonders
MOST_AT_ODDS = 4  # rows in a sentence
ByProfile = dict[str, QuantityRow]


class PlacedQuantity(NamedTuple):
    """A table, and a quantity of it."""

    table: NamedTable
    quantity: Quantity


class TableName(NamedTuple):
    """A table's title, and a short name that leaves out what is the same for all."""

    title: str
    short: str


def _parts(table: Table) -> dict[str, str]:
    """Return the parts of a table's name, in their order."""
    mtu = f"MTU {table.mtu}" if table.mtu else ""
    return {"pair": table.pair or "", "path": table.path, "mtu": mtu, "workload": table.workload}


def _varying(named: Sequence[dict[str, str]]) -> list[str]:
    """Return which parts of the names are not the same for all."""
    vary = []
    for part in ("pair", "path", "mtu", "workload"):
        if len({parts[part] for parts in named}) > 1:
            vary.append(part)
    return vary or ["path", "workload"]


def name_tables(tables: Sequence[Table]) -> list[TableName]:
    """Return the names of tables."""
    parts_of_all = [_parts(table) for table in tables]
    vary = _varying(parts_of_all)
    named: list[TableName] = []
    for parts in parts_of_all:
        title = [parts["path"], parts["mtu"], parts["workload"]]
        if "pair" in vary:
            title.append(parts["pair"])
        short = [parts[part] for part in parts if part in vary]
        named.append(TableName(_joined(title), _joined(short)))
    return named


def _joined(parts: Iterable[str]) -> str:
    return " · ".join(filter(None, parts))


def _spread(row: Spread) -> PrintedSpread:
    return {"median": text.number(row.median), "spread": text.spread(row.q1, row.q3)}


def cells(row: QuantityRow) -> Cells:
    """Return a row of effects as printed."""
    base = row.base
    return {
        **_spread(row.spread),
        "label": row.label,
        "outcome": row.effect.outcome,
        "control": False,
        "effect": row.printed,
        "interval": text.interval(row.effect.low, row.effect.high) if row.effect.low else "",
        "p": text.p_value(row.effect.p_report),
        "base": _spread(base) if base else None,
    }


def _control_cells(label: str, row: Spread) -> Cells:
    return {
        **_spread(row),
        "label": label,
        "outcome": "same",
        "control": True,
        "effect": "1",
        "interval": "",
        "p": text.p_value(None),
        "base": None,
    }


def caption(quantity: Quantity, turned: bool = False) -> str:
    """Return what a reader must know of one quantity's table; ``turned`` has a row for each place."""
    parts = [f"{quantity.unit}, {quantity.better} is better"]
    if quantity.rows:
        parts.append(_blocks(quantity))
    if quantity.noise_floor:
        parts.append(f"noise floor (A/A) {text.size(quantity.noise_floor)}")
    elif turned and any(row.floor for row in quantity.rows):
        parts.append("the grey band of a row is its table's noise floor (A/A)")
    if quantity.smallest:
        parts.append(f"smallest effect that could have shown {text.size(quantity.smallest)}")
    return "; ".join(parts)


def _blocks(quantity: Quantity) -> str:
    """Return how many blocks the rows rest on."""
    counts = sorted({row.effect.n for row in quantity.rows})
    if len(counts) == 1:
        return text.count(counts[0], "block")
    return f"{counts[0]} to {counts[-1]} blocks"


def at_odds(quantity: Quantity) -> str:
    """Name the rows whose medians say something else than their ratio, and why: they rest on
    different trials.
    """
    odd = list(filter(None, (_odd(row, quantity.control_row) for row in quantity.rows)))
    if not odd:
        return ""
    rows = text.listed(odd[:MOST_AT_ODDS])
    return f"Medians are over all trials of a profile, ratios are inside blocks and count: {rows}."


def _odd(row: QuantityRow, control: Spread | None) -> str:
    """Return a row whose medians say something else than its ratio, or nothing."""
    base = row.base or control
    low = row.effect.low
    high = row.effect.high
    ratio = row.effect.ratio
    if not base or not base.median or not row.spread.median:
        return ""
    if not low or not high or not ratio:
        return ""
    medians = row.spread.median / base.median
    if low <= medians <= high or text.distance(medians / ratio) <= AT_ODDS:
        return ""
    before = text.number(base.median)
    after = text.number(row.spread.median)
    return f"{row.label} ({before} → {after}, ratio {text.ratio(ratio)})"


def summary(title: str, quantity: Quantity) -> str:
    """Return a figure's text equivalent."""
    shown = [row for row in quantity.rows if row.effect.outcome in phrases.SHOWN]
    lead = "; ".join(
        f"{row.label} {text.ratio(row.effect.ratio)}{phrases.span(row.effect)}" for row in shown[:5]
    )
    return (
        f"{quantity.label}, ratio to {quantity.control}, {title}: {lead or 'no difference is shown'}. "
        "The table has all values."
    )


class ToPrint(NamedTuple):
    """What is compared in one table of the page; ``turned`` has a row for each place."""

    title: str
    notes: list[str]
    quantities: list[Quantity]
    turned: bool


def decorate(table: ToPrint, number: int) -> PageTable:
    """Return a table with the text that its part of the page needs."""
    quantities: list[PrintedQuantity] = []
    for index, quantity in enumerate(table.quantities):
        rows = [cells(row) for row in quantity.rows]
        if quantity.control_row and not table.turned:
            rows.insert(0, _control_cells(quantity.control, quantity.control_row))
        quantities.append(
            PrintedQuantity(
                **vars(quantity),
                turned=table.turned,
                caption=caption(quantity, table.turned),
                at_odds=at_odds(quantity),
                summary=summary(table.title, quantity),
                ident=f"t{number}-{index}",
                table_rows=rows,
            )
        )
    notes = [text.sentence(note) for note in table.notes]
    return PageTable(f"t{number}", table.title, notes, quantities)


def pivot(tables: Sequence[NamedTable]) -> ToPrint:
    """Return the tables turned: one table, a quantity each, and a row for each path, MTU and
    workload.
    """
    by_name: dict[str, list[PlacedQuantity]] = {}
    for table in tables:
        for quantity in table.quantities:
            by_name.setdefault(quantity.name, []).append(PlacedQuantity(table, quantity))
    turned = [_turned_quantity(quantities) for quantities in by_name.values()]
    rows = chain.from_iterable(quantity.rows for quantity in turned)
    profiles = dict.fromkeys(row.profile for row in rows)
    control = tables[0].quantities[0].control
    turned.sort(key=lambda quantity: quantity.group != "main")
    title = f"{text.listed(profiles)} against {control}"
    return ToPrint(title, _turned_notes(tables), turned, turned=True)


def _turned_quantity(quantities: Sequence[PlacedQuantity]) -> Quantity:
    """Return one quantity of several tables; each row has the noise floor of its table."""
    smallest = [quantity.smallest for _table, quantity in quantities]
    return replace(
        quantities[0].quantity,
        rows=list(chain.from_iterable(_turned_rows(*located) for located in quantities)),
        blocks=max(quantity.blocks for _table, quantity in quantities),
        noise_floor=None,
        smallest=max(filter(None, smallest), default=None),
    )


def _turned_rows(table: NamedTable, quantity: Quantity) -> list[QuantityRow]:
    """Return the rows of one place, named by it, with its control and its noise floor."""
    rows: list[QuantityRow] = []
    for row in quantity.rows:
        label = table.short
        if len(quantity.rows) > 1:
            label = f"{label}: {row.label}"
        base = quantity.control_row
        rows.append(replace(row, label=label, base=base, floor=quantity.noise_floor))
    return rows


def _turned_notes(tables: Sequence[NamedTable]) -> list[str]:
    """Return what is said of the tables, each note once, with the places that it is of."""
    where_noted: dict[str, list[str]] = {}
    for table in tables:
        for note in table.notes:
            where_noted.setdefault(note, []).append(table.short)
    return [f"{note.rstrip('.')} ({'; '.join(places)})." for note, places in where_noted.items()]


def blocks(tables: Sequence[NamedTable]) -> list[PageTable]:
    """Return the tables as the page shows them, ready to print."""
    tables = [table for table in tables if table.quantities]
    quantities = chain.from_iterable(table.quantities for table in tables)
    most = max((len(quantity.rows) for quantity in quantities), default=0)
    if len(tables) > 1 and 0 < most <= FEW_PROFILES:
        return [decorate(pivot(tables), 1)]
    shown = [ToPrint(table.title, table.notes, table.quantities, turned=False) for table in tables]
    return [decorate(table, number) for number, table in enumerate(shown, 1)]


def visited(tables: Sequence[NamedTable]) -> list[PlainTable]:
    """Return what each set of a search measured, a table for each named table that has a set to
    compare.
    """
    return [_visited(table) for table in tables if any(table.medians.values())]


def _visited(table: NamedTable) -> PlainTable:
    """Return what each set of a search measured in a named table, those that were not visited
    again, too.
    """
    head = ["Set"]
    all_medians = []
    for quantity in table.quantities:
        medians = table.medians.get(quantity.name)
        if medians:
            head.append(f"{quantity.label}, {quantity.unit}")
            all_medians.append(medians)
    rows: list[list[str]] = []
    for name in all_medians[0]:
        rows.append([name, *(text.number(medians.get(name)) for medians in all_medians)])
    return {
        **plain_table(head, rows, head[:1]),
        "title": f"What each set measured, {table.title}",
        "folded": True,
        "caption": (
            "Medians over the trials of a set, most of them of one visit. They are not tested, and include "
            "drift between visits."
        ),
    }


def matrices(tables: Sequence[NamedTable]) -> list[Matrix]:
    """Return the overview, profiles by tables: the main quantity, then service demand at each end."""
    groups: dict[str, list[PlacedQuantity]] = {}
    for table in tables:
        for quantity in table.quantities:
            if quantity.group not in ("profiles", "interactions"):
                groups.setdefault(quantity.group, []).append(PlacedQuantity(table, quantity))
    return [_matrix(quantities) for quantities in groups.values() if _fits(quantities)]


def _fits(quantities: list[PlacedQuantity]) -> bool:
    rows = max(len(located.quantity.rows) for located in quantities)
    return (
        len(quantities) > 1 and rows > FEW_PROFILES and min(rows, len(quantities)) <= MATRIX_COLUMNS
    )


def _by_profile(quantity: Quantity) -> ByProfile:
    return {row.profile: row for row in quantity.rows}


def _all_same(by_profile: list[ByProfile], profile: str) -> bool:
    return all(profile in rows and rows[profile].effect.outcome == "same" for rows in by_profile)


def _matrix_cell(row: QuantityRow | None) -> MatrixCell:
    if row is None or row.effect.ratio is None:
        return MatrixCell("unknown", text.NONE)
    return MatrixCell(row.effect.outcome, row.printed)


def _matrix_row(by_profile: list[ByProfile], profile: str) -> MatrixRow:
    return MatrixRow(profile, [_matrix_cell(rows.get(profile)) for rows in by_profile])


def _flat(profiles: list[str], by_profile: list[ByProfile]) -> list[str]:
    """Return the profiles without any difference, where they are not shown."""
    flat = [profile for profile in profiles if _all_same(by_profile, profile)]
    return flat if len(profiles) > LONG or len(flat) == len(profiles) else []


def _matrix(quantities: list[PlacedQuantity]) -> Matrix:
    by_profile = [_by_profile(located.quantity) for located in quantities]
    profiles = list(dict.fromkeys(chain.from_iterable(by_profile)))
    flat = _flat(profiles, by_profile)
    rows = [_matrix_row(by_profile, profile) for profile in profiles if profile not in flat]
    first = quantities[0]
    matrix = Matrix(
        title=text.listed(dict.fromkeys(located.quantity.label for located in quantities)),
        caption=f"Ratio to {first.quantity.control}; {first.quantity.better} is better. ~: no difference that "
        "matters. ?: not known.",
        flat=f"No difference that matters in any column: {text.listed(flat)}." if flat else "",
        head=_matrix_head(quantities),
        rows=rows,
    )
    if len(quantities) > MATRIX_COLUMNS:
        return _turned(matrix, quantities)
    if matrix.head[-1].label != "workload":
        # The caption has a workload that all columns share.
        return matrix._replace(caption=f"{first.table.workload}. {matrix.caption}")
    return matrix


def _matrix_head(quantities: list[PlacedQuantity]) -> list[MatrixHead]:
    """Return a row of the head for each part of the places that differs."""
    tables = [located.table for located in quantities]
    parts = {
        "pair": [str(table.pair) for table in tables],
        "path": [table.path for table in tables],
        "MTU": [str(table.mtu) for table in tables],
        "workload": [table.workload for table in tables],
    }
    return [
        MatrixHead(label, _spans(values)) for label, values in parts.items() if len(set(values)) > 1
    ]


def _spans(labels: Iterable[str]) -> list[Span]:
    """Return words that follow each other as one cell of the head."""
    spans: list[Span] = []
    for label in labels:
        if spans and spans[-1].text == label:
            spans[-1] = Span(label, spans[-1].span + 1)
        else:
            spans.append(Span(label, 1))
    return spans


def _turned(matrix: Matrix, quantities: list[PlacedQuantity]) -> Matrix:
    """Return a matrix with a row for each place, and a column for each profile."""
    profiles = [Span(row.label, 1) for row in matrix.rows]
    columns = zip(*(row.cells for row in matrix.rows))
    rows = [
        MatrixRow(located.table.short, list(cells)) for located, cells in zip(quantities, columns)
    ]
    return matrix._replace(head=[MatrixHead("Where", profiles)], rows=rows)
