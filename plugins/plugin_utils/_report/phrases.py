# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a report names a place, an effect and an interval, the same in each of its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypedDict

from .._analysis.nouns import Estimate, SearchPath
from .._campaign.nouns import Nominee, Search
from .._campaign.profiles import levels_of
from .._figures import numbers as text
from .._figures.nouns import EffectTable, Quantity, QuantityRow
from .nouns import Findings, Sentence

ENDS = {
    "client": " at the client",
    "server": " at the server",
    "forwarder": " at the forwarder",
    "combined": " of both ends",
}
SHOWN = ("better", "worse")  # the states that the report claims
MOST_NAMED = 12  # settings of a level in a sentence
MOST_ALIKE = 3  # sets in a sentence


def line(verdict: str, words: str, command: str = "") -> Sentence:
    """Return a sentence with its sign."""
    return {"verdict": verdict, "text": words, "command": command}


class RowPlace(NamedTuple):
    """A row, with the quantity and the table that it is of."""

    table: EffectTable
    quantity: Quantity
    row: QuantityRow


def rows_of(tables: Iterable[EffectTable], first: bool = False) -> Iterator[RowPlace]:
    """Yield all rows, or those of each table's ``first`` quantity."""
    for table in tables:
        for quantity in table["quantities"][: 1 if first else None]:
            for row in quantity["rows"]:
                yield RowPlace(table, quantity, row)


def largest(found: Iterable[RowPlace]) -> RowPlace:
    """Return the row with the largest effect."""
    return max(found, key=lambda one: text.distance(one.row["ratio"]))


def place(table: EffectTable) -> str:
    """Return where a table's numbers were taken: ``TCP_STREAM over tenant_vxlan at MTU 9000``."""
    name = table["workload"]
    test = table["test"]
    name = test if test.lower() == name.lower() else f"{name} ({test})"
    pair = f", {table['pair']}" if table.get("pair") else ""
    mtu = (
        f" at MTU {table['mtu']}" if table["mtu"] else ""
    )  # a log that was imported may not say it
    return f"{name} over {table['path']}{mtu}{pair}"


def span(row: Estimate) -> str:
    """Return an effect's 95 % interval in words: ``(67 to 71 %)``, ``(between 2.0 % less and 3.1 %
    more)``.
    """
    low = row["low"]
    high = row["high"]
    if low is None or high is None:
        return ""
    if (row["ratio"] or 0) >= 2:
        return f" ({low:.2f} to {high:.2f})"
    if low < 1 < high:
        return f" (between {text.change(low)} and {text.change(high)})"
    near, far = sorted((low, high), key=lambda value: abs(value - 1))
    if far >= 2:
        return f" ({near:.2f} to {far:.2f} times)"
    return f" ({text.percent(near)[:-2]} to {text.percent(far)})"


def effect(row: Estimate, what: str = "", than: str = "") -> str:
    """Return an effect in words: ``84 % more throughput than all_off (71 to 97 %)``."""
    ratio = row["ratio"] or 1.0
    if ratio >= 2:
        amount, joined = (f"the {what}", "of") if what else ("as much", "as")
        other = f" {joined} {than}" if than else ""
        return f"{ratio:.2f} times {amount}{other}{span(row)}"
    words = [text.change(ratio), what, than and f"than {than}"]
    return " ".join(filter(None, words)) + span(row)


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
    words = []
    for level, names in factors.items():
        rest = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        words.append(
            f"{text.listed(names[:MOST_NAMED] + rest)} {level}"
            if len(names) > 1
            else f"{names[0]}={level}"
        )
    return "; ".join(words)


def alike(findings: Findings) -> str:
    """Name the sets that were not shown to differ from the recommended one; nothing where there is
    none.
    """
    others = [findings["names"][name] for name in findings["recommendation"]["not_told_apart"]]
    if not others:
        return ""
    words = others[:MOST_ALIKE] + [f"{len(others) - MOST_ALIKE} more"] * (len(others) > MOST_ALIKE)
    named = "; ".join(words) if any("," in word for word in words) else text.listed(words)
    fewest = ". It changes the fewest settings" if findings["changes_fewest"] else ""
    return f"Not shown to differ from it: {named}{fewest}."


class FactorLevels(TypedDict):
    """What a name needs to know of a factor."""

    name: str
    levels: list[str]  # the first is "off"


def set_name(name: str, levels: Mapping[str, str], factors: Sequence[FactorLevels]) -> str:
    """Return how the report calls a set: by its name or, where that is shorter, by what is off:
    ``all_on but gso``.

    A name that a user gave stays.
    """
    on = {factor["name"]: factor["levels"][-1] for factor in factors}
    lacks = [
        factor if level == "off" else f"{factor}={level}"
        for factor, level in levels.items()
        if level != on.get(factor)
    ]
    short = f"all_on but {text.listed(lacks)}" if lacks else "all_on"
    generated = set(name.split(",")) <= {f"{factor}={level}" for factor, level in levels.items()}
    return short if generated and levels.keys() == on.keys() and len(short) < len(name) else name


def set_names(
    factors: Sequence[FactorLevels],
    profiles: Mapping[str, Mapping[str, str]],
    search: SearchPath | Search | None,
    nominated: Iterable[Nominee] = (),
) -> dict[str, str]:
    """Return what :func:`set_name` says of all profiles, and of sets that were predicted or
    nominated.

    ``profiles`` are levels by name, ``search`` is that of analysis.json, or search.json.
    """
    off = {factor["name"]: factor["levels"][0] for factor in factors}
    sets: dict[str, Mapping[str, str]] = {}
    if search:
        standings = [*(one["standing"] for one in search["rounds"]), search.get("standing")]
        predicted = [own["best"] for own in standings if own and own["best"]]
        sets.update((name, levels_of(name, off)) for name in predicted)
        nominated = [*nominated, *search["nominees"]]
    sets.update((nominee["name"], nominee["levels"]) for nominee in nominated)
    sets.update(profiles)
    return {name: set_name(name, levels, factors) for name, levels in sets.items()}
