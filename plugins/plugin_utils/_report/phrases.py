# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a report names a place, an effect and an interval, the same in each of its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypedDict

from .._analysis.result import Analysis, Estimate
from .._campaign.nouns import Search
from .._campaign.profiles import differing, names_of_sets
from .._figures.nouns import NamedTable, Quantity, QuantityRow
from .._statistics import text
from .nouns import Sentence

ENDS = {
    "client": " at the client",
    "server": " at the server",
    "forwarder": " at the forwarder",
    "combined": " of both ends",
}
SHOWN = ("better", "worse")  # the states that the report claims
MOST_NAMED = 12  # settings of a level in a sentence
MOST_ALIKE = 3  # sets in a sentence


def line(tone: str, sentence: str, command: str = "") -> Sentence:
    """Return a sentence with its sign."""
    return {"tone": tone, "text": sentence, "command": command}


class RowPlace(NamedTuple):
    """A row, with the quantity and the table that it is of."""

    table: NamedTable
    quantity: Quantity
    row: QuantityRow


def rows_of(tables: Iterable[NamedTable], first: bool = False) -> Iterator[RowPlace]:
    """Yield all rows, or the rows of each table's ``first`` quantity."""
    for table in tables:
        for quantity in table.quantities[: 1 if first else None]:
            for row in quantity.rows:
                yield RowPlace(table, quantity, row)


def largest(rows: Iterable[RowPlace]) -> RowPlace:
    """Return the row with the largest effect."""
    return max(rows, key=lambda row: text.distance(row.row.effect.ratio))


def place(table: NamedTable) -> str:
    """Return where a table's numbers were taken: ``TCP_STREAM over tenant_vxlan at MTU 9000``."""
    name = table.workload
    test = table.test
    name = test if test.lower() == name.lower() else f"{name} ({test})"
    pair = f", {table.pair}" if table.pair else ""
    mtu = f" at MTU {table.mtu}" if table.mtu else ""  # a log that was imported may not say it
    return f"{name} over {table.path}{mtu}{pair}"


def span(row: Estimate) -> str:
    """Return an effect's 95 % interval in words: ``(67 to 71 %)``, ``(between 2.0 % less and 3.1 %
    more)``.
    """
    low = row.low
    high = row.high
    if low is None or high is None:
        return ""
    if (row.ratio or 0) >= 2:
        return f" ({low:.2f} to {high:.2f})"
    if low < 1 < high:
        return f" (between {text.change(low)} and {text.change(high)})"
    near, far = sorted((low, high), key=lambda value: abs(value - 1))
    if far >= 2:
        return f" ({near:.2f} to {far:.2f} times)"
    return f" ({text.percent(near)[:-2]} to {text.percent(far)})"


def effect(row: Estimate, what: str = "", than: str = "") -> str:
    """Return an effect in words: ``84 % more throughput than all_off (71 to 97 %)``."""
    ratio = row.ratio or 1.0
    if ratio >= 2:
        amount, joined = (f"the {what}", "of") if what else ("as much", "as")
        other = f" {joined} {than}" if than else ""
        return f"{ratio:.2f} times {amount}{other}{span(row)}"
    parts = [text.change(ratio), what, than and f"than {than}"]
    return " ".join(filter(None, parts)) + span(row)


def settings(levels: dict[str, str], most: int = 6) -> str:
    """Return settings as words: ``tso=on and gro=off``; more than ``most`` by level: ``tx, sg, tso
    and gro on``.

    Of more than :data:`MOST_NAMED` of a level the rest is counted.
    """
    if len(levels) <= most:
        return text.listed(f"{factor}={level}" for factor, level in levels.items())
    factors: dict[str, list[str]] = {}
    for factor, level in levels.items():
        factors.setdefault(level, []).append(factor)
    parts = []
    for level, names in factors.items():
        rest = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        parts.append(
            f"{text.listed(names[:MOST_NAMED] + rest)} {level}"
            if len(names) > 1
            else f"{names[0]}={level}"
        )
    return "; ".join(parts)


def alike(analysis: Analysis) -> str:
    """Name the sets that were not shown to differ from the recommended one; nothing where there is
    none.
    """
    others = [analysis.names[name] for name in analysis.recommendation.not_told_apart]
    if not others:
        return ""
    names = others[:MOST_ALIKE] + [f"{len(others) - MOST_ALIKE} more"] * (len(others) > MOST_ALIKE)
    named = "; ".join(names) if any("," in word for word in names) else text.listed(names)
    fewest = ". It changes the fewest settings" if _changes_fewest(analysis) else ""
    return f"Not shown to differ from it: {named}{fewest}."


def _changes_fewest(analysis: Analysis) -> bool:
    """Return whether no set that was not shown to differ from the recommended one changes fewer
    settings.
    """
    profiles = analysis.profiles
    advice = analysis.recommendation
    changed = {
        name: len(differing(levels, profiles[analysis.control]))
        for name, levels in profiles.items()
    }
    return not advice.name or all(
        changed[name] >= changed[advice.name] for name in advice.not_told_apart
    )


class FactorLevels(TypedDict):
    """What a name needs to know of a factor."""

    name: str
    levels: list[str]  # the first is "off"


def set_names(
    factors: Sequence[FactorLevels],
    profiles: Mapping[str, Mapping[str, str]],
    search: Search | None,
) -> dict[str, str]:
    """Return how the report calls all profiles, and the sets of a search."""
    levels = {factor["name"]: factor["levels"] for factor in factors}
    if not search:
        return names_of_sets(levels, profiles, (), ())
    standings = [
        *(search_round["standing"] for search_round in search["rounds"]),
        search.get("standing"),
    ]
    return names_of_sets(levels, profiles, standings, search["nominees"])
