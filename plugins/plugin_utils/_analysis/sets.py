# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets of settings that were measured, by pieces of evidence: what each gains in each table, and in
all of them. Pure.

A piece is a goal's metric in one table, as a gain: above 0 is better. On a saturated CPU service
demand is throughput in other words, and not a piece of its own. A profile's score in a block is the
mean over tables of what it gains there, half of it throughput or transactions and half CPU where
both are pieces: one number by which sets are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._campaign.nouns import Plan
from .._campaign.profiles import differing
from .._statistics import effects
from .._statistics.libraries import np
from .attribution import goal_of
from .cube import Cube
from .metric_analysis import MetricAnalysis

WRONG = 0.02  # chance that a set is called best, or free of costs, wrongly
SATURATED_SHARE = 0.5  # of a table's trials with a CPU that was busy all the time


@dataclass
class Piece:
    """One goal's metric in one table: ``gains`` (profiles, blocks) of the profiles but the control.

    ``again`` (1, blocks) is the gain of the control's second visit over its first.
    """

    metric: MetricAnalysis
    table: int
    goal: str
    gains: np.ndarray
    again: np.ndarray

    @property
    def kind(self) -> str:
        """What it concerns: work (throughput, transactions), cpu or latency."""
        start = self.metric.name.split("_")[0]
        return {"service": "cpu", "latency": "latency"}.get(start, "work")

    @property
    def sign(self) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.metric.better == "higher" else -1

    def states(self) -> list[str]:
        """Return the states of the profiles, as the report has them."""
        return list(self.metric.estimates["rows"]["state"][self.table])


def saturated(cube: Cube, table: int) -> bool:
    """Return whether a table's throughput was bound by a CPU."""
    used = int(cube.used_in[table])
    return bool(used > 0 and cube.saturated[table] >= SATURATED_SHARE * used)


def pieces_of(cube: Cube, metrics: list[MetricAnalysis]) -> list[Piece]:
    """Return the pieces of evidence of a campaign, or of its confirmation."""
    pieces = []
    for metric in metrics:
        if not metric.claims or "rows" not in metric.families:
            continue
        for index, about in enumerate(cube.tables):
            goal = goal_of(metric.name, about.test)
            if goal and metric.measured(index):
                sign = 1 if metric.better == "higher" else -1
                piece = Piece(
                    metric,
                    index,
                    goal,
                    sign * metric.differences["rows"][index],
                    sign * metric.again[index],
                )
                if piece.kind != "cpu" or not saturated(cube, index):
                    pieces.append(piece)
    return pieces


def mean_present(arrays: list[np.ndarray]) -> np.ndarray:
    """Return the mean of arrays (profiles, blocks) in each block, over the arrays that have the
    block; NaN if none has it.

    Each profile's mean in an array stays in all blocks, so a block does not differ because it lacks
    an array. The deviations are averaged over the arrays that have the block. They are enlarged
    where the mean removed more of them, so lost trials do not change the scatter over blocks.
    """
    stacked = np.array(arrays)
    present = ~np.isnan(stacked)
    n = present.sum(axis=-1, keepdims=True)
    arrays_in = present.sum(axis=0)
    means = np.where(present, stacked, 0.0).sum(axis=-1, keepdims=True) / np.maximum(n, 1)
    blocks = (arrays_in > 0).sum(axis=-1)[:, None]
    more = np.sqrt(
        np.maximum(n, 1) / np.maximum(n - 1, 1) * np.maximum(blocks - 1, 1) / np.maximum(blocks, 1)
    )
    deviations = np.where(present, more * (stacked - means), 0.0).sum(axis=0) / np.maximum(
        arrays_in, 1
    )
    level = np.where(n > 0, means, 0.0).sum(axis=0) / np.maximum((n > 0).sum(axis=0), 1)
    return np.where(arrays_in > 0, level + deviations, np.nan)


def scores(pieces: list[Piece], what: str = "gains") -> Any:
    """Return what each profile gains in each block, over all tables: (profiles, blocks); None
    without pieces.

    ``what`` may be ``again``: the same of the control's second visit.
    """
    by_table: dict[int, dict[str, list[Any]]] = {}
    for piece in pieces:
        if piece.kind != "latency":
            by_table.setdefault(piece.table, {}).setdefault(piece.kind, []).append(
                getattr(piece, what)
            )
    if not by_table:
        return None
    return mean_present([_of_table(kinds) for kinds in by_table.values()])


def _of_table(kinds: dict[str, list[Any]]) -> np.ndarray:
    """Return the mean of work and CPU in one table, each of them the mean of its pieces."""
    return mean_present([mean_present(pieces) for pieces in kinds.values()])


def interval(
    differences: np.ndarray, weights: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Return (mean, low, high) of one row of differences, at 95 %; NaN under three blocks."""
    _n, mean, low, high = effects.intervals(differences[None], weights)
    return float(mean[0]), float(low[0]), float(high[0])


def interval_at(
    differences: np.ndarray, alpha: float, weights: np.ndarray | None
) -> tuple[float, float, float]:
    """Return the same, two-sided at any ``alpha``, by Student's t: few blocks have too few choices
    of signs for a small one.
    """
    n, mean, error = map(float, effects.mean_and_error(differences, weights))
    if n < effects.INTERVAL_BLOCKS:
        return mean, np.nan, np.nan
    half = effects.t_quantile(1 - alpha / 2, n - 1) * error
    return mean, mean - half, mean + half


def changes(plan: Plan, levels: dict[str, str]) -> dict[str, str]:
    """Return the levels in which a profile differs from the control."""
    return differing(levels, plan["profiles"][plan["control"]]["levels"])


@dataclass
class MeasuredSets:
    """The sets of one part of a campaign, its plan or its confirmation.

    ``scores`` are (profiles, blocks), ``again`` (1, blocks) the same of the control's second visit
    over its first. ``weights`` are what each block counts; None: all alike.
    """

    plan: Plan
    names: list[str]
    pieces: list[Piece]
    scores: np.ndarray
    again: np.ndarray
    weights: np.ndarray | None = None

    def counted(self, scores: np.ndarray) -> np.ndarray:
        """Return scores as the report's test adds them up: each block by what it counts."""
        return effects.counted(scores, self.weights)

    def mean(self, name: str) -> float:
        """Return a set's score over all blocks."""
        return float(effects.mean_and_error(self.score(name), self.weights)[1])

    def interval(self, name: str) -> tuple[float, float, float]:
        """Return (mean, low, high) of a set's score, at 95 %."""
        return interval(self.score(name), self.weights)

    def index_of(self, name: str) -> int:
        """Return the index of a set in ``names``."""
        return self.names.index(name)

    def score(self, name: str) -> np.ndarray:
        """Return a set's score in each block; the control's score is 0."""
        return (
            np.zeros(self.scores.shape[1])
            if name == self.plan["control"]
            else self.scores[self.index_of(name)]
        )

    def measured(self, name: str) -> bool:
        """Return whether this part visited a set."""
        return name == self.plan["control"] or name in self.names

    def changes(self, name: str) -> dict[str, str]:
        """Return the levels in which a set differs from the control."""
        return changes(self.plan, self.plan["profiles"][name]["levels"])


def part_of(cube: Cube, metrics: list[MetricAnalysis]) -> MeasuredSets | None:
    """Return the sets of a part; None where nothing was measured that could be compared."""
    pieces = pieces_of(cube, metrics)
    all_scores = scores(pieces)
    if all_scores is None:
        return None
    again = scores(pieces, "again")
    return MeasuredSets(cube.plan, cube.profiles[1:], pieces, all_scores, again, cube.weights)


def _last_score(parts: list[MeasuredSets], name: str) -> tuple[float, float, float]:
    """Return (blocks, mean, standard error) of a set's score in the last part that visited it."""
    part = next(part for part in reversed(parts) if part.measured(name))
    n, mean, error = map(float, effects.mean_and_error(part.score(name), part.weights))
    return n, mean, error


def advantage(
    parts: list[MeasuredSets], first: str, second: str, alpha: float
) -> tuple[float, float, float]:
    """Return (mean, low, high) of how much more one set scores than another, two-sided at
    ``alpha``.

    The comparison is inside blocks if one part measured both; the last such part counts. Else each
    is compared with its part's control.
    """
    for part in reversed(parts):
        if part.measured(first) and part.measured(second):
            return interval_at(part.score(first) - part.score(second), alpha, part.weights)
    n, mean, error = _last_score(parts, first)
    second_n, second_mean, second_error = _last_score(parts, second)
    if min(n, second_n) < 3:
        return mean - second_mean, np.nan, np.nan
    half = effects.t_quantile(1 - alpha / 2, min(n, second_n) - 1) * np.hypot(error, second_error)
    return mean - second_mean, mean - second_mean - half, mean - second_mean + half


def separated(parts: list[MeasuredSets], first: str, second: str) -> bool:
    """Return whether the interval of their difference has one set above another; not where there is
    no interval.
    """
    return advantage(parts, first, second, 1 - effects.CONFIDENCE)[1] > 0
