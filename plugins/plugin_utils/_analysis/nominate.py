# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which sets are confirmed: the one that the planned blocks favour, and the runner-up. Pure.

A nomination claims nothing: what scores above the control by an interval of its own is worth fresh
blocks. Where each profile changes one factor, the nominee has all changes that help, and the
runner-up is the best that was measured: if changes do not add up, the confirmation shows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from .._campaign import forwarding
from .._campaign.nouns import Nominee, Plan
from .._statistics import effects
from .._statistics.libraries import np
from .._trials.nouns import Trial
from . import failures
from .cube import Cube, collect
from .metric_analysis import MetricAnalysis
from .metrics import margin
from .sets import MeasuredSets, interval, part_of, separated


def nominate(plan: Plan, trials: Iterable[Trial]) -> list[Nominee]:
    """Return the nominees, the chosen one first; an empty list where there is nothing to confirm."""
    return nominees_of(collect(plan, trials))


def nominees_of(cube: Cube) -> list[Nominee]:
    """Return the nominees from the trials of the planned blocks."""
    if len(cube.profiles) < 3:
        # The planned blocks compared the only candidate with the control: they are the confirmation
        return []
    metrics = [MetricAnalysis(cube, name) for name in cube.metrics()]
    part = part_of(cube, [metric for metric in metrics if metric.claims])
    helping = _helping(part, cube) if part else []
    if part is None or not helping:
        return []
    if part.plan["design"] not in ("one_at_a_time", "leave_one_out"):
        chosen = _nominee(part, "chosen", helping[0])
        second = _simplest_near(part, helping)
    else:
        chosen = _built(part, helping)
        second = _measured_second(part, helping)
    return [chosen, _nominee(part, "runner_up", second)] if second else [chosen]


def _measured_second(part: MeasuredSets, helping: list[str]) -> str | None:
    """Return the runner-up to a set that is built of all changes that help: the best that was
    measured, where they are of several factors.
    """
    changed = set(chain.from_iterable(part.changes(name) for name in helping))
    return helping[0] if len(changed) > 1 else _simplest_near(part, helping)


def _helping(part: MeasuredSets, cube: Cube) -> list[str]:
    """Return the profiles that score above the control, the best first: none that fails more, or
    costs somewhere.
    """
    fails = {row.profile for row in failures.of_profiles(cube, None, effects.ALPHA) if row.forbids}
    matters = margin(part.plan)
    means = {}
    for index, name in enumerate(part.names):
        mean, low, _high = part.interval(name)
        above = low > 0  # not where there is no interval
        if (
            above
            and name not in fails
            and not forwarding.forbidden(part.plan, part.plan["profiles"][name]["levels"])
            and not any(_costs(part, piece.gains[index], matters) for piece in part.pieces)
        ):
            means[name] = mean
    return sorted(means, key=lambda name: (-means[name], name))


def _costs(part: MeasuredSets, gains: np.ndarray, matters: float) -> bool:
    """Return whether a profile is shown to cost more than matters in one table."""
    return interval(gains, part.weights)[2] < -matters


def _nominee(part: MeasuredSets, role: str, name: str) -> Nominee:
    return {"role": role, "name": name, "levels": dict(part.plan["profiles"][name]["levels"])}


def _built(part: MeasuredSets, helping: list[str]) -> Nominee:
    """Return the control with the best change of each factor that helps."""
    best: dict[str, str] = {}
    for name in helping:
        for factor, level in part.changes(name).items():
            best.setdefault(factor, level)
    levels = {**part.plan["profiles"][part.plan["control"]]["levels"], **best}
    same = next(
        (name for name, profile in part.plan["profiles"].items() if profile["levels"] == levels),
        None,
    )
    name = same or ",".join(
        f"{factor}={level}" for factor, level in levels.items() if factor in best
    )
    return {"role": "chosen", "name": name, "levels": levels}


def _simplest_near(part: MeasuredSets, helping: list[str]) -> str | None:
    """Return, of the profiles not separated from the best, the one that changes least, else the
    second best.
    """
    top = helping[0]
    others = helping[1:]
    near = [
        name
        for name in others
        if len(part.changes(name)) < len(part.changes(top)) and not separated([part], top, name)
    ]
    if near:
        return min(near, key=lambda name: (len(part.changes(name)), -part.mean(name)))
    return others[0] if others else None
