# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of effects as printed: one a path, MTU and workload, or all in one where there is little
to compare.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, Iterable

from .._figures import numbers as text
from . import phrases

LONG = 12  # rows of an overview; in a longer one those without any difference are named in one line
FEW_PROFILES = 2  # beside the control: then a table holds all paths and workloads, one a row
MATRIX_COLUMNS = 16
AT_ODDS = 0.03  # how far medians and ratio are apart, as a logarithm, before a reader wonders
PARTS = ("pair", "path", "mtu", "workload")


def name_tables(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tables with a ``title``, and a ``short`` name that leaves out what is the same for
    all.
    """
    vary = [part for part in PARTS if len(set(table.get(part) for table in tables)) > 1] or [
        "path",
        "workload",
    ]
    named = []
    for table in tables:
        words: dict[str, Any] = {part: table.get(part) for part in PARTS}
        words["mtu"] = f"MTU {table['mtu']}" if table["mtu"] else None
        title = [words[part] for part in ("path", "mtu", "workload")]
        if "pair" in vary:
            title.append(words["pair"])
        short = " · ".join(words[part] for part in PARTS if part in vary and words[part])
        named.append(dict(table, title=" · ".join(filter(None, title)), short=short))
    return named


def cells(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of effects as printed."""
    return {
        "label": row["label"],
        "verdict": row["verdict"],
        "control": False,
        "median": text.number(row["median"]),
        "spread": text.spread(row["q1"], row["q3"]),
        "effect": text.effect(row),
        "interval": text.interval(row["low"], row["high"]) if row["low"] else "",
        "p": text.p_value(row["p"]),
        "base": row.get("base")
        and {
            "median": text.number(row["base"]["median"]),
            "spread": text.spread(row["base"]["q1"], row["base"]["q3"]),
        },
    }


def _control_cells(quantity: dict[str, Any]) -> dict[str, Any]:
    row = dict(
        quantity["control_row"],
        label=quantity["control"],
        verdict="same",
        ratio=1.0,
        low=None,
        high=None,
        p=None,
    )
    return dict(cells(row), effect="1", control=True)


def caption(quantity: dict[str, Any]) -> str:
    """Return what a reader must know of one quantity's table."""
    parts = [f"{quantity['unit']}, {quantity['better']} is better"] + (
        [_blocks(quantity)] if quantity["rows"] else []
    )
    if quantity["pivot"]:
        parts += ["the grey band of a row is its table's noise floor (A/A)"] * any(
            row.get("floor") for row in quantity["rows"]
        )
    elif quantity.get("noise_floor"):
        parts.append(f"noise floor (A/A) {text.size(quantity['noise_floor'])}")
    if quantity.get("smallest"):
        parts.append(f"smallest effect that could have shown {text.size(quantity['smallest'])}")
    return "; ".join(parts)


def _blocks(quantity: dict[str, Any]) -> str:
    """Return how many blocks the rows rest on."""
    counts = sorted({row["n"] for row in quantity["rows"]})
    return (
        text.count(counts[0], "block")
        if len(counts) == 1
        else f"{counts[0]} to {counts[-1]} blocks"
    )


def at_odds(quantity: dict[str, Any]) -> str:
    """Name the rows whose medians say something else than their ratio, and why: they rest on
    different trials.
    """
    odd = []
    for row in quantity["rows"]:
        base = row.get("base") or quantity["control_row"]
        if not (base and base["median"] and row["median"] and row["low"] and row["high"]):
            continue
        medians = row["median"] / base["median"]
        if (
            not row["low"] <= medians <= row["high"]
            and abs(math.log(medians / row["ratio"])) > AT_ODDS
        ):
            odd.append(
                f"{row['label']} ({text.number(base['median'])} → {text.number(row['median'])}, ratio "
                f"{text.ratio(row['ratio'])})"
            )
    return (
        f"Medians are over all trials of a profile, ratios are inside blocks and count: {text.listed(odd[:4])}."
        if (odd)
        else ""
    )


def summary(title: str, quantity: dict[str, Any]) -> str:
    """Return a figure's text equivalent."""
    shown = [row for row in quantity["rows"] if row["verdict"] in ("better", "worse")]
    lead = "; ".join(
        f"{row['label']} {text.ratio(row['ratio'])}{phrases.span(row)}" for row in shown[:5]
    )
    return (
        f"{quantity['label']}, ratio to {quantity['control']}, {title}: {lead or 'no difference is shown'}. "
        "The table has all values."
    )


def decorate(table: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a named table with the text that its part of the page needs."""
    quantities = []
    for place, quantity in enumerate(table["quantities"]):
        rows = (
            [_control_cells(quantity)] if quantity["control_row"] and not quantity["pivot"] else []
        )
        quantities.append(
            dict(
                quantity,
                caption=caption(quantity),
                at_odds=at_odds(quantity),
                summary=summary(table["title"], quantity),
                ident=f"t{number}-{place}",
                table_rows=rows + [cells(row) for row in quantity["rows"]],
            )
        )
    return dict(
        table,
        id=f"t{number}",
        quantities=quantities,
        notes=[text.sentence(note) for note in table["notes"]],
    )


def pivot(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the tables turned: one table, a quantity each, and a row for each path, MTU and
    workload.
    """
    turned: dict[str, dict[str, Any]] = {}
    for table in tables:
        for quantity in table["quantities"]:
            held = turned.setdefault(
                quantity["name"], dict(quantity, rows=[], pivot=True, blocks=0)
            )
            held["blocks"] = max(held["blocks"], quantity["blocks"])
            for row in quantity["rows"]:
                label = (
                    table["short"]
                    if len(quantity["rows"]) == 1
                    else f"{table['short']}: {row['label']}"
                )
                held["rows"].append(
                    dict(
                        row,
                        label=label,
                        base=quantity["control_row"],
                        floor=quantity["noise_floor"],
                    )
                )
            held["noise_floor"] = None  # each row has its own
            held["smallest"] = max(
                filter(None, (held["smallest"], quantity["smallest"])), default=None
            )
    profiles = list(
        dict.fromkeys(row["profile"] for quantity in turned.values() for row in quantity["rows"])
    )
    control = tables[0]["quantities"][0]["control"]
    said: dict[str, list[str]] = {}
    for table in tables:
        for note in table["notes"]:
            said.setdefault(note, []).append(table["short"])
    notes = [f"{note.rstrip('.')} ({'; '.join(places)})." for note, places in said.items()]
    return {
        "title": f"{text.listed(profiles)} against {control}",
        "notes": notes,
        "quantities": sorted(turned.values(), key=lambda quantity: quantity["group"] != "main"),
    }


def blocks(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tables as the page shows them, ready to print."""
    tables = [
        dict(table, quantities=[dict(quantity, pivot=False) for quantity in table["quantities"]])
        for table in tables
        if table["quantities"]
    ]
    most = max(
        [len(quantity["rows"]) for table in tables for quantity in table["quantities"]] or [0]
    )
    if len(tables) > 1 and 0 < most <= FEW_PROFILES:
        tables = [pivot(tables)]
    return [decorate(table, number) for number, table in enumerate(tables, 1)]


def visited(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what each set of a search measured, a table for each named table that has a set to
    compare.
    """
    return [_visited(table) for table in tables if any(table["medians"].values())]


def _visited(table: dict[str, Any]) -> dict[str, Any]:
    """Return what each set of a search measured in a named table, those that were not visited
    again, too.
    """
    quantities = [
        quantity for quantity in table["quantities"] if table["medians"].get(quantity["name"])
    ]
    head = ["Set", *(f"{quantity['label']}, {quantity['unit']}" for quantity in quantities)]
    found = [table["medians"][quantity["name"]] for quantity in quantities]
    rows = [{"cells": [name, *(text.number(own.get(name)) for own in found)]} for name in found[0]]
    told = (
        "Medians over the trials of a set, most of them of one visit. They are not tested: what drifts between "
        "visits is in them, too."
    )
    return {
        "title": f"What each set measured, {table['title']}",
        "head": head,
        "text": head[:1],
        "rows": rows,
        "folded": True,
        "caption": told,
    }


def _spans(words: Iterable[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for word in words:
        if found and found[-1]["text"] == word:
            found[-1]["span"] += 1
        else:
            found.append({"text": word, "span": 1})
    return found


def _matrix_cell(row: dict[str, Any] | None) -> dict[str, Any]:
    if row is None or row["ratio"] is None:
        return {"verdict": "unknown", "text": text.NONE}
    return {"verdict": row["verdict"], "text": cells(row)["effect"]}


def matrices(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the overview, profiles by tables: the main quantity, then service demand at each end."""
    groups: dict[str, list[Place]] = {}
    for table in tables:
        for quantity in table["quantities"]:
            if quantity["group"] not in ("profiles", "interactions"):
                groups.setdefault(quantity["group"], []).append((table, quantity))
    return [_matrix(found) for found in groups.values() if _fits(found)]


Place = tuple[dict[str, Any], dict[str, Any]]  # a table and a quantity of it


def _fits(found: list[Place]) -> bool:
    rows = max(len(quantity["rows"]) for _table, quantity in found)
    return len(found) > 1 and rows > FEW_PROFILES and min(rows, len(found)) <= MATRIX_COLUMNS


def _by_profile(quantity: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["profile"]: row for row in quantity["rows"]}


def _all_same(by_profile: list[dict[str, dict[str, Any]]], profile: str) -> bool:
    return all(profile in rows and rows[profile]["verdict"] == "same" for rows in by_profile)


def _matrix_row(by_profile: list[dict[str, dict[str, Any]]], profile: str) -> list[Any]:
    return [_matrix_cell(rows.get(profile)) for rows in by_profile]


def _matrix(found: list[Place]) -> dict[str, Any]:
    by_profile = [_by_profile(quantity) for _table, quantity in found]
    profiles = list(dict.fromkeys(chain.from_iterable(by_profile)))
    flat = [profile for profile in profiles if _all_same(by_profile, profile)]
    flat = flat if len(profiles) > LONG or len(flat) == len(profiles) else []
    profiles = [profile for profile in profiles if profile not in flat]
    body = [_matrix_row(by_profile, profile) for profile in profiles]
    matrix = {
        "title": text.listed(dict.fromkeys(quantity["label"] for _table, quantity in found)),
        "caption": f"Ratio to {found[0][1]['control']}; {found[0][1]['better']} is better. ~: no difference that "
        "matters. ?: not known.",
        "flat": f"No difference that matters in any column: {text.listed(flat)}." if flat else "",
    }
    if len(found) > MATRIX_COLUMNS:
        heads = [
            {"label": "Where", "cells": [{"text": profile, "span": 1} for profile in profiles]}
        ]
        rows = [
            {"label": table["short"], "cells": list(cells)}
            for (table, _quantity), cells in zip(found, zip(*body))
        ]
        return dict(matrix, head=heads, rows=rows)
    # A row of the head for what differs; the caption has a workload that all columns share.
    heads = []
    for label in ("pair", "path", "MTU", "workload"):
        values = [str(table.get(label.lower())) for table, _quantity in found]
        if len(set(values)) > 1:
            heads.append({"label": label, "cells": _spans(values)})
    if heads[-1]["label"] != "workload":
        matrix["caption"] = f"{found[0][0]['workload']}. {matrix['caption']}"
    return dict(
        matrix,
        head=heads,
        rows=[{"label": profile, "cells": line} for profile, line in zip(profiles, body)],
    )
