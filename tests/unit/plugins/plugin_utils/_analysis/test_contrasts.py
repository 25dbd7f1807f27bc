# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effects of a screen: from values without noise they are the truth."""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._analysis.contrasts import (
    order_of,
    screen_effects,
    squares,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.screen import screen
from ansible_collections.offload.lab.tests.unit.builders import feature

MAIN = {"a": 0.2, "b": -0.1, "c": 0.05, "d": 0.0, "e": 0.3}


def plan_of(factors):
    rows = screen(factors, 1)
    return {
        "design": "screen",
        "factors": factors,
        "control": "p0",
        "profiles": {f"p{number}": {"levels": levels} for number, levels in enumerate(rows)},
    }


def values_of(plan, pairs):
    """Return the log value of each profile: the sum of main effects, and of pairs that are both on."""
    values = []
    for name in order_of(plan):
        levels = plan["profiles"][name]["levels"]
        on = {factor for factor, level in levels.items() if level == "on"}
        values.append(
            sum(MAIN.get(factor, 0) for factor in on)
            + sum(size for pair, size in pairs.items() if set(pair) <= on)
        )
    return np.array(values)


def test_main_effects_and_pairs_of_a_fraction():
    plan = plan_of([feature(name) for name in "abcde"])
    pairs = {("a", "b"): 0.4}
    (labels, weights), (pair_labels, pair_weights) = screen_effects(plan)
    mains = dict(zip((label["factor"] for label in labels), weights @ values_of(plan, pairs)))
    # A main effect is the mean over the other factors' levels: half of the pair's is in each of its
    # two.
    assert mains == pytest.approx({**MAIN, "a": 0.4, "b": 0.1})
    together = {
        tuple(label["factors"]): effect
        for label, effect in zip(pair_labels, pair_weights @ values_of(plan, pairs))
    }
    assert together[("a", "b")] == pytest.approx(0.4)
    assert sum(abs(effect) for effect in together.values()) == pytest.approx(0.4)


def test_pairs_that_cannot_be_told_apart_are_one_row():
    plan = plan_of([feature(name) for name in "abcdefgh"])
    _mains, (pair_labels, weights) = screen_effects(plan)
    assert len(pair_labels) == len(weights) == 7
    assert sorted(
        tuple(pair) for row in pair_labels for pair in [row["factors"], *row["aliases"]]
    ) == sorted(
        (first, two) for index, first in enumerate("abcdefgh") for two in "abcdefgh"[index + 1 :]
    )


def test_main_effects_where_some_combinations_cannot_be():
    plan = plan_of([feature("a"), feature("b", needs=["a"]), *map(feature, "cde")])
    (labels, weights), _pairs = screen_effects(plan)
    mains = dict(zip((label["factor"] for label in labels), weights @ values_of(plan, {})))
    assert mains == pytest.approx(MAIN)


def test_factors_of_three_levels():
    factors = [feature("rings", levels=("256", "1024", "4096")), *map(feature, "abcd")]
    plan = plan_of(factors)
    sizes = {"256": 0.0, "1024": 0.1, "4096": -0.2}
    values = values_of(plan, {}) + [
        sizes[plan["profiles"][name]["levels"]["rings"]] for name in order_of(plan)
    ]
    (labels, weights), _pairs = screen_effects(plan)
    mains = {
        (label["factor"], label["level"]): effect for label, effect in zip(labels, weights @ values)
    }
    assert mains == pytest.approx(
        {
            ("rings", "1024"): 0.1,
            ("rings", "4096"): -0.2,
            **{(name, "on"): MAIN[name] for name in "abcd"},
        }
    )


def test_the_variance_of_an_effect_counts_the_control_twice():
    rows = squares(np.array([[-1.0, 1, 0, 0], [-0.5, -0.5, 0.5, 0.5]]))
    assert rows.tolist() == [1.5, 0.875] and squares(np.array([[-1.0, 1]]), 1).tolist() == [2.0]
