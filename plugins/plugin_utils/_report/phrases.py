# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a report names a place, an effect and an interval, the same in each of its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

from .._campaign.profiles import levels_of
from .._figures import numbers as text

MAIN = ("throughput", "transactions")
SHOWN = ("better", "worse")  # the states that the report claims
MOST_NAMED = 12  # settings of a level in a sentence
MOST_ALIKE = 3  # sets in a sentence


class Line(TypedDict):
    """A sentence with its sign: better, worse, same, unknown or note; ``command`` is what to run,
    or nothing.
    """

    verdict: str
    text: str
    command: str


def line(verdict: str, words: str, command: str = "") -> Line:
    """Return a sentence with its sign."""
    return {"verdict": verdict, "text": words, "command": command}


def rows_of(
    tables: Iterable[dict[str, Any]], first: bool = False
) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Yield ``(table, quantity, row)`` of all rows, or of those of each table's ``first`` quantity."""
    for table in tables:
        for quantity in table["quantities"][: 1 if first else None]:
            for row in quantity["rows"]:
                yield table, quantity, row


def place(table: dict[str, Any]) -> str:
    """Return where a table's numbers were taken: ``TCP_STREAM over tenant_vxlan at MTU 9000``."""
    name, test = table["workload"], table["test"]
    name = test if test.lower() == name.lower() else f"{name} ({test})"
    pair = f", {table['pair']}" if table.get("pair") else ""
    mtu = (
        f" at MTU {table['mtu']}" if table["mtu"] else ""
    )  # a log that was imported may not say it
    return f"{name} over {table['path']}{mtu}{pair}"


def span(row: dict[str, Any]) -> str:
    """Return an effect's 95 % interval in words: ``(67 to 71 %)``, ``(between 2.0 % less and 3.1 %
    more)``.
    """
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return ""
    if row["ratio"] >= 2:
        return f" ({low:.2f} to {high:.2f})"
    if low < 1 < high:
        return f" (between {text.change(low)} and {text.change(high)})"
    near, far = sorted((low, high), key=lambda value: abs(value - 1))
    if far >= 2:
        return f" ({near:.2f} to {far:.2f} times)"
    return f" ({text.percent(near)[:-2]} to {text.percent(far)})"


def effect(row: dict[str, Any], what: str = "", than: str = "") -> str:
    """Return an effect in words: ``84 % more throughput than all_off (71 to 97 %)``."""
    if row["ratio"] >= 2:
        amount, joined = (f"the {what}", "of") if what else ("as much", "as")
        other = f" {joined} {than}" if than else ""
        return f"{row['ratio']:.2f} times {amount}{other}{span(row)}"
    return " ".join(
        filter(None, [text.change(row["ratio"]), what, than and f"than {than}"])
    ) + span(row)


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


def alike(findings: dict[str, Any]) -> str:
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


def set_name(name: str, levels: Mapping[str, str], factors: Sequence[Mapping[str, Any]]) -> str:
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
    factors: Sequence[Mapping[str, Any]],
    profiles: Mapping[str, Mapping[str, str]],
    search: Mapping[str, Any] | None,
    nominated: Iterable[Mapping[str, Any]] = (),
) -> dict[str, str]:
    """Return what :func:`set_name` says of all profiles, and of sets that were predicted or
    nominated.

    ``profiles`` are levels by name, ``search`` is that of analysis.json, or search.json.
    """
    off, sets = (
        {factor["name"]: factor["levels"][0] for factor in factors},
        dict[str, Mapping[str, str]](),
    )
    if search:
        standings = [*(one["standing"] for one in search["rounds"]), search.get("standing")]
        sets.update(
            {own["best"]: levels_of(own["best"], off) for own in standings if own and own["best"]}
        )
        nominated = [*nominated, *search["nominees"]]
    sets.update({nominee["name"]: nominee["levels"] for nominee in nominated}, **profiles)
    return {name: set_name(name, levels, factors) for name, levels in sets.items()}
