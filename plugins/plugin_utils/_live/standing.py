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
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from .._analysis.result import Analysis, Estimate
from .._campaign.nouns import Plan
from .._figures.nouns import NamedTable, QuantityRow
from .._report.nouns import RunningCampaign, Sentence
from .._report.phrases import line, place
from .._statistics import text
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


def standing(row: Estimate, better: str | None, matters: float) -> str:
    """Return how a comparison stands by its interval alone: ``better``, ``worse``, ``same`` or
    ``unknown``.
    """
    low = row.low
    high = row.high
    if low is None or high is None:
        return "unknown"
    if low >= 1 / (1 + matters / 100) and high <= 1 + matters / 100:
        return "same"
    if low <= 1 <= high or better is None:
        return "unknown"
    return "better" if (low > 1) == (better == "higher") else "worse"


class RowStanding(NamedTuple):
    """How one row stands so far."""

    state: str
    row: QuantityRow


class QuantityStanding(NamedTuple):
    """How the rows of a quantity stand so far."""

    place: str
    label: str
    rows: list[RowStanding]


def _all(analysis: Analysis, tables: Sequence[NamedTable]) -> list[QuantityStanding]:
    """Return how each quantity that is compared stands."""
    found = []
    for table in tables:
        for quantity in table.quantities:
            rows = [
                RowStanding(
                    standing(row.effect, quantity.better, analysis.methods.matters_percent), row
                )
                for row in quantity.rows
            ]
            if rows:
                found.append(QuantityStanding(place(table), quantity.label, rows))
    return found


def _told(rows: Sequence[QuantityRow], state: str) -> str:
    """Return the rows of one state, in words."""
    named = [_named(row, state) for row in rows[:SHOWN]]
    if len(rows) > SHOWN:
        named.append(f"{len(rows) - SHOWN} more")
    return f"{STANDING[state]}: {text.listed(named)}"


def _named(row: QuantityRow, state: str) -> str:
    if state not in ("better", "worse"):
        return row.label
    interval = text.interval(row.effect.low, row.effect.high)
    return f"{row.label} {text.ratio(row.effect.ratio)} ({interval})"


def comparisons(analysis: Analysis, tables: Sequence[NamedTable]) -> list[Sentence]:
    """Return how each comparison stands, a line for each quantity of a table."""
    return [line("note", _sentence(found)) for found in _all(analysis, tables)]


def _sentence(found: QuantityStanding) -> str:
    told = []
    for state in STANDING:
        rows = [own.row for own in found.rows if own.state == state]
        if rows:
            told.append(_told(rows, state))
    return f"{text.sentence(found.label)} for {found.place}: {'; '.join(told)}."


def _counted(analysis: Analysis, tables: Sequence[NamedTable]) -> str:
    found = chain.from_iterable(quantity.rows for quantity in _all(analysis, tables))
    states = [own.state for own in found]
    counts = [
        f"{states.count(state)} {word}" for state, word in STANDING.items() if state in states
    ]
    return (
        f"{text.count(len(states), 'comparison')} by their intervals alone: {text.listed(counts)}"
    )


def _nominated(analysis: Analysis) -> str:
    names = [analysis.names[nominee["name"]] for nominee in analysis.nominated or ()]
    if not names:
        return "Nothing is nominated so far."
    return f"Nominated so far: {names[0]}{f'; after it {names[1]}' if len(names) > 1 else ''}."


def _predicted(analysis: Analysis, plan: Plan) -> str:
    """Return how a search stands that has not nominated anything yet."""
    rounds = analysis.search.rounds if analysis.search else []
    told = [one.standing for one in rounds if one.standing["best"]]
    if not told:
        return "The first visits of the search are made: nothing is predicted yet."
    last = told[-1]
    gain = f"{text.ratio(last['gain'])} times {plan['control']} ({text.interval(last['low'], last['high'])})"
    return (
        f"Predicted to be the best after {last['visits']} visits: {analysis.names[last['best'] or '']}, {gain}, "
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


def _how_far(plan: Plan, digest: Digest) -> str:
    """Return how much is done, and how long the rest takes."""
    planned = {(visit["mtu"], visit["block"], visit["visit"]) for visit in plan["visits"]}
    done = len({place[:3] for place in digest.starts} & planned)
    undecided = progress.to_come(plan, plan["visits"])[0]
    total = f"{len(plan['visits'])}"
    if undecided:
        total = f"at most {len(plan['visits']) + undecided}"
    left = progress.seconds_left(plan, plan["visits"], digest.ids, digest.starts)
    return f"{done} of {total} visits done, about {progress.time_text(left)}"


def _due(plan: Plan, digest: Digest, now: float) -> float:
    """Return when the page is renewed, if nobody stopped the campaign."""
    pace = progress.pace(plan, plan["visits"], digest.starts)
    block = pace * (plan["estimated_s"] or 0) / plan["blocks"]
    return now + max(60.0, LATE * block)


def _running(plan: Plan, digest: Digest, now: float) -> list[Sentence]:
    due = time.strftime("%H:%M UTC", time.gmtime(_due(plan, digest, now)))
    made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    words = (
        f"Running: {_how_far(plan, digest)}. Nothing is claimed before the end. {_settled(plan)}"
    )
    return [
        line("unknown", words.rstrip()),
        line(
            "note",
            f"As of {made}. If it is after {due} and this line has not changed, the campaign has "
            "stopped: start it again with the same command, and it goes on.",
        ),
    ]


def _begun_small(words: str) -> str:
    return words[0].lower() + words[1:]


def section(
    analysis: Analysis, tables: Sequence[NamedTable], plan: Plan, digest: Digest, now: float
) -> RunningCampaign:
    """Return what the page says of a running campaign."""
    running = _running(plan, digest, now)
    how_far = _how_far(plan, digest)
    if analysis.is_searching:
        predicted = _predicted(analysis, plan)
        return RunningCampaign(
            reload=RELOAD,
            line=f"{how_far}; {_begun_small(predicted)}",
            answer=[*running, line("note", predicted)],
            standing=[],
        )
    counted = _counted(analysis, tables)
    nominated = _nominated(analysis)
    return RunningCampaign(
        reload=RELOAD,
        line=f"{how_far}; {_begun_small(counted)}. {nominated}",
        answer=[*running, line("note", nominated), line("note", f"{counted}.")],
        standing=comparisons(analysis, tables),
    )
