# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attribution and recommendations of an analysis, as sentences and tables: which setting leads,
what to set.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

from .._figures import numbers as text
from . import phrases
from .phrases import Line

GOALS = {
    "tcp_throughput": "TCP throughput",
    "udp_throughput": "UDP throughput",
    "tcp_cpu": "TCP service demand",
    "udp_cpu": "UDP service demand",
    "tcp_transactions": "TCP transaction rate",
    "udp_transactions": "UDP transaction rate",
    "tcp_latency": "TCP latency (p99)",
    "udp_latency": "UDP latency (p99)",
}
ENDS = {"client": " at the client", "server": " at the server", "combined": " of both ends"}
QUANTITIES = {
    "throughput": "throughput",
    "transactions": "transaction rate",
    "service": "service demand",
    "latency": "latency",
}
STATES = {
    "better": "better",
    "worse": "worse",
    "same": "no difference that matters",
    "unknown": "?",
    None: "",
}
MOST_SENTENCES = 8
FOLD = 16  # rows; a longer table is folded


def goal_name(entry: dict[str, Any]) -> str:
    """Return a goal's name, with the end whose setting is meant where the ends were varied apart."""
    side = "" if entry["side"] == "both" else f", set at the {entry['side']}"
    return GOALS.get(entry["goal"], entry["goal"]) + side


def setting(row: dict[str, Any]) -> str:
    """Return a candidate as a setting: ``tso=on``."""
    return f"{row['factor']}={row['level']}"


def _leaders(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in entry["candidates"] if row["factor"] in entry["leaders"]]


def _group(entries: list[dict[str, Any]], places: dict[str, str]) -> tuple[str, str]:
    """Return ``(verdict, sentence)`` on one goal over all its tables: what leads, where most, and
    where none does.
    """
    name, count = goal_name(entries[0]), len(entries)
    led = [(entry, _leaders(entry)[0]) for entry in entries if _leaders(entry)]
    if not led:
        candidates = chain.from_iterable(entry["candidates"] for entry in entries)
        known = all(row["state"] in ("same", "worse") for row in candidates)
        return (
            ("same", f"{name}: no setting helps by an amount that matters.")
            if known
            else ("unknown", f"{name}: no setting was shown to help.")
        )
    leading: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}  # by setting
    for entry, _row in led:
        for row in _leaders(entry):
            leading.setdefault(setting(row), []).append((entry, row))
    times = {name: len(pairs) for name, pairs in leading.items()}
    first = max(times, key=times.__getitem__)
    entry, row = max(leading[first], key=lambda pair: abs(math.log(pair[1]["ratio"])))
    place = places[entry["table"]] + ENDS.get(entry["end"], "")
    where = (
        f" for {place}"
        if count == 1
        else f" in {times[first]} of {count} comparisons, most for {place}"
    )
    others = [other for other in times if other != first]
    also = (
        f". Not shown to differ from it, or leading elsewhere: {text.listed(others[:4])}"
        if others
        else ""
    )
    return (
        "better",
        f"{name}: {first} leads{where}: {phrases.effect(row)}{also}{_ahead(entry, row)}.",
    )


def _ahead(entry: dict[str, Any], leader: dict[str, Any]) -> str:
    """Say what gained more than a leader but was not shown: too noisy, or too few blocks were left."""
    ahead = entry["candidates"][: entry["candidates"].index(leader)]
    found = [
        f"{setting(row)} ({text.ratio(row['ratio'])} in {text.count(row['n'], 'block')})"
        for row in ahead
        if row["state"] != "better" and row["ratio"]
    ]
    return f". Gained more there, but was not shown: {text.listed(found)}" if found else ""


def sentences(attribution: list[dict[str, Any]], tables: list[dict[str, Any]]) -> list[Line]:
    """Return the answer's sentences, one a goal and side, in the order of the goals."""
    places = dict((table["id"], phrases.place(table)) for table in tables)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in attribution:
        groups.setdefault((entry["goal"], entry["side"]), []).append(entry)
    found = [_group(entries, places) for entries in groups.values()]
    return [phrases.line(verdict, words) for verdict, words in found[:MOST_SENTENCES]]


def _next(entry: dict[str, Any]) -> str:
    """Return the best setting behind the leaders that was shown to help too."""
    row = next(
        (
            row
            for row in entry["candidates"]
            if row["state"] == "better" and row not in _leaders(entry)
        ),
        None,
    )
    return f"{setting(row)} {text.ratio(row['ratio'])}" if row else text.NONE


def leader_table(
    attribution: list[dict[str, Any]], titles: dict[str, str]
) -> dict[str, Any] | None:
    """Return who leads in each table, as rows; None without attribution."""
    rows = []
    for entry in attribution:
        leaders = _leaders(entry)
        names = ", ".join(
            f"{setting(row)} {text.ratio(row['ratio'])} ({text.interval(row['low'], row['high'])})"
            for row in leaders
        )
        apart = "no" if leaders else ""
        if entry["separated"]:
            apart = "yes"
        where = titles[entry["table"]] + ENDS.get(entry["end"], "")
        rows.append({"cells": [goal_name(entry), where, names or text.SAME, apart, _next(entry)]})
    head = ["Goal", "Where", "Leads: ratio (95 % interval)", "Apart?", "Next"]
    caption = "~: no setting was shown to help. Apart: shown to be better than every other setting."
    return (
        {
            "title": "Which setting leads",
            "head": head,
            "text": head,
            "rows": rows,
            "folded": len(rows) > FOLD,
            "caption": caption,
        }
        if rows
        else None
    )


def _evidence(row: dict[str, Any], titles: dict[str, str]) -> dict[str, Any]:
    words = STATES[row["state"]]
    return {
        "cells": [
            titles.get(row["table"], row["table"]),
            _quantity(row),
            text.ratio(row["ratio"]),
            text.interval(row["low"], row["high"]),
            words,
        ]
    }


def _quantity(row: dict[str, Any]) -> str:
    return f"{QUANTITIES[row['metric'].split('_')[0]]}{ENDS.get(row['end'], '')}"


def notes(findings: dict[str, Any]) -> list[str]:
    """Return what is to be known of the recommendation, as sentences."""
    advice = findings["recommendation"]
    why = (
        advice["why"]
        if advice["why"] and not advice["forbidden"]
        else "no set of settings is recommended"
    )
    words = [] if advice["name"] else [f"{text.sentence(why)}."]
    if advice["name"] and not advice["confirmed"]:
        words.append(
            "Not confirmed: playbooks/apply.yml takes it only with -e offload_lab_allow_unconfirmed=true."
        )
    if advice["score"]:
        words.append(
            f"Over all tables, throughput and CPU cost counted alike: {text.ratio(advice['score']['ratio'])} "
            f"({text.interval(advice['score']['low'], advice['score']['high'])}, "
            f"{text.count(advice['score']['n'], 'block')})."
        )
    if advice["costs_unknown_in"]:
        words.append(
            f"Not known whether it costs more than {findings['matters']:g} % in "
            f"{text.count(len(advice['costs_unknown_in']), 'comparison')}: those marked ?."
        )
    names = findings["names"]
    words += list(filter(None, [phrases.alike(findings)]))
    words += [
        f"Refused: {names[row['profile']]}, {row['reason']}." for row in advice["forbidden"][:8]
    ]
    words += [
        f"Not tested: {names.get(name, name)}, {reason}."
        for name, reason in findings["untestable"].items()
    ]
    return words


def _against(findings: dict[str, Any]) -> dict[str, Any] | None:
    """Return the recommended set against the others that were confirmed with it, as a table; None
    without.
    """
    rows = [
        {
            "cells": [
                findings["names"][row["profile"]],
                text.ratio(row["ratio"]),
                text.interval(row["low"], row["high"]),
            ]
        }
        for row in findings["recommendation"]["against"]
    ]
    head = ["Set", "The recommended one against it", "95 % interval"]
    return (
        {
            "head": head,
            "text": head[:1],
            "rows": rows,
            "folded": False,
            "title": "The recommended set against the others that were visited with it",
            "caption": (
                "In the same fresh blocks, over all tables, throughput and CPU cost counted alike: above 1 the "
                "recommended set is better. For information: not in the report's test."
            ),
        }
        if rows
        else None
    )


def recommendations(findings: dict[str, Any], titles: dict[str, str]) -> dict[str, Any]:
    """Return the recommended set for the page: ``{"set", "confirmed", "notes", "table",
    "against"}``.
    """
    advice = findings["recommendation"]
    head = ["Where", "What", "Ratio to the control", "95 % interval", ""]
    rows = [_evidence(row, titles) for row in advice["by"] if row["ratio"]]
    words = notes(findings)
    if advice["name"]:
        words.append(
            "For these hosts, drivers and workloads only. recommended.yml has it for playbooks/apply.yml."
        )
    chosen = phrases.settings(advice["changes"] or advice["levels"], 12) if advice["name"] else ""
    return {
        "set": chosen,
        "confirmed": advice["confirmed"],
        "notes": words,
        "against": _against(findings),
        "table": {
            "head": head,
            "text": head[:2] + head[4:],
            "rows": rows,
            "folded": len(rows) > FOLD,
            "title": "The recommended set against the control, table by table",
            "caption": "",
        },
    }
