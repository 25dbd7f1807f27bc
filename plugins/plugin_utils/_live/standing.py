# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a campaign that is running: how each comparison stands, who is nominated, how long
it still takes.

It claims nothing: how a comparison stands is what its interval says now, whatever the test will say
at the end.
"""

from __future__ import annotations

import time
from itertools import chain
from typing import Any

from .._campaign.nouns import Plan
from .._figures import numbers as text
from .._report.phrases import Line, line, place
from .._trials import progress
from .._trials.digest import Digest

RELOAD = 10  # seconds after which the page in a browser reloads
LATE = 3  # times the usual time of a block: then somebody stopped it
STANDING = {
    "better": "better so far",
    "worse": "worse so far",
    "same": "no difference that matters so far",
    "unknown": "unknown",
}
SHOWN = 6  # comparisons that a line of a table names


def standing(row: dict[str, Any], better: str | None, matters: float) -> str:
    """Return how a comparison stands by its interval alone: ``better``, ``worse``, ``same`` or
    ``unknown``.
    """
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return "unknown"
    if low >= 1 / (1 + matters / 100) and high <= 1 + matters / 100:
        return "same"
    if low <= 1 <= high or better is None:
        return "unknown"
    return "better" if (low > 1) == (better == "higher") else "worse"


def _all(
    findings: dict[str, Any], tables: list[dict[str, Any]]
) -> list[tuple[str, dict[str, Any], list[Any]]]:
    """Return ``(place, quantity, [(state, row)])`` of each quantity that is compared."""
    found: list[tuple[str, dict[str, Any], list[Any]]] = []
    for table in tables:
        for quantity in table["quantities"]:
            better, rows = quantity["better"], quantity["rows"]
            states = [(standing(row, better, findings["matters"]), row) for row in rows]
            if states:
                found.append((place(table), quantity, states))
    return found


def _told(rows: list[Any], state: str) -> str:
    named = [
        f"{row['label']} {text.ratio(row['ratio'])} ({text.interval(row['low'], row['high'])})"
        if state in ("better", "worse")
        else row["label"]
        for own, row in rows
        if own == state
    ]
    return f"{STANDING[state]}: {text.listed(named[:SHOWN] + [f'{len(named) - SHOWN} more'] * (len(named) > SHOWN))}"


def comparisons(findings: dict[str, Any], tables: list[dict[str, Any]]) -> list[Line]:
    """Return how each comparison stands, a line for each quantity of a table."""
    lines = []
    for where, quantity, rows in _all(findings, tables):
        states = {state for state, _row in rows}
        words = "; ".join(_told(rows, state) for state in STANDING if state in states)
        lines.append(line("note", f"{text.sentence(quantity['label'])} for {where}: {words}."))
    return lines


def _counted(findings: dict[str, Any], tables: list[dict[str, Any]]) -> str:
    found = chain.from_iterable(rows for _where, _quantity, rows in _all(findings, tables))
    states = [state for state, _row in found]
    counts = [
        f"{states.count(state)} {word}" for state, word in STANDING.items() if state in states
    ]
    return (
        f"{text.count(len(states), 'comparison')} by their intervals alone: {text.listed(counts)}"
    )


def _nominated(findings: dict[str, Any]) -> str:
    names = [findings["names"][nominee["name"]] for nominee in findings["nominated"]]
    if not names:
        return "Nothing is nominated so far."
    return f"Nominated so far: {names[0]}{f'; after it {names[1]}' if len(names) > 1 else ''}."


def _predicted(findings: dict[str, Any], plan: Plan) -> str:
    """Return how a search stands that has not nominated anything yet."""
    told = [one["standing"] for one in findings["search"]["rounds"] if one["standing"]["best"]]
    if not told:
        return "The first visits of the search are made: nothing is predicted yet."
    last = told[-1]
    gain = f"{text.ratio(last['gain'])} times {plan['control']} ({text.interval(last['low'], last['high'])})"
    return (
        f"Predicted to be the best after {last['visits']} visits: {findings['names'][last['best']]}, {gain}, "
        f"{last['sure']:.0%} sure. Only what is confirmed will be claimed."
    )


def _settled(plan: Plan) -> str:
    """Return which profiles the looks have settled: in all tables shown, or without a difference
    that matters.
    """
    if plan["design"] == "search":
        return ""
    names = list(chain.from_iterable(look["settled"] for look in plan.get("looked") or ()))
    return (
        f"Settled, and out of the plan: {text.listed(names)}." if names else "Nothing is settled."
    )


def section(
    findings: dict[str, Any], tables: list[dict[str, Any]], plan: Plan, digest: Digest, now: float
) -> dict[str, Any]:
    """Return what the page says of a running campaign: ``answer``, ``line``, ``standing``,
    ``reload``.
    """
    left = progress.seconds_left(plan, plan["visits"], digest.ids, digest.starts)
    visits = len(
        {place[:3] for place in digest.starts}
        & {(visit["mtu"], visit["block"], visit["visit"]) for visit in plan["visits"]}
    )
    undecided = progress.to_come(plan, plan["visits"])[0]
    planned = f"at most {len(plan['visits']) + undecided}" if undecided else len(plan["visits"])
    pace = (
        progress.pace(plan, plan["visits"], digest.starts)
        * (plan["estimated_s"] or 0)
        / plan["blocks"]
    )
    due = time.strftime("%H:%M UTC", time.gmtime(now + max(60.0, LATE * pace)))
    made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    how_far = f"{visits} of {planned} visits done, about {progress.time_text(left)}"
    running = [
        line(
            "unknown",
            f"Running: {how_far}. Nothing is claimed before the end. {_settled(plan)}".rstrip(),
        ),
        line(
            "note",
            f"As of {made}. If it is after {due} and this line has not changed, the campaign has "
            "stopped: start it again with the same command, and it goes on.",
        ),
    ]
    if findings["searching"]:
        predicted = _predicted(findings, plan)
        return {
            "reload": RELOAD,
            "standing": [],
            "line": f"{how_far}; {predicted[0].lower() + predicted[1:]}",
            "answer": [*running, line("note", predicted)],
        }
    counted, nominated = _counted(findings, tables), _nominated(findings)
    return {
        "reload": RELOAD,
        "standing": comparisons(findings, tables),
        "line": f"{how_far}; {counted[0].lower() + counted[1:]}. {nominated}",
        "answer": [*running, line("note", nominated), line("note", f"{counted}.")],
    }
