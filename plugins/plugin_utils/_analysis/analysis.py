# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a plan and its trials to the result of a campaign: effects with intervals, attribution,
recommendation. Pure.

The test is made once, at the end. A report of an unfinished or extended campaign would be another test.
It shows intervals and claims nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from .._campaign.nouns import Decided, Factor, Nominee, Plan, SearchRound
from .._statistics import effects
from .._statistics import power as power_of_tests
from .._statistics.joint import Family
from .._statistics.rules import MATTERS
from .._statistics.text import shortened, too_few_blocks
from .._store.manifest import Manifest
from .._trials.nouns import Trial
from . import metrics as analysis_metrics
from .attribution import attribution
from .campaign_verdicts import of_all
from .cube import Cube, collect, counts_of_table
from .failures import of_tables
from .judge import Judged, judge, recommend
from .metrics import block_seconds
from .nominate import nominees_of
from .result import (
    SCHEMA,
    AnalysedFactor,
    AnalysedTable,
    Analysis,
    ConfirmedPart,
    DeviceVerdict,
    ErrorRate,
    Methods,
    RoundStanding,
    SearchPath,
    TrialCounts,
    Unfinished,
)
from .sets import saturated
from .spend import scattered

CANNOT_ACT = ("unsupported", "masked")


def analyse(
    plan: Plan,
    trials: Iterable[Trial],
    manifest: Manifest | None = None,
    verdicts: Callable[[], list[DeviceVerdict]] | None = None,
    *,
    running: bool = False,
) -> Analysis:
    """Return the result of a campaign.

    ``trials`` is an iterable of trial records, read once. Failed trials and trials that a guard
    excludes are left out and counted. ``manifest`` says whether both ends are one machine.
    ``verdicts`` is called once all trials are read, and returns the rows of
    :mod:`.campaign_verdicts`: a factor that could act nowhere is neither a candidate nor
    recommended. Nothing is claimed of a ``running`` campaign: it has ``nominated``
    instead.
    """
    one_host = analysis_metrics.one_host(manifest)
    cube = collect(plan, trials, one_host)
    lacks = _lacks(plan, cube, running)
    judged, family = judge(cube, allowed=lacks is None)
    levels = {name: profile["levels"] for name, profile in plan["profiles"].items()}
    metrics = judged[0].metrics
    plan = cube.plan
    tables = _tables(judged[0])
    counts = _trials(cube)
    rows = verdicts() if verdicts else []
    idle = _idle(rows)
    return Analysis(
        schema=SCHEMA,
        campaign=plan["name"],
        kind=plan.get("kind", "measured"),
        design=plan["design"],
        seed=plan["seed"],
        created=plan["created"],
        blocks=plan["blocks"],
        control=plan["control"],
        methods=_methods(cube, one_host),
        error_rate=_error_rate(family, lacks, plan.get("looked") or ()),
        trials=counts,
        factors=[_varied(factor) for factor in plan["factors"]],
        profiles=levels,
        tables=tables,
        scatter=scattered(cube),
        attribution=attribution(cube, metrics, idle),
        failures=judged[0].failures,
        recommendation=recommend(judged, idle),
        confirmation=_confirmation(judged[1:]),
        search=_search(plan),
        unfinished=lacks,
        verdicts=rows,
        untestable={**_untestable(cube, tables, running), **idle},
        warnings=[*_warnings(cube, counts, lacks), *_of_counting(counts)],
        nominated=_nominated(plan, cube) if running else None,
    )


def _varied(factor: Factor) -> AnalysedFactor:
    """Return what a report says of a factor."""
    return AnalysedFactor(
        name=factor["name"],
        kind=factor["kind"],
        levels=factor["levels"],
        devices=factor["devices"],
        sides=factor["sides"],
        needs=factor["needs"],
    )


def _methods(cube: Cube, one_host: bool) -> Methods:
    imported = cube.plan.get("kind") == "imported"
    paired = "run by run in the order of the logs" if imported else "paired inside blocks"
    estimate = f"geometric mean of ratios to the control, {paired}"
    if cube.weights is not None:
        estimate += "; blocks whose cells measured longer count for more, as their scatter asks for"
    return Methods(
        estimate=estimate,
        weights=None if cube.weights is None else shortened(cube.weights),
        interval="means that the sign-flip test does not refuse, on log ratios; Student's t under "
        f"{effects.FEWEST_BLOCKS} blocks",
        confidence=effects.CONFIDENCE,
        test="sign-flip, two-sided",
        correction="joint over the report, step-down of the largest effect",
        alpha=effects.ALPHA,
        power=power_of_tests.POWER,
        fewest_blocks=effects.FEWEST_BLOCKS,
        matters_percent=cube.plan.get("matters", MATTERS),
        include_marked=False,  # earlier versions could include them
        one_host=one_host,
    )


def _error_rate(family: Family, lacks: Unfinished | None, interim: Sequence[Decided]) -> ErrorRate:
    counts = family.counts()
    claims = sum(counts.values())
    tested = (
        "its one tested effect" if claims == 1 else f"all of its {claims} tested effects together"
    )
    tested += f" and {_counted(len(interim), 'interim test', 'interim tests')}" if interim else ""
    text = (
        f"5 % is the chance of any false claim in this report, over {tested}"
        if claims and not lacks
        else "nothing is claimed, so nothing is tested"
    )
    return ErrorRate(alpha=effects.ALPHA, tested=claims, by_kind=counts, text=text)


def _lacks(plan: Plan, cube: Cube, running: bool) -> Unfinished | None:
    """Return what is missing of a campaign; imported logs have no plan to compare with."""
    if plan.get("kind") == "imported":
        return None
    parts = [cube, cube.confirmation] if cube.confirmation else [cube]
    visited = set[tuple[Any, ...]]().union(*(part.visited for part in parts))
    return unfinished(
        plan,
        visited,
        sum(_missing(part) for part in parts),
        sum(part.beyond for part in parts),
        running,
    )


def _tables(judged: Judged) -> list[AnalysedTable]:
    failed = of_tables(judged.cube)
    tables = []
    for index, table in enumerate(judged.cube.tables):
        metrics = [metric.of_table(index) for metric in judged.metrics if metric.measured(index)]
        tables.append(
            AnalysedTable(
                **vars(table),
                saturated=saturated(judged.cube, index),
                failures=failed[index],
                metrics=metrics,
                counts=counts_of_table(judged.cube, index) or None,
            )
        )
    return tables


def _confirmation(judged: Sequence[Judged]) -> ConfirmedPart | None:
    """Return the second part of a campaign, or None."""
    if not judged:
        return None
    part = judged[0]
    return ConfirmedPart(
        blocks=part.cube.blocks,
        profiles=part.cube.profiles,
        tables=_tables(part),
        failures=part.failures,
    )


def _search(plan: Plan) -> SearchPath | None:
    """Return the path of a search: its rounds with how it stood before each, its end, and who was
    nominated.
    """
    if "search" not in plan:
        return None
    decided = plan.get("decided")
    rounds = decided["rounds"] if decided else []
    first = len(plan["visits"]) - sum(visit.get("part") is not None for visit in plan["visits"])
    return SearchPath(
        goal=plan["search"]["goal"],
        ended=decided and decided["ended"],
        first_visits=first,
        rounds=[_round(search_round) for search_round in rounds],
        nominees=decided["nominees"] if decided else [],
        standing=decided and decided.get("standing"),
    )


def _round(search_round: SearchRound) -> RoundStanding:
    return RoundStanding(
        round=search_round["round"],
        standing=search_round["standing"],
        profiles=[visit["profile"] for visit in search_round["visits"]],
    )


def _nominated(plan: Plan, cube: Cube) -> list[Nominee]:
    """Return whom a running campaign nominates so far."""
    if "search" not in plan:
        return nominees_of(cube)
    return plan["decided"]["nominees"] if "decided" in plan else []


def _missing(cube: Cube) -> int:
    counts = cube.counts
    return max(
        0,
        counts["planned"]
        - (counts["recorded"] - counts["unplanned"] - counts["twice"] - cube.again),
    )


def _trials(cube: Cube) -> TrialCounts:
    return TrialCounts(
        **cube.counts,
        missing=_missing(cube),
        marks=dict(sorted(cube.marks.items())),
        excluded_by=dict(sorted(cube.excluded_by.items())),
        failures=cube.failures,
    )


def _idle(verdicts: Iterable[DeviceVerdict]) -> dict[str, str]:
    """Return ``{factor: reason}`` of the factors that the evidence says could act on no device of
    no path.
    """
    return {
        factor: f"{row.verdict}: {row.reason}"
        for factor, row in of_all(verdicts, CANNOT_ACT).items()
    }


def _untestable(cube: Cube, tables: Iterable[AnalysedTable], running: bool) -> dict[str, str]:
    """Return ``{factor or profile: reason}``: what the campaign says, and at its end profiles
    without a used trial.
    """
    plan = cube.plan
    reasons = dict(plan.get("untestable") or {})
    if running:
        return reasons
    measured = _profiles_with_values(tables)
    for name in plan["profiles"]:
        if name != plan["control"] and name not in measured:
            why = cube.unusable.get(name, "none was measured")
            reasons[name] = f"no trial of this profile could be used ({why})"
    return reasons


def _profiles_with_values(tables: Iterable[AnalysedTable]) -> set[str]:
    """Return the profiles with a value in any metric of any table."""
    profiles: set[str] = set()
    for metric in chain.from_iterable(table.metrics for table in tables):
        profiles.update(row.profile for row in metric.rows if row.median is not None)
    return profiles


def _counted(number: int, singular: str, plural: str) -> str:
    return f"1 {singular}" if number == 1 else f"{number} {plural}"


def _warnings(cube: Cube, trials: TrialCounts, lacks: Unfinished | None) -> Iterator[str]:
    if lacks:
        yield lacks.text
    if trials.missing:
        yield f"{trials.missing} of {trials.planned} trials were not measured"
    if trials.failed:
        yield _counted(trials.failed, "trial failed", "trials failed")
    if trials.excluded:
        reasons = ", ".join(f"{guard} {count}" for guard, count in trials.excluded_by.items())
        yield (
            _counted(trials.excluded, "marked trial is left out", "marked trials are left out")
            + f" ({reasons})"
        )
    if trials.unplanned:
        yield _counted(
            trials.unplanned,
            "trial is not in the plan and is left out",
            "trials are not in the plan and are left out",
        )
    if trials.twice:
        yield _counted(
            trials.twice,
            "trial repeats a measured cell and is left out",
            "trials repeat a measured cell and are left out",
        )
    if cube.blocks < effects.FEWEST_BLOCKS and cube.plan["design"] != "search":
        yield too_few_blocks(cube.blocks, effects.FEWEST_BLOCKS)


def _of_counting(trials: TrialCounts) -> Iterator[str]:
    costly = trials.marks.get("counting")
    if costly:
        yield _counted(costly, "trial lost", "trials lost") + " more than 1 % to counting packets"


def unfinished(
    plan: Plan, visited: set[tuple[Any, ...]], missing: int, beyond: int, running: bool = False
) -> Unfinished | None:
    """Return what is missing of a campaign; None for a complete campaign that is not ``running``.

    ``visited`` are (MTU, block, visit) with a recorded trial. ``beyond`` counts trials of blocks
    that the plan does not have.
    """
    planned = [(visit["mtu"], visit["block"], visit["visit"]) for visit in plan["visits"]]
    missing_visits = [position for position in planned if position not in visited]
    extended = beyond > 0 or bool(plan.get("extended"))
    searching = plan["design"] == "search" and not ("decided" in plan and plan["decided"]["ended"])
    if not any((missing_visits, extended, searching, running)):
        return None
    reasons = (
        (running, "the campaign is running"),
        (
            missing_visits,
            f"{len(missing_visits)} of {len(plan['visits'])} visits were not measured",
        ),
        (searching, "the search has not ended"),
        (extended, "the record was extended after its plan was made"),
    )
    reasons_text = " and ".join(text for holds, text in reasons if holds)
    return Unfinished(
        visits_missing=len(missing_visits),
        trials_missing=missing,
        seconds=_seconds(plan, len(missing_visits)),
        extended=extended,
        text=f"{reasons_text}: nothing is claimed",
    )


def _seconds(plan: Plan, visits: int) -> float | None:
    """Return about how long some visits take; None where it is not known."""
    block_length = block_seconds(plan)
    if not block_length or not plan["visits"]:
        return None
    in_block = len(plan["visits"]) / plan["blocks"]
    return round(block_length * visits / in_block, 1)
