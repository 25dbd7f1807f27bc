# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which differences of profiles show what: weights over the profiles of a plan, the control first.
Pure.

Every effect of a campaign, of a profile, of one factor or of two together, is a weighted sum of
logarithms in a block.
"""

from __future__ import annotations

import itertools
from typing import Any, Mapping, TypeAlias

from .._campaign.nouns import AS_FOUND, Plan
from .._campaign.screen import alias_groups, model_matrix
from .._statistics.libraries import np

Labels = list[dict[str, Any]]  # of a profile, a factor's level, or two factors
Effects: TypeAlias = "tuple[Labels, np.ndarray]"  # and their weights


def order_of(plan: Plan) -> list[str]:
    """Return the names of the plan's profiles, the control first."""
    return [plan["control"]] + [name for name in plan["profiles"] if name != plan["control"]]


def profile_effects(plan: Plan) -> tuple[list[str], np.ndarray]:
    """Return ``(names, weights)``: every other profile against the control."""
    count = len(plan["profiles"])
    return order_of(plan)[1:], np.hstack([-np.ones((count - 1, 1)), np.eye(count - 1)])


def squares(weights: np.ndarray, controls: float = 2) -> np.ndarray:
    """Return the variance of each effect, in units of one trial's variance. ``controls`` is the
    number of visits of the control in a block.
    """
    return (weights[:, 1:] ** 2).sum(axis=1) + weights[:, 0] ** 2 / controls


def _changed(plan: Plan, profile: str) -> list[str]:
    control = plan["profiles"][plan["control"]]["levels"]
    levels = plan["profiles"][profile]["levels"]
    return [factor for factor in control if control[factor] != levels.get(factor)]


def single_effects(plan: Plan) -> tuple[Labels, list[int], list[int]]:
    """Return ``(labels, indices, signs)`` of the profiles that differ from the control in one
    factor.

    A label is ``{"factor", "level", "base"}``, a place is the index of the profile in
    :func:`profile_effects`. With its sign, the effect compares the later level with the earlier
    one, in the order of the factor's levels. So "on" is judged whether it was added or left out.
    """
    levels = {factor["name"]: factor["levels"] for factor in plan["factors"]}
    labels: Labels = []
    indices: list[int] = []
    signs: list[int] = []
    for index, profile in enumerate(order_of(plan)[1:]):
        changed = [] if profile == AS_FOUND else _changed(plan, profile)
        if len(changed) == 1:
            factor = changed[0]
            pair = [plan["profiles"][name]["levels"][factor] for name in (plan["control"], profile)]
            signs.append(1 if levels[factor].index(pair[1]) > levels[factor].index(pair[0]) else -1)
            base, level = pair[:: signs[-1]]
            labels.append({"factor": factor, "level": level, "base": base})
            indices.append(index)
    return labels, indices, signs


def is_factorial(plan: Plan) -> bool:
    """Return whether the plan has every combination of all levels, as a full factorial has."""
    if plan["design"] != "full_factorial":
        return False
    names = [factor["name"] for factor in plan["factors"]]
    combinations: set[tuple[str | None, ...]] = set()
    for profile in plan["profiles"].values():
        combinations.add(tuple(profile["levels"].get(name) for name in names))
    return combinations == set(itertools.product(*(factor["levels"] for factor in plan["factors"])))


def screen_effects(plan: Plan) -> tuple[Effects, Effects]:
    """Return ``((labels, weights), (labels, weights))`` of a screen: main effects, and pairs, by
    least squares.

    A full factorial without the impossible combinations is a screen, too. Pairs that the screen
    cannot separate are one row: ``aliases`` has the others. If no pair can be estimated, main
    effects come from a model without pairs.
    """
    factors = plan["factors"]
    rows = [plan["profiles"][name]["levels"] for name in order_of(plan)]
    matrix, pairs = model_matrix(factors, rows)
    mains = matrix.shape[1] - len(pairs)
    groups = alias_groups(factors, rows)
    pair_columns = [mains + pairs.index(group[0]) for group in groups]
    solve = np.linalg.pinv(matrix[:, [*range(mains), *pair_columns]])
    labels: Labels = []
    weights: list[np.ndarray] = []
    column = 1
    for factor in factors:
        others = factor["levels"][1:]
        columns = solve[column : column + len(others)]
        column += len(others)
        for index, level in enumerate(others):
            labels.append({"factor": factor["name"], "level": level, "base": factor["levels"][0]})
            weights.append(
                2 * columns[0] if len(others) == 1 else columns[index] + columns.sum(axis=0)
            )
    pair_labels: Labels = []
    for group in groups:
        same = [list(pair) for pair in group]
        pair_labels.append({"factors": same[0], "aliases": same[1:]})
    return (labels, np.array(weights)), (
        pair_labels,
        4 * solve[mains:].reshape(len(pair_labels), len(rows)),
    )


def _mean_at(plan: Plan, required: Mapping[str, str]) -> np.ndarray:
    """Return the weights of the mean over all profiles that have these levels."""
    all_levels = [plan["profiles"][name]["levels"] for name in order_of(plan)]
    fits = np.array(
        [required.items() <= profile_levels.items() for profile_levels in all_levels], dtype=float
    )
    return fits / fits.sum()


def main_effects(plan: Plan) -> Effects:
    """Return ``(labels, weights)`` of a full factorial: each factor's other levels against its
    first.
    """
    labels = []
    weights = []
    for factor in plan["factors"]:
        name = factor["name"]
        base = factor["levels"][0]
        for level in factor["levels"][1:]:
            labels.append({"factor": name, "level": level, "base": base})
            weights.append(_mean_at(plan, {name: level}) - _mean_at(plan, {name: base}))
    return labels, np.array(weights)


def interactions(plan: Plan) -> Effects:
    """Return ``(labels, weights)`` of a full factorial, two factors each, at their first and last
    levels.

    The effect is a ratio of ratios: how many times larger the first factor's effect is with the
    second one on.
    """
    labels = []
    weights = []
    for first_factor, second_factor in itertools.combinations(plan["factors"], 2):
        corners = {}
        for first, second in itertools.product((0, -1), repeat=2):
            levels = {
                first_factor["name"]: first_factor["levels"][first],
                second_factor["name"]: second_factor["levels"][second],
            }
            corners[first, second] = _mean_at(plan, levels)
        labels.append({"factors": [first_factor["name"], second_factor["name"]]})
        weights.append(corners[-1, -1] - corners[0, -1] - corners[-1, 0] + corners[0, 0])
    return labels, np.array(weights).reshape(len(labels), len(plan["profiles"]))
