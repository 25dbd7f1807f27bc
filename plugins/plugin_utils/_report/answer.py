# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first lines of a report: what to set, by how much, whether confirmed, what is not known, and
what settles it.
"""

from __future__ import annotations

import math
from typing import Any

from ...module_utils._engines.payload.command import TEST as PAYLOAD
from .._campaign.nouns import Plan
from .._figures import numbers as text
from .._trials.digest import Digest
from . import broken, remedy
from .phrases import (
    MAIN,
    SHOWN,
    Line,
    alike,
    effect,
    line,
    place,
    rows_of,
    settings,
    span,
)

DESIGNS = {
    "on_off": "all of them on against all of them off",
    "one_at_a_time": "each one alone against all of them off: which gives the boost",
    "leave_one_out": "all but one against all of them on: which is missed",
    "screen": "in a few chosen combinations: each one's effect, and what acts together",
    "search": "searched for the best set: visits chosen by what was known so far",
    "full_factorial": "in all combinations: each one's effect, and which of them act together",
    "profiles": "in the profiles that the campaign names",
}
QUANTITIES = {
    "throughput": "throughput",
    "transactions": "transaction rate",
    "service": "service demand",
    "latency": "latency",
}
ENDS = {
    "client": " at the client",
    "server": " at the server",
    "combined": " of both ends",
    None: "",
}


def question(plan: Plan) -> str:
    """Return what the campaign asked, in one sentence."""
    factors = [factor["name"] for factor in plan["factors"]]
    what = text.listed(factors) if 0 < len(factors) <= 8 else text.count(len(factors), "setting")
    design = DESIGNS.get(plan["design"], f"compared with {plan['control']}")
    return f"What {'does' if len(factors) == 1 else 'do'} {what} do, {design}?"


def _metric(row: dict[str, Any]) -> str:
    return QUANTITIES[row["metric"].split("_")[0]] + ENDS[row["end"]]


def _gain(recommended: dict[str, Any], places: dict[str, str], control: str) -> str:
    """Return by how much a set is better: the largest effect that is shown, and in how many tables."""
    main = [row for row in recommended["by"] if row["metric"] in MAIN]
    rows = [row for row in main if row["state"] == "better"] or [
        row for row in recommended["by"] if row["state"] == "better"
    ]
    if not rows:
        return f"better than {control}{_mean_gain(recommended['score'])}"
    top = max(rows, key=lambda row: abs(math.log(row["ratio"])))
    kind = [row for row in recommended["by"] if row["metric"] == top["metric"]]
    many = (
        f"; shown in {sum(row['state'] == 'better' for row in kind)} of {len(kind)} tables"
        if len(kind) > 1
        else ""
    )
    return (
        f"{effect(top, _metric(top), control)} for {places.get(top['table'], top['table'])}{many}"
    )


def _mean_gain(score: dict[str, Any] | None) -> str:
    if not score:
        return ""
    amount = text.size(score["ratio"]) + span(score)
    return f" by {amount} on average over all tables, throughput and CPU cost counted alike"


def _nothing(findings: dict[str, Any], tables: list[dict[str, Any]], control: str) -> str:
    """Return why nothing is recommended."""
    recommended = findings["recommendation"]
    if recommended["forbidden"]:
        refused = recommended["forbidden"][0]
        gains = [
            (table, quantity, row)
            for table, quantity, row in rows_of(tables, first=True)
            if row["profile"] == refused["profile"] and row["verdict"] == "better"
        ]
        gain = ""
        if gains:
            table, quantity, row = max(gains, key=lambda found: abs(math.log(found[2]["ratio"])))
            gain = f"gave {effect(row, quantity['label'], control)} for {place(table)}, but "
        more = len(recommended["forbidden"]) - 1
        others = f" ({text.count(more, 'more profile')} refused, too)" if more else ""
        return f"Nothing is recommended: {refused['profile']} {gain}is refused: {refused['reason']}{others}."
    return f"Nothing is recommended: {recommended['why']}."


def _costs(tables: list[dict[str, Any]]) -> str:
    """Return what the other profiles were shown to cost."""
    worse = [
        (table, quantity, row)
        for table, quantity, row in rows_of(tables)
        if quantity["group"] == "main" and row["verdict"] == "worse"
    ]
    if not worse:
        return "other settings were shown to cost, and none to help"
    table, quantity, row = max(worse, key=lambda found: abs(math.log(found[2]["ratio"])))
    profiles = len({own["profile"] for _table, _quantity, own in worse})
    more = f", the most of {profiles} profiles that were shown to cost" if profiles > 1 else ""
    return f"{row['label']} gave {effect(row, quantity['label'])} for {place(table)}{more}; none was shown to help"


def _recommendation(
    findings: dict[str, Any], tables: list[dict[str, Any]], plan: Plan
) -> list[Line]:
    """Return the first lines: what to set or why nothing, and whether that is confirmed."""
    recommended, control = findings["recommendation"], plan["control"]
    places = {table["id"]: place(table) for table in tables}
    if findings["unfinished"]:
        words = f"{text.sentence(findings['unfinished']['text'])}. What follows is what was measured so far."
        return [line("unknown", words)]
    if recommended["name"] is None:
        return [line("unknown", _nothing(findings, tables, control))]
    if recommended["name"] == control:
        return [line("same", f"Keep {control}: {_costs(tables)}.")]
    what, gain = settings(recommended["changes"]), _gain(recommended, places, control)
    first = (
        line("better", f"Set {what}: {gain}.")
        if recommended["confirmed"]
        else line("unknown", f"Best so far, not confirmed: {what}, {gain}.")
    )
    return [first, line("note", _confirmed(recommended, findings, plan))]


def _confirmed(recommended: dict[str, Any], findings: dict[str, Any], plan: Plan) -> str:
    apart = f" {alike(findings)}" if recommended["not_told_apart"] else ""
    if recommended["confirmed_by"] == "confirmation":
        blocks = findings["confirmation"]["blocks"]
        return (
            f"Confirmed in {text.count(blocks, 'fresh block')} after it was chosen; the number is from there."
            f"{apart}{_open_end(findings.get('search'))}"
        )
    if recommended["confirmed"]:
        return (
            f"Confirmed: it was the only candidate, compared with {plan['control']} in "
            f"{text.count(plan['blocks'], 'block')}.{apart}"
        )
    return f"It was chosen and measured in the same blocks, so its number may be too good.{apart}"


def _open_end(search: dict[str, Any] | None) -> str:
    """Say of a search that ended without an answer that another set may be better."""
    if not search or search["ended"] == "answered" or not search["standing"]:
        return ""
    return (
        " Whether a combination that was not visited again is better is not known: the search ended "
        f"{100 * search['standing']['sure']:.0f} % sure."
    )


def _costs_unknown(findings: dict[str, Any], tables: list[dict[str, Any]]) -> list[Line]:
    """Say where it is not known whether the recommended set costs more than matters."""
    rows, places = (
        findings["recommendation"]["costs_unknown_in"],
        {table["id"]: place(table) for table in tables},
    )
    if not rows:
        return []
    words = [f"{_metric(row)} for {places.get(row['table'], row['table'])}" for row in rows[:1]]
    words += [f"{len(rows) - 1} more"] if len(rows) > 1 else []
    return [
        line(
            "unknown",
            f"Whether it costs more than {findings['matters']:g} % is not known for "
            f"{text.count(len(rows), 'comparison')}: {text.listed(words)}.",
        )
    ]


def failing(findings: dict[str, Any]) -> list[Line]:
    """Say which profiles fail more than the control."""
    control = findings["failures"][0] if findings["failures"] else None
    worse = [
        row
        for row in findings["failures"]
        if row["forbids"] and (row["shown"] or row["failed"] > 1)
    ]
    if not control or not worse:
        return []
    shares = [f"{row['profile']} {row['failed']} of {row['trials']}" for row in worse[:3]]
    return [
        line(
            "worse",
            f"Trials that failed or received nothing: {text.listed(shares)}, of {control['profile']} "
            f"{control['failed']} of {control['trials']}. What fails more is not recommended.",
        )
    ]


def acting_together(tables: list[dict[str, Any]]) -> list[Line]:
    """Name the pair of settings that act together most."""
    shown = [
        (table, row)
        for table, quantity, row in rows_of(tables)
        if quantity["group"] == "interactions" and row["verdict"] in SHOWN
    ]
    if not shown:
        return []
    table, row = max(shown, key=lambda found: abs(math.log(found[1]["ratio"])))
    more = f" ({len(shown) - 1} more below)" if len(shown) > 1 else ""
    pair = text.listed(row["label"].split(" × "))
    return [
        line(
            "note",
            f"{pair} act together: both on give {text.ratio(row['ratio'])} of what their single effects "
            f"would make ({text.interval(row['low'], row['high'])}), for {place(table)}{more}.",
        )
    ]


def two_groups(panels: list[dict[str, Any]]) -> list[Line]:
    """Say where trials fall into two groups."""
    if not panels:
        return []
    where = f"in {len(panels)} tables; " if len(panels) > 1 else ""
    return [
        line(
            "note",
            f"Trials fall into two groups, {where}{panels[0]['title']}, {panels[0]['sentences'][0]}. No "
            "mean describes them: find the cause first.",
        )
    ]


def _settle(
    findings: dict[str, Any], tables: list[dict[str, Any]], plan: Plan, digest: Digest
) -> list[Line]:
    """Join what is missing, why, and the one command that adds it."""
    recommended, cause = findings["recommendation"], text.sentence(remedy.left_out(digest))
    start = f"{cause}. " if cause else ""
    if findings["unfinished"]:
        seconds = findings["unfinished"]["seconds"]
        time = f", about {text.seconds(seconds)}" if seconds else ""
        return [line("note", f"{start}To finish it{time}:", remedy.GO_ON)]
    if recommended["name"] and not recommended["confirmed"]:
        confirm = remedy.confirmation(plan)
        return [line("note", f"{start}{confirm.words}", confirm.command)]
    needed = (
        remedy.more_blocks(tables, plan)
        if not recommended["name"] or recommended["costs_unknown_in"]
        else None
    )
    if needed is None:
        return (
            [line("note", f"{cause}. The answer does not need them.")]
            if cause and recommended["name"]
            else []
        )
    rows = [row for _table, _quantity, row in rows_of(tables, first=True) if row["ratio"]]
    unknown = sum(row["verdict"] == "unknown" for row in rows)
    return [
        line(
            "unknown",
            f"{start}Not known in {unknown} of {text.count(len(rows), 'comparison')}: {needed.words}",
            needed.command,
        )
    ]


def answer(
    findings: dict[str, Any],
    tables: list[dict[str, Any]],
    plan: Plan,
    digest: Digest,
    groups: list[dict[str, Any]],
) -> list[Line]:
    """Return the answer: what is broken, then at most six lines; ``groups`` are the panels of trials in two groups."""
    first, clean = broken.first_and_last(plan, digest.payloads)
    if first + clean and all(workload["test"] == PAYLOAD for workload in plan["workloads"]):
        unfinished = _settle(findings, tables, plan, digest) if findings["unfinished"] else []
        return first + clean + unfinished
    if not digest.trials or not any(table["quantities"] for table in tables):
        why = (
            "no trial was recorded"
            if not digest.trials
            else "no trial gave a result that can be compared"
        )
        cause = remedy.left_out(digest)
        nothing = f"Nothing can be said: {why}{'; ' + cause if cause else ''}."
        return [*first, *clean, line("unknown", nothing)]
    lines = _recommendation(findings, tables, plan)
    refused = findings["recommendation"]["name"] is None and findings["recommendation"]["forbidden"]
    lines += failing(findings) if not refused else []
    lines += acting_together(tables) + two_groups(groups) + _costs_unknown(findings, tables)
    return first + lines[:4] + clean + _settle(findings, tables, plan, digest)
