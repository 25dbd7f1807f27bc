# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From arrays of values to what a report may claim: one test over all its effects, then states and
a recommendation.

The code that judges simulated campaigns (tests/instruments/simulation) and real ones alike. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from .._campaign.nouns import Decided, Plan
from .._statistics import effects
from .._statistics.joint import Family, TestMember, table_scale, usual_size
from .._statistics.libraries import np
from .._statistics.looks import InterimTest, rest, same
from .._trials.nouns import Trial
from . import failures
from .attribution import pair_differences
from .cube import Cube, collect
from .metric_analysis import MetricAnalysis
from .metrics import margin
from .recommend import nothing, recommendation
from .result import Failures, Recommendation
from .sets import MeasuredSets, part_of

KINDS = {"rows": "comparisons", "main_effects": "main_effects", "interactions": "interactions"}


class Made(NamedTuple):
    """One part of a campaign, with its members of the report's test."""

    cube: Cube
    metrics: list[MetricAnalysis]
    members: dict[str, dict[str, TestMember]]  # by metric and family of effects
    part: MeasuredSets | None = None
    score: TestMember | None = None
    failures: TestMember | None = None


@dataclass
class Judged:
    """One part of a campaign, its plan's or its confirmation's, once the report's test was made."""

    cube: Cube
    metrics: list[MetricAnalysis]
    part: MeasuredSets | None
    failures: list[Failures]
    score_shown: dict[str, bool]


def _metric_members(
    family: Family, metric: MetricAnalysis, first: int, leaders: bool
) -> dict[str, TestMember]:
    """Add a metric's effects to the report's test."""
    members = {
        name: family.add(
            KINDS[name],
            metric.counted(differences),
            metric.scale(name),
            first,
            metric.name,
            again=metric.counted(metric.again) if name == "rows" else None,
        )
        for name, differences in metric.differences.items()
    }
    labels, gains, _found = metric.by_factor()
    if leaders and len(labels) > 1:
        pairs = metric.counted(pair_differences(gains))
        members["leaders"] = family.add("leaders", pairs, table_scale(pairs), first, metric.name)
    return members


def _score_member(family: Family, part: MeasuredSets, first: int) -> TestMember:
    scores = part.counted(part.scores)[None]
    again = part.counted(part.again)[None]
    return family.add("sets", scores, table_scale(scores, again), first, again=again)


def _fail_member(family: Family, cube: Cube, first: int) -> TestMember | None:
    differences = failures.differences(cube)
    if not differences.shape[1] or not cube.stalls.any():
        return None
    return family.add(
        "failures",
        differences,
        usual_size(differences, (~np.isnan(differences)).sum(axis=-1)),
        first,
    )


def _shown(part: MeasuredSets | None, member: TestMember | None, allowed: bool) -> dict[str, bool]:
    """Return for each set whether the report's test shows its score to be above the control's."""
    if part is None or member is None or not allowed:
        return {}
    _n, _mean, low, _high = effects.intervals(part.scores, part.weights)
    with np.errstate(invalid="ignore"):
        return dict(zip(part.names, ((member.p[0] <= effects.ALPHA) & (low > 0)).tolist()))


def _tested(cube: Cube) -> tuple[Family, list[Made]]:
    """Return the report's test of a campaign, made, and what its members are of."""
    family = Family()
    parts = list[Made]()
    for campaign in filter(None, (cube, cube.confirmation)):
        first = 0 if campaign is cube else cube.blocks
        metrics = [MetricAnalysis(campaign, name) for name in campaign.metrics()]
        if campaign.plan["design"] == "search":  # it nominates, and claims nothing
            parts.append(Made(campaign, metrics, {}))
            continue
        members = {
            metric.name: _metric_members(family, metric, first, campaign is cube)
            for metric in metrics
            if metric.claims and "rows" in metric.families
        }
        part = part_of(campaign, metrics)
        score = _score_member(family, part, first) if part else None
        fails = _fail_member(family, campaign, first)
        parts.append(Made(campaign, metrics, members, part, score, fails))
    family.test()
    return family, parts


def judge(
    cube: Cube, allowed: bool = True, level: float | None = None
) -> tuple[list[Judged], Family]:
    """Return the judged parts of a campaign, and the test; without ``allowed`` nothing is claimed.

    Each earlier interim test has spent its level. ``level`` is this test's; None stands for the last test.
    """
    family, parts = _tested(cube)
    earlier = cube.plan.get("looked") or []
    if earlier or level is not None:
        family.pay(
            rest(earlier) if level is None else level,
            [(_tested(cube.upto(test["block"]))[0], test["alpha"]) for test in earlier],
        )
    tested = sum(family.counts().values())
    return [_judged(tested_part, tested, allowed) for tested_part in parts], family


def _judged(tested_part: Made, tested: int, allowed: bool) -> Judged:
    """Return what the report's test says of one part; ``tested`` effects were tested together."""
    for metric in tested_part.metrics:
        if metric.compared:
            members = tested_part.members.get(metric.name, {})
            p = {name: member.p for name, member in members.items()}
            metric.settle(p, tested, allowed)
    p_failures = tested_part.failures.p if tested_part.failures and allowed else None
    return Judged(
        tested_part.cube,
        tested_part.metrics,
        tested_part.part,
        failures.of_profiles(tested_part.cube, p_failures, effects.ALPHA),
        _shown(tested_part.part, tested_part.score, allowed),
    )


def recommend(judged: list[Judged], idle: Collection[str]) -> Recommendation:
    """Return the recommendation, from the parts of a campaign."""
    compared = [part_judged for part_judged in judged if part_judged.part is not None]
    if not compared:
        searching = judged[0].cube.plan["design"] == "search" and len(judged) == 1
        return nothing(
            "a search recommends only what was confirmed"
            if searching
            else "no trial gave a result that can be compared"
        )
    fails = failures.merged(judged[0].failures, judged[-1].failures)
    return recommendation(
        [part_judged.part for part_judged in compared if part_judged.part],
        [part_judged.score_shown for part_judged in compared],
        fails,
        idle,
    )


def decide(
    plan: Plan, trials: Iterable[Trial], test: InterimTest, before: list[Decided]
) -> Decided:
    """Return what an interim test decides, from the trials of its blocks; ``before`` are the earlier ones."""
    cube = collect({**plan, "looked": before}, trials).upto(test["block"])
    judged, _family = judge(cube, level=test["alpha"])
    measured, unsettled = _comparisons(judged[0], margin(plan))
    gone = set(chain.from_iterable(earlier["settled"] for earlier in before))
    settled: list[str] = []
    unanswered: dict[str, int] = {}
    for index, name in enumerate(cube.profiles[1:]):
        if name in gone:
            continue
        if measured[index] and not unsettled[index]:
            settled.append(name)
        else:
            unanswered[name] = int(unsettled[index])
    return {
        "block": test["block"],
        "alpha": test["alpha"],
        "settled": settled,
        "answered": not unanswered,
        "open": unanswered,
    }


def _comparisons(judged: Judged, matters: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how many comparisons with the control each profile has, and how many of them are not
    settled.
    """
    measured = unsettled = np.zeros(len(judged.cube.profiles) - 1, dtype=int)
    for metric in judged.metrics:
        if metric.claims and "rows" in metric.estimates:
            estimates = metric.estimates["rows"]
            compared = estimates["n"] > 0
            settled = estimates["significant"] | same(estimates, matters)
            measured = measured + compared.sum(axis=0)
            unsettled = unsettled + (compared & ~settled).sum(axis=0)
    return measured, unsettled
