# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was shown in single tables, a sentence each: the largest effects come first."""

from __future__ import annotations

from collections.abc import Sequence

from .._figures.nouns import NamedTable, Quantity, QuantityRow
from .._statistics import text
from .._statistics.states import Needs
from .nouns import Sentence
from .phrases import SHOWN, effect, line, place, rows_of

MOST = 6  # sentences; the tables have the rest


def _demands(table: NamedTable, profile: str) -> str:
    """Return what the same profile did to service demand, where that was shown and says more than
    the throughput.
    """
    if table.saturated:
        return ""
    rows = [
        (quantity, row)
        for _table, quantity, row in rows_of([table])
        if quantity.group.startswith("service_demand")
        and row.profile == profile
        and row.effect.outcome in SHOWN
    ]
    return text.listed(effect(row.effect, quantity.label) for quantity, row in rows)


def _settled_by(needs: Needs | None) -> str:
    """Return what would tell a difference that is not known, as the end of a sentence."""
    if not needs or not needs.text:
        return ""
    return f"; {needs.text} would tell" if needs.blocks else f"; {needs.text}"


def _one_profile(table: NamedTable, quantity: Quantity, row: QuantityRow) -> str:
    """Return a sentence where one profile is compared with the control."""
    where = place(table)
    what = quantity.label
    control = quantity.control
    if row.effect.outcome == "unknown":
        settle = _settled_by(row.effect.needs)
        return (
            f"{where}: not known; {row.label} measured {effect(row.effect, what, control)}{settle}."
        )
    demands = _demands(table, row.profile)
    if row.effect.outcome == "same":
        return (
            f"{where}: no difference that matters in {what} between {row.label} and {control}: {effect(row.effect)}"
            f"{'; but ' if demands else ''}{demands}."
        )
    return f"{where}: {row.label} gave {effect(row.effect, what, control)}{', with ' if demands else ''}{demands}."


def _profiles(table: NamedTable, quantity: Quantity) -> str:
    """Return a sentence where several profiles are compared with the control."""
    where = place(table)
    what = quantity.label
    control = quantity.control
    shown = sorted(
        (row for row in quantity.rows if row.effect.outcome in SHOWN),
        key=lambda row: -text.distance(row.effect.ratio),
    )
    profiles = text.count(len(quantity.rows), "profile")
    if not shown:
        unknown = sum(row.effect.outcome == "unknown" for row in quantity.rows)
        return (
            f"{where}: none of {profiles} was shown to differ from {control} in {what}; not known of {unknown}."
            if unknown
            else f"{where}: no difference that matters in {what} between {profiles} and {control}."
        )
    leaders = text.listed(f"{row.label}, {effect(row.effect, what)}" for row in shown[:3])
    return f"{where}: {len(shown)} of {profiles} differ from {control}: {leaders}{' and others' * (len(shown) > 3)}."


def sentence(table: NamedTable) -> tuple[str, str, float]:
    """Return ``(verdict, sentence, size)`` for a table, from its main quantity; ``size`` ranks the
    sentences.
    """
    quantity = table.quantities[0]
    rows = [row for row in quantity.rows if row.effect.ratio]
    if not rows:
        return "unknown", f"{place(table)}: nothing to compare with {quantity.control}.", -1.0
    shown = [row for row in rows if row.effect.outcome in SHOWN]
    top = max(shown or rows, key=lambda row: text.distance(row.effect.ratio))
    words = _one_profile(table, quantity, top) if len(rows) == 1 else _profiles(table, quantity)
    return top.effect.outcome, words, text.distance(top.effect.ratio) if shown else 0.0


def by_table(tables: Sequence[NamedTable]) -> list[Sentence]:
    """Return the sentences: one a table, or those of the largest effects, in table order."""
    found = [sentence(table) for table in tables if table.quantities]
    keep = sorted(range(len(found)), key=lambda number: -found[number][2])[:MOST]
    items = [line(found[number][0], found[number][1]) for number in sorted(keep)]
    if len(found) > MOST:
        items.append(
            line("note", f"These are the largest of {len(found)} comparisons; all are below.")
        )
    return items
