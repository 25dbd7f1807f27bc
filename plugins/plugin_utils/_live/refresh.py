# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a running campaign. It may take 0.3 s per visit.

live.json keeps the cost of the last report, its time, and the blocks since then without a report.
The report claims nothing: a comparison's standing is what its interval says now, whatever the final
test will say.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import json
import os
import shutil
import time
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, NotRequired, TypedDict

from ...module_utils._host.files import write_changed
from .._analysis.result import Analysis, Estimate
from .._campaign.nouns import Plan
from .._figures.nouns import NamedTable, QuantityRow
from .._report.nouns import RunningCampaign, Sentence
from .._report.phrases import line, place
from .._report.report import make_report
from .._statistics import text
from .._trials import progress
from .._trials.digest import Digest
from .._trials.records import stream_records

STATE = "live.json"
# Seconds that it may take for each visit, and the share of the time since the last one. It is renewed
# after fewer visits where it costs little, after more where it costs much, and at some time always.
A_VISIT = 0.3
SHARE = 0.05
TASK = 0.25  # seconds of the task without the report, after each block
# seconds that the first report is expected to take, per byte of the record
FIRST = 0.3
A_BYTE = 4e-8
RELOAD = 10  # seconds after which the page in a browser reloads
LATE = 3  # times the usual time of a block: then somebody stopped it
STANDING = {
    "better": "better so far",
    "worse": "worse so far",
    "same": "no difference that matters so far",
    "unknown": "unknown",
}
SHOWN = 6  # comparisons that a line of a table names


class Refreshed(TypedDict):
    """Whether a report was made, and a line about it."""

    made: bool
    line: str
    cost: NotRequired[float]  # seconds


def _state(folder: str, record: str) -> dict[str, float]:
    """Return ``cost`` (expected), ``blocks`` and ``visits`` without a report, and ``since``: when
    the last one was made.
    """
    size = os.path.getsize(record)
    path = os.path.join(folder, STATE)
    try:
        with open(path, encoding="utf-8") as stream:
            stored = json.load(stream)
        return {
            "cost": stored["cost"] * max(1.0, size / stored["size"]),
            "blocks": stored["blocks"],
            "visits": stored["visits"] + _visits(record, stored["size"]),
            "since": stored["since"],
        }
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        first = next(stream_records(record, []), None)
        started = (first and first.get("started")) or time.time()
        visits = _visits(record, 0)
        return {"cost": FIRST + A_BYTE * size, "blocks": 0, "visits": visits, "since": started}


def _visits(record: str, offset: int) -> int:
    """Return how many visits have a trial in a record after ``offset`` bytes."""
    visits = set()
    with open(record, "rb") as stream:
        stream.seek(offset)
        for line in stream:
            with contextlib.suppress(ValueError, AttributeError):
                trial = json.loads(line)
                visits.add(tuple(trial.get(key) for key in ("mtu", "block", "visit")))
    return len(visits)


def allowed(visits: float, blocks: float, seconds: float) -> float:
    """Return how many seconds a report may take after these visits, blocks and seconds without one:
    the share of each visit, less the time of the task after each block.
    """
    return min(A_VISIT * visits - TASK * blocks, SHARE * seconds)


def _keep(folder: str, record: str, state: dict[str, float]) -> None:
    """Keep the state for the next block."""
    kept = {**state, "size": os.path.getsize(record)}
    write_changed(folder, {STATE: json.dumps(kept) + "\n"})


def refresh(folder: str) -> Refreshed:
    """Make the report of a running campaign, where it costs little; return ``report`` and ``line``,
    what to say of it.
    """
    record = os.path.join(folder, "trials.jsonl")
    if not os.path.exists(record):
        return {"made": False, "line": "no live report: nothing is measured yet"}
    state = _state(folder, record)
    now = time.time()
    state["blocks"] += 1
    if state["cost"] > allowed(state["visits"], state["blocks"], now - state["since"]):
        _keep(folder, record, state)
        why = (
            f"it takes {state['cost']:.1f} s, and {A_VISIT:g} s a visit or {SHARE:.0%} of the time"
        )
        return {"made": False, "line": f"the live report waits for more visits: {why} is allowed"}
    for leftover in glob.glob(
        os.path.join(glob.escape(folder), ".live-*")
    ):  # of one that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    report = make_report(folder, standing=functools.partial(section, now=now))
    cost = time.time() - now
    _keep(folder, record, {"cost": cost, "blocks": 0, "visits": 0, "since": time.time()})
    return {"made": True, "cost": cost, "line": f"live report: {report['standing']} ({cost:.1f} s)"}


def end(folder: str) -> Refreshed:
    """Make the ordinary report where a live one was made, and return what :func:`refresh` does."""
    path = os.path.join(folder, STATE)
    if not os.path.exists(path):
        return {"made": False, "line": "no live report was made"}
    report = make_report(folder)
    os.remove(path)
    return {"made": True, "line": f"report: {report['headline']}"}


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

    where: str
    label: str
    rows: list[RowStanding]


def _all(analysis: Analysis, tables: Sequence[NamedTable]) -> list[QuantityStanding]:
    """Return how each quantity that is compared stands."""
    standings = []
    for table in tables:
        for quantity in table.quantities:
            rows = [
                RowStanding(
                    standing(row.effect, quantity.better, analysis.methods.matters_percent), row
                )
                for row in quantity.rows
            ]
            if rows:
                standings.append(QuantityStanding(place(table), quantity.label, rows))
    return standings


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
    return [line("note", _sentence(quantity)) for quantity in _all(analysis, tables)]


def _sentence(quantity: QuantityStanding) -> str:
    parts = []
    for state in STANDING:
        rows = [row_standing.row for row_standing in quantity.rows if row_standing.state == state]
        if rows:
            parts.append(_told(rows, state))
    return f"{text.sentence(quantity.label)} for {quantity.where}: {'; '.join(parts)}."


def _counted(analysis: Analysis, tables: Sequence[NamedTable]) -> str:
    standings = chain.from_iterable(quantity.rows for quantity in _all(analysis, tables))
    states = [row_standing.state for row_standing in standings]
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
    predictions = [
        search_round.standing for search_round in rounds if search_round.standing["best"]
    ]
    if not predictions:
        return "The first visits of the search are made: nothing is predicted yet."
    last = predictions[-1]
    gain = f"{text.ratio(last['gain'])} times {plan['control']} ({text.interval(last['low'], last['high'])})"
    return (
        f"Predicted to be the best after {last['visits']} visits: {analysis.names[last['best'] or '']}, {gain}, "
        f"{last['sure']:.0%} sure. Only what is confirmed will be claimed."
    )


def _settled(plan: Plan) -> str:
    """Say which profiles the interim tests have settled."""
    if plan["design"] == "search":
        return ""
    names = list(chain.from_iterable(test["settled"] for test in plan.get("looked") or ()))
    return (
        f"Settled, and out of the plan: {text.listed(names)}." if names else "Nothing is settled."
    )


def _how_far(plan: Plan, digest: Digest) -> str:
    """Return how much is done, and how long the rest takes."""
    planned = {(visit["mtu"], visit["block"], visit["visit"]) for visit in plan["visits"]}
    done = len({started[:3] for started in digest.starts} & planned)
    undecided = progress.to_come(plan, plan["visits"])[0]
    total = f"{len(plan['visits'])}"
    if undecided:
        total = f"at most {len(plan['visits']) + undecided}"
    seconds = progress.seconds_left(plan, plan["visits"], digest.ids, digest.starts)
    return f"{done} of {total} visits done, about {progress.time_text(seconds)}"


def _due(plan: Plan, digest: Digest, now: float) -> float:
    """Return when the page is renewed, if nobody stopped the campaign."""
    pace = progress.pace(plan, plan["visits"], digest.starts)
    block = pace * (plan["estimated_s"] or 0) / plan["blocks"]
    return now + max(60.0, LATE * block)


def _running(plan: Plan, digest: Digest, now: float) -> list[Sentence]:
    due = time.strftime("%H:%M UTC", time.gmtime(_due(plan, digest, now)))
    made_at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    sentence = (
        f"Running: {_how_far(plan, digest)}. Nothing is claimed before the end. {_settled(plan)}"
    )
    return [
        line("unknown", sentence.rstrip()),
        line(
            "note",
            f"As of {made_at}. If it is after {due} and this line has not changed, the campaign has "
            "stopped: start it again with the same command, and it goes on.",
        ),
    ]


def _begun_small(phrase: str) -> str:
    return phrase[0].lower() + phrase[1:]


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
