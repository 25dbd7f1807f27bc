# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of a search finds settings that act together, and its certainty is justified."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._search import model
from ansible_collections.offload.lab.plugins.plugin_utils._search.model import (
    MOST_FACTORS_WITH_TRIPLES,
    Terms,
    terms_of,
)


def switches(count):
    """Factors that are on or off."""
    return [{"name": f"f{number}", "levels": ["off", "on"]} for number in range(count)]


def test_a_gain_of_three_settings_together_is_found():
    factors = switches(6)
    generator = np.random.default_rng(3)
    names = [factor["name"] for factor in factors]
    every = [dict(zip(names, levels)) for levels in itertools.product(("off", "on"), repeat=6)]
    rows = [every[index] for index in generator.permutation(64)[:40]]
    terms = terms_of(factors, rows)
    together = np.array([{row["f0"], row["f2"], row["f5"]} == {"on"} for row in rows])
    values = 7 + 0.2 * together + 0.02 * generator.standard_normal(40)
    fit = model.fit(terms, values, np.full(40, 0.02**2), generator)
    predicted = fit.coefficients @ terms_of(factors, every).matrix.T
    best = every[int(predicted.mean(axis=0).argmax())]
    assert best["f0"] == best["f2"] == best["f5"] == "on"
    gain = predicted[:, every.index(best)] - predicted[:, 0]
    assert abs(gain.mean() - 0.2) < 0.03


def test_of_many_factors_no_three_are_in_one_term():
    for count in (MOST_FACTORS_WITH_TRIPLES, MOST_FACTORS_WITH_TRIPLES + 1):
        factors = switches(count)
        terms_found = terms_of(factors, [{factor["name"]: "on" for factor in factors}])
        pairs = count * (count - 1) // 2
        triples = pairs * (count - 2) // 3 if count <= MOST_FACTORS_WITH_TRIPLES else 0
        assert (terms_found.pairs, terms_found.triples) == (pairs, triples)
        assert terms_found.matrix.shape == (1, 1 + count + pairs + triples)


@pytest.mark.parametrize("times", [1, 2])  # with many visits fewer chains are drawn
def test_the_model_finds_what_acts_together_under_drift_and_a_visit_far_off(times):
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=5)) * times)
    pairs = list(itertools.combinations(range(5), 2))
    rows = np.column_stack(
        [np.ones(len(signs)), signs, *(signs[:, first] * signs[:, two] for first, two in pairs)]
    )
    true = np.zeros(16)
    true[[0, 1, 3, 6 + pairs.index((0, 3))]] = 7.0, 0.1, -0.05, 0.08
    generator = np.random.default_rng(4)
    order = generator.permutation(len(rows))
    values = (
        rows[order] @ true
        + 0.01 * generator.standard_normal(len(rows))
        + 0.02 * np.arange(len(rows))
    )
    values[5] -= 0.5
    fit = model.fit(
        Terms(rows[order], 10, 0), values, np.full(len(rows), 0.01**2), generator
    ).coefficients
    assert np.abs(fit.mean(axis=0)[1:] - true[1:]).max() < 0.02
    assert fit.std(axis=0)[1:].max() < 0.02


def test_a_line_that_is_full_leaves_the_model_a_scatter():
    """All visits alike to the last digit: nothing to divide by, and nothing to be infinitely sure
    of.
    """
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    rows = np.column_stack([np.ones(8), signs])
    fit = model.fit(
        Terms(rows, 0, 0), np.full(8, 9.15), np.zeros(8), np.random.default_rng(5)
    ).coefficients
    assert np.isfinite(fit).all()
    assert np.abs(fit.mean(axis=0) - [9.15, 0, 0, 0]).max() < 0.01


def of_a_size(generator, sizes, odds, count):
    """Draw coefficients as the model expects them."""
    return generator.choice(sizes, count, p=odds) * generator.standard_normal(count)


@pytest.mark.nightly
def test_of_truths_that_it_expects_four_of_five_intervals_of_80_percent_hold_them():
    """Main effects, pairs, a drift or none, visits far off: all are drawn as the model says that
    they are.
    """
    generator = np.random.default_rng(7)
    held = []
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=4)))
    rows = np.column_stack(
        [
            np.ones(16),
            signs,
            *(
                signs[:, first] * signs[:, two]
                for first, two in itertools.combinations(range(4), 2)
            ),
        ]
    )
    noises, odds = model._noises(12)
    for _truth in range(50):
        rows_seen = rows[generator.permutation(16)[:12]]
        main = of_a_size(generator, model.MAIN_SIZES, model.MAIN_ODDS, 4)
        pairs = of_a_size(generator, model.PAIR_SIZES, model.PAIR_ODDS, 6)
        kind = noises[generator.choice(len(noises), p=np.exp(odds))]
        noise = generator.multivariate_normal(np.zeros(12), kind + 0.02**2 * np.eye(12))
        far_off = of_a_size(generator, model.FAR_OFF_SIZES, model.FAR_OFF_ODDS, 12)
        values = rows_seen @ np.concatenate([[7.0], main, pairs]) + noise + far_off
        coefficients = model.fit(
            Terms(rows_seen, 6, 0), values, np.full(12, 0.02**2), generator
        ).coefficients[:, 1:5]
        low, high = np.quantile(coefficients, (0.1, 0.9), axis=0)
        held += ((low <= main) & (main <= high)).tolist()
    assert 0.73 <= np.mean(held) <= 0.87  # 200 of them: the standard error is 2.8 points
