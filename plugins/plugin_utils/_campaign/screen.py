# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Screening: a few combinations that show all main effects and most effects of pairs. Pure.

If each factor has two levels and no combination is impossible, a screen is a fractional factorial of
resolution IV: pairs bias no main effect (Box and Hunter 1961). Otherwise it maximizes the determinant
of the information matrix over the combinations that a host can have. It is D-optimal with a prior on
the pairs (DuMouchel and Jones 1994), by exchange (Fedorov 1972).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._base.errors import InputError
from .._statistics.libraries import doe, np
from .factors import all_off, all_on
from .nouns import Factor, Levels

RESOLUTION = 4
# With 15 factors a fraction of resolution IV has 32 combinations; pyDOE3 1.6 has none for 16.
MOST_FACTORS = 15
MOST_CANDIDATES = 4096
STARTS = 4  # of the exchange, which ends in a local maximum: the best one counts
DRIFT_MEMORY = 0.8  # correlation of the drift at one visit and at the next
DRIFT_SHARE = 3.0  # variance of the drift, in units of the variance of one visit's noise
PAIR_PRIOR = 0.25  # prior variance of a pair's coefficient, in the same units


def screen(factors: Sequence[Factor], seed: int) -> list[Levels]:
    """Return the combinations of a screen, all off first."""
    if not 2 <= len(factors) <= MOST_FACTORS:
        raise InputError(
            f"{len(factors)} factors cannot be screened",
            "design screen",
            f"Give 2 to {MOST_FACTORS}, or use another design.",
        )
    if all(len(factor["levels"]) == 2 for factor in factors) and not _excluding(factors):
        return _fraction(factors)
    return _optimal(factors, seed)


def _fraction(factors: Sequence[Factor]) -> list[Levels]:
    count = len(factors)
    if count <= 3:
        signs = np.array(list(itertools.product((-1, 1), repeat=count)))
    else:
        signs = doe.fracfact("a b c abc") if count == 4 else doe.fracfact_by_res(count, RESOLUTION)
        signs = signs * -signs[0]  # the same fraction with other signs, so that all off is in it
    rows = sorted((signs > 0).astype(int).tolist(), key=lambda row: (sum(row), row))
    return [_levels_at(factors, row) for row in rows]


def _levels_at(factors: Sequence[Factor], indices: Sequence[int]) -> Levels:
    return {factor["name"]: factor["levels"][index] for factor, index in zip(factors, indices)}


def _excludes(factor: Factor, other: Factor) -> bool:
    """Return whether a factor needs a feature that the other factor varies at the same end."""
    return (
        other["kind"] == "feature"
        and _meet(factor["needs"], other["settings"])
        and _meet(factor["sides"], other["sides"])
        and _meet(factor["devices"], other["devices"])
    )


def _meet(some: Iterable[str], others: Iterable[str]) -> bool:
    return not set(some).isdisjoint(others)


def _excluding(factors: Sequence[Factor]) -> list[tuple[str, str]]:
    """Return the names ``(factor, needed factor)`` of each factor that needs another one."""
    return [
        (factor["name"], other["name"])
        for factor, other in itertools.permutations(factors, 2)
        if _excludes(factor, other)
    ]


def reachable(factors: Sequence[Factor], levels: Mapping[str, str]) -> bool:
    """Return whether a host can have this combination: each factor that is on has its needs on."""
    off = all_off(factors)
    return all(
        levels[name] == off[name] or levels[need] != off[need] for name, need in _excluding(factors)
    )


def within_reach(factors: Sequence[Factor], levels: Mapping[str, str]) -> Levels:
    """Return the levels that take effect: a factor whose need is off counts as off."""
    off = all_off(factors)
    effective = dict(levels)
    while not reachable(factors, effective):
        without = [name for name, need in _excluding(factors) if effective[need] == off[need]]
        effective.update({name: off[name] for name in without})
    return effective


def with_needs(factors: Sequence[Factor], levels: Mapping[str, str]) -> Levels:
    """Return the levels with the needs of all factors switched on."""
    on = all_on(factors)
    off = all_off(factors)
    complete = dict(levels)
    while not reachable(factors, complete):
        for name, need in _excluding(factors):
            if complete[name] != off[name] and complete[need] == off[need]:
                complete[need] = on[need]
    return complete


def _candidates(factors: Sequence[Factor], draw: random.Random) -> list[Levels]:
    """Return the combinations that a host can have, at most :data:`MOST_CANDIDATES` random ones."""
    names = [factor["name"] for factor in factors]
    levels = [factor["levels"] for factor in factors]
    total = np.prod([float(len(choice)) for choice in levels])
    rows = (
        itertools.product(*levels)
        if total <= MOST_CANDIDATES
        else (map(draw.choice, levels) for _row in range(MOST_CANDIDATES))
    )
    combinations = [dict(zip(names, row)) for row in rows]
    return [combination for combination in combinations if reachable(factors, combination)]


def _is_at(level: str, chosen: Sequence[str]) -> Any:
    return np.array([float(choice == level) for choice in chosen])


def model_matrix(factors: Sequence[Factor], rows: Sequence[Mapping[str, str]]) -> Any:
    """Return ``(matrix, pairs)``: a column of ones, one per level but the first, one per pair.

    The column of a pair is the product of both factors, each at its last level minus its first.
    """
    columns = [np.ones(len(rows))]
    ends = {}
    for factor in factors:
        chosen = [row[factor["name"]] for row in rows]
        at = [_is_at(level, chosen) for level in factor["levels"]]
        columns += [2 * column - 1 if len(at) == 2 else column - at[0] for column in at[1:]]
        ends[factor["name"]] = at[-1] - at[0]
    pairs = list(itertools.combinations(ends, 2))
    columns += [ends[first] * ends[second] for first, second in pairs]
    return np.column_stack(columns), pairs


def _join(groups: list[list[int]], index: int, products: Any) -> None:
    """Add a column to the group of columns that equal it or its negative."""
    for group in groups:
        first = group[0]
        if abs(products[first, index]) == products[index, index] == products[first, first]:
            group.append(index)
            return
    groups.append([index])


def alias_groups(
    factors: Sequence[Factor], rows: Sequence[Mapping[str, str]]
) -> list[list[tuple[str, str]]]:
    """Return the pairs of factors in groups whose effects this screen cannot separate.

    The list is empty where the screen has too few combinations for any pair. A factor and its need
    are in no group: the screen cannot measure the factor without its need.
    """
    matrix, pairs = model_matrix(factors, rows)
    mains, columns = np.split(matrix, [matrix.shape[1] - len(pairs)], axis=1)
    groups: list[list[int]] = []
    products = columns.T @ columns
    ends = {factor["name"]: (factor["levels"][0], factor["levels"][-1]) for factor in factors}
    for index, (first, second) in enumerate(pairs):
        visited = {(row[first], row[second]) for row in rows}
        if visited.issuperset(itertools.product(ends[first], ends[second])):
            _join(groups, index, products)
    model = np.hstack([mains, columns[:, [group[0] for group in groups]]])
    if model.shape[1] > len(rows) or np.linalg.matrix_rank(model) < model.shape[1]:
        return []
    return [list(map(pairs.__getitem__, group)) for group in groups]


def first_visits(factors: Sequence[Factor], seed: int) -> list[Levels]:
    """Return the first combinations of a search: a few more than its model has main effects."""
    every_combination(factors)  # raises InputError where they are too many
    return _optimal(factors, seed, 4 + sum(len(factor["levels"]) - 1 for factor in factors))


def ordered(factors: Sequence[Factor], rows: Sequence[Levels], seed: int) -> list[Levels]:
    """Return the combinations in the order of visits that informs most while the machine drifts.

    A drift hides an effect that changes sign once, but not one that changes it at each visit. The
    order maximizes the determinant of the information matrix under AR(1): it starts at random and
    exchanges two visits at a time.
    """
    matrix, pairs = model_matrix(factors, rows)
    apart = np.abs(np.subtract.outer(np.arange(len(rows)), np.arange(len(rows))))
    inverse = np.linalg.inv(DRIFT_SHARE * DRIFT_MEMORY**apart + np.eye(len(rows)))
    prior = np.full(matrix.shape[1], 1e-6)
    prior[matrix.shape[1] - len(pairs) :] = 1 / PAIR_PRIOR

    def information(order: Sequence[int]) -> float:
        visits = matrix[list(order)]
        return float(np.linalg.slogdet(visits.T @ inverse @ visits + np.diag(prior))[1])

    best = random.Random(f"{seed}/order").sample(range(len(rows)), len(rows))
    for first, second in itertools.combinations(range(len(rows)), 2):
        swapped = best.copy()
        swapped[first] = best[second]
        swapped[second] = best[first]
        if information(swapped) > information(best):
            best = swapped
    return [rows[index] for index in best]


def every_combination(factors: Sequence[Factor]) -> list[Levels]:
    """Return all combinations that a host can have; raise InputError where they are too many."""
    if np.prod([float(len(factor["levels"])) for factor in factors]) > MOST_CANDIDATES:
        raise InputError(
            f"more than {MOST_CANDIDATES} combinations cannot be searched",
            "design search",
            "Leave out factors or levels, or use design screen.",
        )
    return _candidates(factors, random.Random(0))


def _optimal(factors: Sequence[Factor], seed: int, most: int | None = None) -> list[Levels]:
    """Return a D-optimal choice of combinations, all off first."""
    draw = random.Random(f"{seed}/screen")
    candidates = _candidates(factors, draw)
    matrix, pairs = model_matrix(factors, candidates)
    prior = np.zeros(matrix.shape[1])
    prior[matrix.shape[1] - len(pairs) :] = 1 / PAIR_PRIOR
    prior[0] = 1e-6
    visits = min(len(candidates), most or max(16, 2 * (matrix.shape[1] - len(pairs))))
    first = candidates.index(all_off(factors))
    chosen = max(
        (_exchange(matrix, prior, visits, first, draw) for _start in range(STARTS)),
        key=lambda indices: _determinant(matrix[indices], prior),
    )
    rows = sorted(
        {tuple(candidates[index].items()) for index in chosen} - {tuple(candidates[first].items())}
    )
    return [candidates[first], *(dict(row) for row in rows)]


def _determinant(matrix: Any, prior: Any) -> float:
    return float(np.linalg.slogdet(matrix.T @ matrix + np.diag(prior + 1e-9))[1])


def _exchange(matrix: Any, prior: Any, visits: int, first: int, draw: random.Random) -> list[int]:
    """Return the indices of a locally best choice that contains ``first``.

    Replace one combination at a time by the candidate that adds most, until none adds.
    """
    others = [index for index in range(len(matrix)) if index != first]
    chosen = [first, *draw.sample(others, visits - 1)]
    best = _determinant(matrix[chosen], prior)
    improved = True
    while improved:
        improved = False
        for position in range(1, visits):
            rest = chosen[:position] + chosen[position + 1 :]
            inverse = np.linalg.inv(matrix[rest].T @ matrix[rest] + np.diag(prior + 1e-9))
            gain = np.einsum("ij,jk,ik->i", matrix, inverse, matrix)
            gain[rest] = -1.0  # each combination once
            candidate = int(np.argmax(gain))
            if candidate != chosen[position]:
                value = _determinant(matrix[[*rest, candidate]], prior)
                if value > best + 1e-9:
                    chosen[position] = candidate
                    best = value
                    improved = True
    return chosen
