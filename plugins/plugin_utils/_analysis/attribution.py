# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attribution: which single setting leads, for each goal, ranked only where the data separates the
candidates. Pure.

The goals are the published studies': throughput and CPU of TCP and UDP, transactions and latency.
CPU is service demand, CPU time for the same work, so a gain shows at line rate too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from .._campaign.nouns import Factor
from .._statistics import effects
from .._statistics.joint import usual_size
from .._statistics.libraries import np
from .contrasts import Labels
from .cube import Cube
from .metric_analysis import MetricAnalysis, effects_of
from .result import Attribution, Contender, FactorEffect

GOALS = {  # goal: (protocol, what the metric's name begins with)
    "tcp_throughput": ("TCP", "throughput"),
    "udp_throughput": ("UDP", "throughput"),
    "tcp_cpu": ("TCP", "service_demand"),
    "udp_cpu": ("UDP", "service_demand"),
    "tcp_transactions": ("TCP", "transactions"),
    "udp_transactions": ("UDP", "transactions"),
    "tcp_latency": ("TCP", "latency_p99"),
    "udp_latency": ("UDP", "latency_p99"),
}
MOST_RANKS = 5  # what is left after them is not ranked further


def goal_of(metric: str, test: str) -> str | None:
    """Return the goal that a metric of a netperf test belongs to, or None."""
    return next(
        (
            goal
            for goal, (protocol, start) in GOALS.items()
            if test.startswith(protocol) and metric.startswith(start)
        ),
        None,
    )


def side_of(factor: Factor, test: str) -> str:
    """Return whether a factor is set at the transmitter, the receiver, both, or the forwarder between
    them; the client sends, not in TCP_MAERTS.
    """
    if len(factor["sides"]) > 1:
        return "both"
    if factor["sides"] == ["forwarder"]:
        return "forwarder"
    client_sends = test != "TCP_MAERTS"
    return "transmitter" if (factor["sides"][0] == "client") == client_sends else "receiver"


def pairs_of(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of all pairs of candidates, as two arrays."""
    return np.triu_indices(count, 1)


def pair_differences(gains: np.ndarray) -> np.ndarray:
    """Return the differences between candidates, (tables, effects, blocks) to (tables, pairs,
    blocks).

    Only pairs with the largest candidate of a table are tested, the others are NaN: it leads, if
    any does, and each further pair reduces what can be shown. It is the largest by the size of its
    differences, whatever their signs.
    """
    first, second = pairs_of(gains.shape[1])
    sizes = usual_size(gains, np.maximum((~np.isnan(gains)).sum(axis=-1), 1))
    largest = np.argmax(sizes, axis=-1)[:, None]
    tables, pairs = np.nonzero((first == largest) | (second == largest))
    differences = np.full((len(gains), len(first), gains.shape[-1]), np.nan)
    differences[tables, pairs] = gains[tables, first[pairs]] - gains[tables, second[pairs]]
    return differences


def ranks(gains: np.ndarray, apart: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return ranks (tables, effects) from gains (tables, effects, blocks): 1 for the best gain and
    all that are not less.

    The next rank is the best of those shown to be less than it, and so on. ``apart`` (tables,
    effects, effects) says which pairs the report's test separates, ``weights`` how much each block counts. 0
    where there is no test.
    """
    n, mean, _error = effects.mean_and_error(gains, weights)
    unranked = n >= effects.FEWEST_BLOCKS
    ranked = np.zeros(mean.shape, dtype=int)
    for rank in range(1, MOST_RANKS + 1):
        if not unranked.any():
            break
        best = np.argmax(np.where(unranked, mean, -np.inf), axis=-1)[:, None]
        less = unranked & np.take_along_axis(apart, best[..., None], axis=1)[:, 0]
        ranked[unranked & ~less] = rank
        unranked = less
    ranked[unranked] = MOST_RANKS + 1
    return ranked


def _attribution(
    metric: MetricAnalysis, table: int, side: str, candidates: list[Contender]
) -> Attribution | None:
    """Return the attribution of one goal in one table; None where the metric serves no goal there."""
    where = metric.cube.tables[table]
    goal = goal_of(metric.name, where.test)
    if goal is None:
        return None
    first = [row for row in candidates if row.rank == 1]
    leaders = [row.factor for row in first if row.state == "better"]
    return Attribution(
        goal=goal,
        side=side,
        table=where.id,
        metric=metric.name,
        end=metric.describe(table).end,
        leaders=leaders,
        separated=len(first) == 1 and len(leaders) == 1,
        undecided=[row.factor for row in first if row.state != "better"],
        candidates=candidates,
    )


def _groups(
    cube: Cube, metric: MetricAnalysis, labels: Labels, idle: Collection[str]
) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield (side, tables, effects): which effects are candidates in which tables; TCP_MAERTS has
    the ends swapped.
    """
    factors = {factor["name"]: factor for factor in cube.plan["factors"]}
    ours = _tables_with_a_goal(cube, metric)
    for test, tables in (("", ours[False]), ("TCP_MAERTS", ours[True])):
        if not tables:
            continue
        by_side: dict[str, list[int]] = {}
        for number, label in enumerate(labels):
            if label["factor"] not in idle:
                side = side_of(factors[label["factor"]], test)
                by_side.setdefault(side, []).append(number)
        for side, chosen in sorted(by_side.items()):
            yield side, tables, chosen


def _tables_with_a_goal(cube: Cube, metric: MetricAnalysis) -> dict[bool, list[int]]:
    """Return the tables in which a metric serves a goal, by whether their test is TCP_MAERTS."""
    by_direction: dict[bool, list[int]] = {False: [], True: []}
    for index, table in enumerate(cube.tables):
        if metric.measured(index) and goal_of(metric.name, table.test):
            by_direction[table.test == "TCP_MAERTS"].append(index)
    return by_direction


def _of_metric(
    cube: Cube, metric: MetricAnalysis, idle: Collection[str]
) -> Iterator[tuple[int, Attribution]]:
    """Yield the attributions of one metric as (table, attribution), one side after the other."""
    labels, differences, _effects = metric.by_factor()
    columns = metric.factor_columns()
    for side, tables, chosen in _groups(cube, metric, labels, idle):
        better = metric.describe(tables[0]).better
        gains = differences[np.ix_(tables, chosen)] * (1 if better == "higher" else -1)
        apart = metric.apart[np.ix_(tables, chosen, chosen)]
        ranked = ranks(gains, apart, cube.weights)
        _n, mean, _error = effects.mean_and_error(gains, cube.weights)
        order = np.argsort(-mean, axis=-1, kind="stable")
        for number, table in enumerate(tables):
            rows = effects_of(FactorEffect, labels, columns, table)
            candidates = [
                Contender(**vars(rows[chosen[effect]]), rank=int(ranked[number, effect]) or None)
                for effect in order[number]
            ]
            entry = _attribution(metric, table, side, candidates)
            if entry:
                yield table, entry


def attribution(
    cube: Cube, metrics: Iterable[MetricAnalysis], idle: Collection[str] = ()
) -> list[Attribution]:
    """Return the attributions of a campaign, in the order of goals and tables, without ``idle``
    factors.
    """
    entries: list[tuple[int, Attribution]] = []
    for metric in metrics:
        if metric.compared and metric.by_factor()[0]:
            entries += _of_metric(cube, metric, idle)
    goals = list(GOALS)
    entries.sort(key=lambda part: (goals.index(part[1].goal), part[0]))
    return [entry for _table, entry in entries]
