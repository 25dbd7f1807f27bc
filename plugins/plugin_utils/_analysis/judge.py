# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From arrays of values to what a report may claim: one test over all its effects, then states and
a recommendation.

The code that judges simulated campaigns (tests/instruments/simulation) and real ones alike. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Optional

from .._campaign.nouns import Decided, Plan
from .._statistics import effects
from .._statistics.family import Family, Member
from .._statistics.joint import table_scale, usual_size
from .._statistics.libraries import np
from .._statistics.looks import Look, rest, same
from .._statistics.states import margin
from .._trials.nouns import Trial
from . import failures
from .attribution import pair_differences
from .cube import Cube, Table, collect
from .metric_analysis import MetricAnalysis
from .recommend import (
    Recommendation,
    nothing,
    recommendation,
)
from .sets import Part, part_of

KINDS = {"rows": "comparisons", "main_effects": "main_effects", "interactions": "interactions"}

# A part with its metrics; its members by metric and family; its sets, and the members of their
# score and of failures.
Made = tuple[
    Cube,
    list[MetricAnalysis],
    dict[str, dict[str, Member]],
    Optional[Part],
    Optional[Member],
    Optional[Member],
]


@dataclass
class Judged:
    """One part of a campaign, its plan's or its confirmation's, once the report's test was made."""

    cube: Cube
    metrics: list[MetricAnalysis]
    part: Part | None
    failures: list[failures.Failures]
    score_shown: dict[str, bool]


def _metric_members(
    family: Family, metric: MetricAnalysis, first: int, leaders: bool
) -> dict[str, Member]:
    """Add a metric's effects to the report's test."""
    members = {
        name: family.add(
            KINDS[name],
            differences,
            metric.scale(name),
            first,
            metric.name,
            again=metric.again if name == "rows" else None,
        )
        for name, differences in metric.differences.items()
    }
    labels, gains, _found = metric.by_factor()
    if leaders and len(labels) > 1:
        pairs = pair_differences(gains)
        members["leaders"] = family.add("leaders", pairs, table_scale(pairs), first, metric.name)
    return members


def _fail_member(family: Family, cube: Cube, first: int) -> Member | None:
    differences = failures.differences(cube)
    if not differences.shape[1] or not cube.stalls.any():
        return None
    return family.add(
        "failures",
        differences,
        usual_size(differences, (~np.isnan(differences)).sum(axis=-1)),
        first,
    )


def _shown(part: Part | None, member: Member | None, allowed: bool) -> dict[str, bool]:
    """Return for each set whether the report's test shows its score to be above the control's."""
    if part is None or member is None or not allowed:
        return {}
    _n, _mean, low, _high = effects.t_interval(part.scores)
    with np.errstate(invalid="ignore"):
        return dict(zip(part.names, ((member.p[0] <= effects.ALPHA) & (low > 0)).tolist()))


def _tested(cube: Cube) -> tuple[Family, list[Made]]:
    """Return the report's test of a campaign, made, and what its members are of."""
    family, made = Family(), list[Made]()
    for own in filter(None, (cube, cube.confirmation)):
        first = 0 if own is cube else cube.blocks
        metrics = [MetricAnalysis(own, name) for name in own.metrics()]
        if own.plan["design"] == "search":  # it nominates, and claims nothing
            made.append((own, metrics, {}, None, None, None))
            continue
        members = {
            metric.name: _metric_members(family, metric, first, own is cube)
            for metric in metrics
            if metric.claims and "rows" in metric.families
        }
        part = part_of(own, metrics)
        score = None
        if part:
            score = family.add(
                "sets",
                part.scores[None],
                table_scale(part.scores[None], part.again[None]),
                first,
                again=part.again[None],
            )
        made.append((own, metrics, members, part, score, _fail_member(family, own, first)))
    family.test()
    return family, made


def judge(
    cube: Cube, allowed: bool = True, level: float | None = None
) -> tuple[list[Judged], Family]:
    """Return the judged parts of a campaign, and the test. ``allowed``: may anything be claimed at
    all?

    Where looks were made before, each has spent its level, and ``level`` is this one's; None: it is
    the end.
    """
    family, made = _tested(cube)
    looks = cube.plan.get("looked") or []
    if looks or level is not None:
        family.pay(
            rest(looks) if level is None else level,
            [(_tested(cube.upto(look["block"]))[0], look["alpha"]) for look in looks],
        )
    tested = sum(family.counts().values())
    judged = []
    for own, metrics, members, part, score, fails in made:
        for metric in metrics:
            if metric.compared:
                p = {name: member.p for name, member in members.get(metric.name, {}).items()}
                metric.settle(p, tested, allowed)
        judged.append(
            Judged(
                own,
                metrics,
                part,
                failures.of_profiles(own, fails.p if fails and allowed else None, effects.ALPHA),
                _shown(part, score, allowed),
            )
        )
    return judged, family


def recommend(
    judged: list[Judged], idle: Collection[str], table_id: Callable[[Table], str]
) -> Recommendation:
    """Return the recommendation, from the parts of a campaign."""
    known = [own for own in judged if own.part is not None]
    if not known:
        searching = judged[0].cube.plan["design"] == "search" and len(judged) == 1
        return nothing(
            "a search recommends only what was confirmed"
            if searching
            else "no trial gave a result that can be compared"
        )
    fails = failures.merged(judged[0].failures, judged[-1].failures)
    return recommendation(
        [own.part for own in known if own.part],
        [own.score_shown for own in known],
        fails,
        idle,
        table_id,
    )


def decide(plan: Plan, trials: Iterable[Trial], look: Look, before: list[Decided]) -> Decided:
    """Return what a look decides, from the trials of its blocks; ``before`` are the looks that were
    made.
    """
    cube = collect({**plan, "looked": before}, trials).upto(look["block"])
    judged, _family = judge(cube, level=look["alpha"])
    open_in = dict.fromkeys(cube.profiles[1:], 0)
    known = {name: 0 for name in open_in}
    for metric in judged[0].metrics:
        if metric.claims and "rows" in metric.found:
            found = metric.found["rows"]
            settled = found["significant"] | same(found, margin(plan))
            for place, name in enumerate(open_in):
                measured = found["n"][:, place] > 0
                known[name] += int(np.sum(measured))
                open_in[name] += int(np.sum(measured & ~settled[:, place]))
    gone = set(chain.from_iterable(own["settled"] for own in before))
    now = [name for name in open_in if name not in gone and known[name] and not open_in[name]]
    return {
        "block": look["block"],
        "alpha": look["alpha"],
        "settled": now,
        "answered": len(gone) + len(now) == len(open_in),
        "open": {
            name: count for name, count in open_in.items() if name not in gone and name not in now
        },
    }
