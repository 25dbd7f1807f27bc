# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: how far a campaign is, and how long it still takes, learnt from the visits that were made."""

from __future__ import annotations

import statistics
from collections.abc import Collection

from .._campaign.confirmation import PART
from .._campaign.design import (
    CELL_SECONDS,
    VISIT_SECONDS,
    block_seconds,
    confirmation_cost,
    workloads_at,
)
from .._campaign.nouns import Plan, Visit
from .._campaign.workloads import seconds_of
from .nouns import Result, Trial

# Times the usual time: between two visits the campaign was stopped, which says nothing of its pace
A_BREAK = 3
Starts = dict[tuple[int, int, int], float]  # {(MTU, block, visit): when its first trial started}


def see_start(starts: Starts, trial: Trial) -> None:
    """Take in when a recorded trial started."""
    place = trial.get("mtu"), trial.get("block"), trial.get("visit")
    note_start(starts, place, trial.get("started"))


def note_start(starts: Starts, place: tuple[int, int, int], started: float | None) -> None:
    """Take in when a trial at a visit started."""
    if started is not None:
        starts[place] = min(started, starts.get(place, started))


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


def at_once(plan: Plan) -> float:
    """Return what part of the cells of a visit are measured one after the other."""
    if plan.get("rounds") and plan.get("pairs"):
        return len(plan["rounds"]) / len(plan["pairs"])
    return 1.0


def _costs(plan: Plan, visits: list[Visit], known: Collection[str]) -> list[float]:
    """Return the seconds that the plan expects of each visit, for those of its cells that are not
    ``known``.
    """
    lengths = dict[float | None, dict[str, float]]()
    costs = []
    for visit in visits:
        loads = lengths.setdefault(visit.get("seconds"), {})
        if not loads:
            loads.update(_seconds_at(plan, visit))
        cells = [loads[cell["workload"]] for cell in visit["cells"] if cell["id"] not in known]
        costs.append(VISIT_SECONDS + at_once(plan) * sum(cells) if cells else 0.0)
    return costs


def _seconds_at(plan: Plan, visit: Visit) -> dict[str, float]:
    """Return the seconds that a cell of each workload is expected to take at a visit."""
    loads = workloads_at(plan, visit)
    return {name: seconds_of(load) + CELL_SECONDS for name, load in loads.items()}


def _stays(plan: Plan, visits: list[Visit], starts: Starts) -> list[tuple[float, float]]:
    """Return of each visit until the next one the seconds that it took, and that the plan expects."""
    known = [starts.get((visit["mtu"], visit["block"], visit["visit"])) for visit in visits]
    return [
        (after - start, cost)
        for start, after, cost in zip(known, known[1:], _costs(plan, visits, ()))
        if start is not None and after is not None and after > start
    ]


def pace(plan: Plan, visits: list[Visit], starts: Starts) -> float:
    """Return how many times longer visits took than the plan expects, with all that came before the
    next one.
    """
    stays = _stays(plan, visits, starts)
    # Beside the plan's own pace: where one visit alone was made before a break, the break is not one.
    usual = statistics.median_low([1.0, *(took / cost for took, cost in stays)])
    usual_stays = [(took, cost) for took, cost in stays if took / cost <= A_BREAK * usual]
    if not usual_stays:
        return 1.0
    return sum(took for took, _cost in usual_stays) / sum(cost for _took, cost in usual_stays)


def spent(plan: Plan, visits: list[Visit], starts: Starts) -> float:
    """Return the seconds that all visits so far took, with what came between them; of a break, and
    of the last visit, as long as others took.
    """
    speed = pace(plan, visits, starts)
    total = 0.0
    taken = dict(_took(visits, starts))
    for visit, cost in zip(visits, _costs(plan, visits, ())):
        start = starts.get((visit["mtu"], visit["block"], visit["visit"]))
        if start is not None:
            usual = speed * cost
            took = taken.get(start, usual)
            total += took if took <= A_BREAK * usual else usual
    return total


def _took(visits: list[Visit], starts: Starts) -> list[tuple[float, float]]:
    """Return when each visit started, and how many seconds later the next one did."""
    known = [starts.get((visit["mtu"], visit["block"], visit["visit"])) for visit in visits]
    return [
        (start, after - start)
        for start, after in zip(known, known[1:])
        if start is not None and after is not None and after > start
    ]


def seconds_left(plan: Plan, visits: list[Visit], known: Collection[str], starts: Starts) -> float:
    """Return the seconds until a campaign is measured; ``known`` are ids of trials.

    ``visits`` are all that are decided; the rounds of a search (at most) and the confirmation are
    expected.
    """
    return (sum(_costs(plan, visits, known)) + to_come(plan, visits)[1]) * pace(
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


def progress_line(planned: list[Visit], visit: Visit, done: int, last: Trial, left: float) -> str:
    """Return ``block 3/10 visit 4/12 [tso=off] cells 20/40, tcp_stream on physical 9.41 Gbit/s, 12
    min left``.

    ``planned`` are the visits of the campaign, ``done`` of the cells of this visit are recorded,
    ``last`` is the newest trial, ``left`` is in seconds. The blocks of a confirmation go on from
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
            f"had spoilt, {_newest(last)}, {time_text(left)}"
        )
    return (
        f"block {visit['block']}/{blocks} visit {visit['visit']}/{visits}{mtu} [{visit['profile']}] "
        f"cells {done}/{len(visit['cells'])}, {_newest(last)}, {time_text(left)}"
    )
