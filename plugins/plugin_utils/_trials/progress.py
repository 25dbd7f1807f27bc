# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: how far a campaign is, and how long it still takes, learnt from the visits that were made."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from typing import NamedTuple

from .._campaign.nouns import Plan, Visit
from .._campaign.plan_file import PART
from .._campaign.visits import (
    CELL_SECONDS,
    VISIT_SECONDS,
    block_seconds,
    confirmation_cost,
    seconds_of,
    workloads_at,
)
from .nouns import Result, Trial

# Times the usual time: between two visits the campaign was stopped, which says nothing of its pace
A_BREAK = 3
Starts = dict[tuple[int, int, int], float]  # {(MTU, block, visit): when its first trial started}


def see_start(starts: Starts, trial: Trial) -> None:
    """Take in when a recorded trial started."""
    visit = trial.get("mtu"), trial.get("block"), trial.get("visit")
    note_start(starts, visit, trial.get("started"))


def note_start(starts: Starts, visit: tuple[int, int, int], started: float | None) -> None:
    """Take in when a trial at a visit started."""
    if started is not None:
        starts[visit] = min(started, starts.get(visit, started))


def rate_text(result: Result) -> str:
    """Return the headline of a trial: ``9.41 Gbit/s`` or ``21100 trans/s``; without a result what
    went wrong.
    """
    throughput = result.get("throughput_mbps")
    transactions = result.get("transactions_per_s")
    if throughput:
        return (
            f"{throughput / 1000:.2f} Gbit/s" if throughput >= 1000 else f"{throughput:.1f} Mbit/s"
        )
    if transactions:
        return f"{transactions:.0f} trans/s"
    return "no result"


def time_text(seconds: float) -> str:
    """Return a duration as people say it: ``40 s left``, ``12 min left``, ``3 h 5 min left``."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{max(0, round(seconds))} s left"
    return f"{minutes} min left" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min left"


def share_in_turn(plan: Plan) -> float:
    """Return the share of a visit's cells that are measured in turn; other pairs measure meanwhile."""
    if plan.get("rounds") and plan.get("pairs"):
        return len(plan["rounds"]) / len(plan["pairs"])
    return 1.0


def _costs(plan: Plan, visits: list[Visit], recorded: Collection[str]) -> list[float]:
    """Return the seconds that the plan expects of each visit, for its cells that are not recorded."""
    lengths = dict[float | None, dict[str, float]]()
    costs = []
    for visit in visits:
        loads = lengths.setdefault(visit.get("seconds"), {})
        if not loads:
            loads.update(_seconds_at(plan, visit))
        cells = [loads[cell["workload"]] for cell in visit["cells"] if cell["id"] not in recorded]
        costs.append(VISIT_SECONDS + share_in_turn(plan) * sum(cells) if cells else 0.0)
    return costs


def _seconds_at(plan: Plan, visit: Visit) -> dict[str, float]:
    """Return the seconds that a cell of each workload is expected to take at a visit."""
    loads = workloads_at(plan, visit)
    return {name: seconds_of(load) + CELL_SECONDS for name, load in loads.items()}


class _Stay(NamedTuple):
    """A visit that the next one followed."""

    start: float
    took: float  # s until the next visit
    cost: float  # s that the plan expects


def _stays(plan: Plan, visits: list[Visit], starts: Starts) -> list[_Stay]:
    """Return the visits that the next one of the plan followed."""
    times = [starts.get((visit["mtu"], visit["block"], visit["visit"])) for visit in visits]
    return [
        _Stay(start, after - start, cost)
        for start, after, cost in zip(times, times[1:], _costs(plan, visits, ()))
        if start is not None and after is not None and after > start
    ]


def pace(plan: Plan, visits: list[Visit], starts: Starts) -> float:
    """Return how many times longer visits took than the plan expects, with all that came before the
    next one.
    """
    stays = _stays(plan, visits, starts)
    # The plan's pace is one of these: a break after the first visit must not count as usual.
    usual = statistics.median_low([1.0, *(stay.took / stay.cost for stay in stays)])
    without_breaks = [stay for stay in stays if stay.took / stay.cost <= A_BREAK * usual]
    if not without_breaks:
        return 1.0
    return sum(stay.took for stay in without_breaks) / sum(stay.cost for stay in without_breaks)


def spent(plan: Plan, visits: list[Visit], starts: Starts) -> float:
    """Return the seconds that all visits so far took, with the time between them. A visit before a break,
    and the last one, count with the usual time.
    """
    speed = pace(plan, visits, starts)
    total = 0.0
    taken = {stay.start: stay.took for stay in _stays(plan, visits, starts)}
    for visit, cost in zip(visits, _costs(plan, visits, ())):
        start = starts.get((visit["mtu"], visit["block"], visit["visit"]))
        if start is not None:
            usual = speed * cost
            took = taken.get(start, usual)
            total += took if took <= A_BREAK * usual else usual
    return total


def seconds_left(
    plan: Plan, visits: list[Visit], recorded: Collection[str], starts: Starts
) -> float:
    """Return the seconds until a campaign is measured; ``recorded`` are ids of trials.

    ``visits`` are all that are decided; the rounds of a search (at most) and the confirmation are
    expected.
    """
    return (sum(_costs(plan, visits, recorded)) + to_come(plan, visits)[1]) * pace(
        plan, visits, starts
    )


def to_come(plan: Plan, visits: list[Visit]) -> tuple[int, float]:
    """Return how many visits, at most, are not decided yet, and how many seconds the plan expects
    of them.
    """
    parts = [visit.get("part") for visit in visits]
    if PART in parts:  # the confirmation is the last part
        return 0, 0.0
    _blocks, more, seconds = (
        confirmation_cost(plan, len(plan["profiles"])) if plan.get("confirm") else (0, 0, 0.0)
    )
    if "search" in plan:
        rounds = plan["search"]["rounds"] - len(list(filter(None, parts)))
        more = more + rounds
        seconds = seconds + rounds * block_seconds(plan, 1)
    return more, seconds


def _newest(trial: Trial) -> str:
    """Return ``tcp_stream on physical 9.41 Gbit/s``: cells are in random order, so that the number
    alone would say little.
    """
    return f"{trial['workload']['name']} on {trial['path']} {rate_text(trial['result'])}"


def progress_line(
    planned: list[Visit], visit: Visit, done: int, last: Trial, seconds: float
) -> str:
    """Return ``block 3/10 visit 4/12 [tso=off] cells 20/40, tcp_stream on physical 9.41 Gbit/s, 12
    min left``.

    ``planned`` are the visits of the campaign, ``done`` of the cells of this visit are recorded,
    ``last`` is the newest trial, ``seconds`` are those left. The blocks of a confirmation go on from
    the last one.
    """
    blocks = max(other["block"] for other in planned)
    visits = sum(
        1 for other in planned if (other["block"], other["mtu"]) == (visit["block"], visit["mtu"])
    )
    mtu = f" MTU {visit['mtu']}" if len({other["mtu"] for other in planned}) > 1 else ""
    if visit.get("again"):
        return (
            f"block {visit['block']}/{blocks}{mtu} [{visit['profile']}] measured again: {done} that the machine "
            f"had spoilt, {_newest(last)}, {time_text(seconds)}"
        )
    return (
        f"block {visit['block']}/{blocks} visit {visit['visit']}/{visits}{mtu} [{visit['profile']}] "
        f"cells {done}/{len(visit['cells'])}, {_newest(last)}, {time_text(seconds)}"
    )
