# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Screening: which few of all combinations show the main effects, and most of the pairs. Pure.

With two levels a factor and nothing that excludes a combination it is a fractional factorial of
resolution IV (no main effect is confused with a pair; Box and Hunter 1961). Otherwise the
combinations are chosen among those that a host can be in, so that the determinant of the
information matrix is largest: D-optimal with a prior on the pairs (DuMouchel and Jones 1994), by
exchange (Fedorov 1972).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._base.errors import InputError
from .._statistics.libraries import doe, np
from .nouns import Factor, Levels

RESOLUTION = 4
# A fraction of resolution IV has at most 32 combinations then; pyDOE3 1.6 has none for 16.
MOST_FACTORS = 15
MOST_CANDIDATES = 4096
STARTS = 4  # an exchange ends in a local maximum: the best of several starts is taken
# correlation of a visit with the next, variance in that of a visit's own noise
DRIFT_MEMORY = 0.8
DRIFT_SHARE = 3.0
# The prior variance of a pair's coefficient, as a multiple of what one visit shows.
PAIR_PRIOR = 0.25


def screen(factors: Sequence[Factor], seed: int) -> list[Levels]:
    """Return the combinations of a screen, all off first; ``factors`` are those of a campaign.

    Raises InputError.
    """
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
        signs = signs * -signs[0]  # the same fraction, turned so that all off is in it
    rows = sorted((signs > 0).astype(int).tolist(), key=lambda row: (sum(row), row))
    return [_levels_at(factors, row) for row in rows]


def _levels_at(factors: Sequence[Factor], places: Sequence[int]) -> Levels:
    return {factor["name"]: factor["levels"][place] for factor, place in zip(factors, places)}


def _excludes(factor: Factor, other: Factor) -> bool:
    """Return whether a factor needs the feature that another one varies at the same end."""
    return (
        other["kind"] == "feature"
        and _meet(factor["needs"], other["settings"])
        and _meet(factor["sides"], other["sides"])
        and _meet(factor["devices"], other["devices"])
    )


def _meet(some: Iterable[str], others: Iterable[str]) -> bool:
    return not set(some).isdisjoint(others)


def _excluding(factors: Sequence[Factor]) -> list[tuple[str, str]]:
    """Return ``(factor, needed factor)`` where one factor needs the feature that another one varies
    at the same end.
    """
    return [
        (factor["name"], other["name"])
        for factor, other in itertools.permutations(factors, 2)
        if _excludes(factor, other)
    ]


def reachable(factors: Sequence[Factor], levels: Mapping[str, str]) -> bool:
    """Return whether a host can be in this combination: what a factor needs is on where the factor
    is.
    """
    off = {factor["name"]: factor["levels"][0] for factor in factors}
    return all(
        levels[name] == off[name] or levels[need] != off[need] for name, need in _excluding(factors)
    )


def within_reach(factors: Sequence[Factor], levels: Mapping[str, str]) -> Levels:
    """Return the combination that a host is in when it is asked for this one: off is what needs
    something that is off.
    """
    off = {factor["name"]: factor["levels"][0] for factor in factors}
    found = dict(levels)
    while not reachable(factors, found):
        found.update(
            {name: off[name] for name, need in _excluding(factors) if found[need] == off[need]}
        )
    return found


def with_needs(factors: Sequence[Factor], levels: Mapping[str, str]) -> Levels:
    """Return the combination with what its factors need switched on, too."""
    on = {factor["name"]: factor["levels"][-1] for factor in factors}
    off = {factor["name"]: factor["levels"][0] for factor in factors}
    found = dict(levels)
    while not reachable(factors, found):
        for name, need in _excluding(factors):
            if found[name] != off[name] and found[need] == off[need]:
                found[need] = on[need]
    return found


def _candidates(factors: Sequence[Factor], draw: random.Random) -> list[Levels]:
    """Return all combinations that can be reached, or that many random ones where they are too
    many.
    """
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
    return np.array([float(own == level) for own in chosen])


def model_matrix(factors: Sequence[Factor], rows: Sequence[Mapping[str, str]]) -> Any:
    """Return ``(matrix, pairs)``: a column of ones, one each level but the first, one each pair of
    factors.

    A pair's column is the product of both factors at their last levels against their first,
    centred.
    """
    columns = [np.ones(len(rows))]
    ends = {}
    for factor in factors:
        chosen = [row[factor["name"]] for row in rows]
        at = [_is_at(level, chosen) for level in factor["levels"]]
        columns += [2 * column - 1 if len(at) == 2 else column - at[0] for column in at[1:]]
        ends[factor["name"]] = at[-1] - at[0]
    pairs = list(itertools.combinations(ends, 2))
    columns += [ends[one] * ends[two] for one, two in pairs]
    return np.column_stack(columns), pairs


def _join(groups: list[list[int]], place: int, products: Any) -> None:
    """Put a column into the group of those that are equal to it but for the sign."""
    for group in groups:
        first = group[0]
        if abs(products[first, place]) == products[place, place] == products[first, first]:
            group.append(place)
            return
    groups.append([place])


def alias_groups(
    factors: Sequence[Factor], rows: Sequence[Mapping[str, str]]
) -> list[list[tuple[str, str]]]:
    """Return the pairs of factors in groups whose effects this screen cannot separate.

    An empty list where it has too few combinations to separate any pair. Two factors of which one
    needs the other are in no group: how one acts without the other was not measured.
    """
    matrix, pairs = model_matrix(factors, rows)
    mains, columns = np.split(matrix, [matrix.shape[1] - len(pairs)], axis=1)
    groups: list[list[int]] = []
    products = columns.T @ columns
    ends = {factor["name"]: (factor["levels"][0], factor["levels"][-1]) for factor in factors}
    for place, (one, two) in enumerate(pairs):
        visited = {(row[one], row[two]) for row in rows}
        if visited.issuperset(itertools.product(ends[one], ends[two])):
            _join(groups, place, products)
    model = np.hstack([mains, columns[:, [group[0] for group in groups]]])
    if model.shape[1] > len(rows) or np.linalg.matrix_rank(model) < model.shape[1]:
        return []
    return [list(map(pairs.__getitem__, group)) for group in groups]


def first_visits(factors: Sequence[Factor], seed: int) -> list[Levels]:
    """Return the combinations that a search visits first: few more than its model has main effects."""
    every_combination(factors)  # refuses what is too large
    return _optimal(factors, seed, 4 + sum(len(factor["levels"]) - 1 for factor in factors))


def ordered(factors: Sequence[Factor], rows: Sequence[Levels], seed: int) -> list[Levels]:
    """Return the combinations in an order of visits that tells most while the machine drifts.

    Effects that change sign from visit to visit are seen through a drift, those that change once
    are not. It is the order with the largest determinant of the information matrix under AR(1),
    from a random one, by exchange of two.
    """
    matrix, pairs = model_matrix(factors, rows)
    apart = np.abs(np.subtract.outer(np.arange(len(rows)), np.arange(len(rows))))
    inverse = np.linalg.inv(DRIFT_SHARE * DRIFT_MEMORY**apart + np.eye(len(rows)))
    prior = np.full(matrix.shape[1], 1e-6)
    prior[matrix.shape[1] - len(pairs) :] = 1 / PAIR_PRIOR

    def told(order: Sequence[int]) -> float:
        own = matrix[list(order)]
        return float(np.linalg.slogdet(own.T @ inverse @ own + np.diag(prior))[1])

    best = random.Random(f"{seed}/order").sample(range(len(rows)), len(rows))
    for one, other in itertools.combinations(range(len(rows)), 2):
        swapped = best.copy()
        swapped[one] = best[other]
        swapped[other] = best[one]
        if told(swapped) > told(best):
            best = swapped
    return [rows[place] for place in best]


def every_combination(factors: Sequence[Factor]) -> list[Levels]:
    """Return all combinations that a host can be in.

    Raises InputError where they are too many for a search.
    """
    if np.prod([float(len(factor["levels"])) for factor in factors]) > MOST_CANDIDATES:
        raise InputError(
            f"more than {MOST_CANDIDATES} combinations cannot be searched",
            "design search",
            "Leave out factors or levels, or use design screen.",
        )
    return _candidates(factors, random.Random(0))


def _optimal(factors: Sequence[Factor], seed: int, most: int | None = None) -> list[Levels]:
    draw = random.Random(f"{seed}/screen")
    candidates = _candidates(factors, draw)
    matrix, pairs = model_matrix(factors, candidates)
    prior = np.zeros(matrix.shape[1])
    prior[matrix.shape[1] - len(pairs) :] = 1 / PAIR_PRIOR
    prior[0] = 1e-6
    visits = min(len(candidates), most or max(16, 2 * (matrix.shape[1] - len(pairs))))
    first = candidates.index({factor["name"]: factor["levels"][0] for factor in factors})
    chosen = max(
        (_exchange(matrix, prior, visits, first, draw) for _start in range(STARTS)),
        key=lambda places: _determinant(matrix[places], prior),
    )
    rows = sorted(
        {tuple(candidates[place].items()) for place in chosen} - {tuple(candidates[first].items())}
    )
    return [candidates[first], *(dict(row) for row in rows)]


def _determinant(matrix: Any, prior: Any) -> float:
    return float(np.linalg.slogdet(matrix.T @ matrix + np.diag(prior + 1e-9))[1])


def _exchange(matrix: Any, prior: Any, visits: int, first: int, draw: random.Random) -> list[int]:
    """Exchange one combination at a time for the candidate that adds most, until none adds; the
    first one stays.
    """
    places = [
        first,
        *draw.sample([place for place in range(len(matrix)) if place != first], visits - 1),
    ]
    best = _determinant(matrix[places], prior)
    improved = True
    while improved:
        improved = False
        for position in range(1, visits):
            rest = places[:position] + places[position + 1 :]
            inverse = np.linalg.inv(matrix[rest].T @ matrix[rest] + np.diag(prior + 1e-9))
            gain = np.einsum("ij,jk,ik->i", matrix, inverse, matrix)
            gain[rest] = -1.0  # each combination once
            place = int(np.argmax(gain))
            if place != places[position]:
                value = _determinant(matrix[[*rest, place]], prior)
                if value > best + 1e-9:
                    places[position] = place
                    best = value
                    improved = True
    return places
