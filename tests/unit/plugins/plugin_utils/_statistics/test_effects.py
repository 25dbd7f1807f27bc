# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.plugin_utils._statistics import effects as statistics
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.joint import (
    joint_p,
    table_scale,
)
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.power import (
    detectable_factor,
    expected_detectable,
)
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.signflip import (
    DRAWS,
    sign_flip,
)
from ansible_collections.offload.lab.tests.instruments.simulation import parts

NAN = float("nan")


def brute_force(row):
    """The sign-flip test in its plainest form."""
    patterns = list(itertools.product((1, -1), repeat=len(row)))
    limit = abs(sum(row)) * (1 - 1e-12)
    return sum(
        abs(sum(sign * value for sign, value in zip(signs, row))) >= limit for signs in patterns
    ) / len(patterns)


@settings(deadline=None)
@given(st.lists(st.floats(-10, 10).map(lambda value: round(value, 3)), min_size=1, max_size=8))
def test_the_sign_flip_test_is_the_brute_force_one(row):
    assert sign_flip([row])[0] == pytest.approx(brute_force(row))


def test_the_smallest_p_value_of_n_blocks():
    for blocks in (6, 8, 12):
        assert sign_flip([np.arange(1.0, blocks + 1)])[0] == 2.0 / 2**blocks


def test_nothing_differs():
    assert sign_flip([[0.0] * 6])[0] == 1.0
    assert sign_flip(np.zeros((1, 0)))[0] == 1.0


def test_many_blocks_are_drawn_with_a_fixed_seed():
    row = np.linspace(-0.5, 1.5, 20)
    assert sign_flip([row]) == sign_flip([row])
    assert sign_flip([np.arange(1.0, 21.0)])[0] == pytest.approx(1 / (DRAWS + 1))


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # by hand, Holm (1979)
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.01, NAN, 0.02], [0.02, NAN, 0.02]),
        ([NAN], [NAN]),
        ([0.04], [0.04]),
    ],
)
def test_holm(p, expected):
    assert statistics.holm(p) == pytest.approx(np.array(expected), nan_ok=True)


def test_the_interval_of_t_by_hand():
    # Mean 3.5, standard deviation sqrt(3.5), t(0.975, 5) = 2.570582
    n, mean, low, high = statistics.t_interval(
        np.array([[1.0, 2, 3, 4, 5, 6], [1, 2, NAN, NAN, NAN, NAN]])
    )
    half = 2.570582 * math.sqrt(3.5 / 6)
    assert (n[0], mean[0], low[0], high[0]) == (
        6,
        3.5,
        pytest.approx(3.5 - half),
        pytest.approx(3.5 + half),
    )
    assert n[1] == 2 and mean[1] == 1.5 and np.isnan([low[1], high[1]]).all()


def test_the_interval_of_six_blocks_by_hand():
    # Of 32 choices of signs 1.6 may be as large: between the lowest mean of a part, the mean of 1
    # alone,
    # and the next, the mean of 1 and 2.
    blocks = np.array([[1.0, 2, 3, 4, 5, 6, NAN]])
    n, mean, low, high = statistics.intervals(blocks)
    assert (n[0], mean[0]) == (6, 3.5)
    assert (low[0], high[0]) == (pytest.approx(1.0 + 0.6 * 0.5), pytest.approx(6.0 - 0.6 * 0.5))


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(6, 9))
def test_the_interval_holds_what_the_test_does_not_refuse(seed, blocks):
    row = np.random.default_rng(seed).standard_normal(blocks) + 0.5
    _n, _mean, low, high = statistics.intervals(row[None])
    inside = np.linspace(low[0], high[0], 9)[1:-1]
    assert all(brute_force(row - mean) > 0.05 for mean in inside)
    # Beyond the next choice of signs the test refuses
    step = (high[0] - low[0]) / 2
    assert brute_force(row - (low[0] - step)) <= 0.05
    assert brute_force(row - (high[0] + step)) <= 0.05


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(6, 9))
def test_where_blocks_do_not_count_alike_the_interval_still_holds_what_the_test_does_not_refuse(
    seed, blocks
):
    generator = np.random.default_rng(seed)
    row = generator.standard_normal(blocks) + 0.5
    weights = generator.uniform(0.2, 2.0, blocks)
    _n, mean, low, high = statistics.intervals(row[None], weights)
    assert mean[0] == pytest.approx((row * weights).sum() / weights.sum())
    inside = np.linspace(low[0], high[0], 9)[1:-1]
    assert all(brute_force(weights * (row - bound)) > 0.05 for bound in inside)
    # A limit lies between two choices of signs; the test refuses one of them.
    most = 0.05 + 1 / 2 ** (blocks - 1)
    beyond = low[0] - 1e-9, high[0] + 1e-9
    assert all(brute_force(weights * (row - bound)) <= most for bound in beyond)
    assert statistics.p_values(row[None], weights)[0] == pytest.approx(brute_force(row * weights))


def test_a_missing_block_takes_its_weight_with_it():
    row = np.array([[1.0, 2.0, NAN, 3.0, 5.0, 4.0, 7.0]])
    weights = np.array([1.0, 2.0, 9.0, 1.0, 3.0, 1.0, 2.0])
    is_measured = ~np.isnan(row[0])
    all_blocks = statistics.effects(row, weights)
    without_block = statistics.effects(row[:, is_measured], weights[is_measured])
    assert all(all_blocks[key] == pytest.approx(without_block[key]) for key in all_blocks)


def test_the_error_of_a_mean_by_hand():
    # Weights 1, 1, 2: mean (1 + 3 + 2 * 5) / 4 = 3.5; parts of the sum are -2.5, -0.5 and 2 * 1.5 off
    mean_and_error = statistics.mean_and_error(np.array([1.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0]))
    squares = 2.5**2 + 0.5**2 + 3**2
    assert mean_and_error == (3, 3.5, pytest.approx(math.sqrt(squares * 3 / 2) / 4))
    alone = statistics.mean_and_error(np.array([NAN, 2.0]))
    assert alone[:2] == (1, 2.0) and np.isnan(alone[2])


@pytest.mark.parametrize("blocks", [13, 40, 149])
def test_of_many_blocks_the_limits_are_where_the_test_begins_to_refuse(blocks):
    row = np.random.default_rng(blocks).standard_normal(blocks)
    _n, _mean, low, high = statistics.intervals(row[None])
    at_limits = statistics.p_values(np.array([row - low[0], row - high[0]]))
    assert at_limits == pytest.approx(0.05, abs=0.015)


def test_of_few_blocks_the_interval_is_that_of_t():
    few = np.array([[1.0, 2.0, 4.0, NAN, NAN, NAN], [1.0, 2.0, NAN, NAN, NAN, NAN]])
    assert np.array_equal(statistics.intervals(few), statistics.t_interval(few), equal_nan=True)


@pytest.mark.parametrize("noise", ["plain", "interference", "long tail", "level shift"])
def test_intervals_cover_where_something_else_takes_the_machine(noise):
    """Intervals of Student's t hold 97 to 98 % there: they are too wide, and show less."""
    by_t, _width, by_signs, _narrower = parts.covers(noise, 9, 250, seed=3)
    assert 0.93 <= by_signs <= 0.97
    assert by_signs <= by_t or noise == "plain"


def test_nothing_was_measured():
    effects_found = statistics.effects(np.full((2, 3, 8), NAN))
    assert (
        (effects_found["n"] == 0).all()
        and np.isnan(effects_found["mean"]).all()
        and np.isnan(effects_found["p"]).all()
    )


def test_what_is_not_positive_has_no_logarithm():
    assert statistics.logs([1.0, 0.0, -1.0, NAN]) == pytest.approx(
        np.array([0.0, NAN, NAN, NAN]), nan_ok=True
    )


def test_a_missing_second_visit_leaves_the_first():
    mean = statistics.mean_of_visits(np.array([1.0, NAN, 3.0, NAN]), np.array([2.0, 2.0, NAN, NAN]))
    assert mean == pytest.approx(np.array([1.5, 2.0, 3.0, NAN]), nan_ok=True)


def test_a_block_without_a_row_lacks_only_the_effects_of_that_row():
    data = np.array([[1.0, 1.0], [2.0, NAN], [4.0, 5.0]])
    weights = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    assert statistics.contrast(data, weights) == pytest.approx(
        np.array([[1.0, NAN], [3.0, 4.0]]), nan_ok=True
    )


def sums_by_hand(differences, scale):
    """The sizes of effects under all patterns of signs, the observed one first."""
    n = (~np.isnan(differences)).sum(axis=1)
    scale = np.maximum(scale, np.sqrt(np.nanmean(differences**2, axis=1)) / 3)
    scaled = np.nan_to_num(differences) / (scale * np.sqrt(n))[:, None]
    return np.abs(
        scaled @ np.array(list(itertools.product((1, -1), repeat=differences.shape[1]))).T
    )


def share(sizes):
    return (sizes >= sizes[0] * (1 - 1e-12)).mean()


def step_down_by_hand(sums):
    remaining = list(range(len(sums)))
    p_values = np.ones(len(sums))
    last = 0.0
    while remaining:
        top = max(remaining, key=lambda effect: sums[effect, 0])
        last = max(last, share(np.append(sums[top, 0], sums[remaining].max(axis=0)[1:])))
        p_values[top] = last
        remaining.remove(top)
    return p_values


def closed_by_hand(sums):
    sets = [
        chosen
        for size in range(1, len(sums) + 1)
        for chosen in itertools.combinations(range(len(sums)), size)
    ]
    return [
        max(share((sums[list(chosen)] ** 4).sum(axis=0)) for chosen in sets if effect in chosen)
        for effect in range(len(sums))
    ]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([(5, closed_by_hand), (14, step_down_by_hand)]))
def test_the_joint_test_is_the_one_by_hand(seed, test):
    effects, by_hand = test
    generator = np.random.default_rng(seed)
    differences = (
        generator.standard_normal((effects, 7)) + generator.integers(0, 2, (effects, 1)) * 1.5
    )
    differences[0, 3] = NAN
    scale = generator.uniform(0.5, 2, effects)
    assert joint_p(differences, scale) == pytest.approx(by_hand(sums_by_hand(differences, scale)))


def test_where_noise_is_skewed_its_own_sign_must_show_more_and_the_other_no_less():
    generator = np.random.default_rng(9)
    rows = 1 - generator.exponential(size=(40, 9)) + np.repeat([-0.8, 0.8], 20)[:, None]
    plain = joint_p(rows, np.ones(40))
    skewed = joint_p(rows, np.ones(40), np.zeros(40, int))
    assert (skewed >= plain).all() and (skewed[:20] > plain[:20]).any()
    zero = joint_p(np.vstack([rows, np.zeros(9)]), np.ones(41), np.zeros(41, int))
    assert zero[-1] == 1 and np.isfinite(zero).all()
    even = np.concatenate([rows, -rows])
    assert (joint_p(even, np.ones(80), np.zeros(80, int)) == joint_p(even, np.ones(80))).all()


def test_skewed_noise_is_rarely_taken_for_an_effect():
    """Trials that are slowed now and then, all against one control: 6 % of campaigns if that is not
    seen.
    """
    generator = np.random.default_rng(8)
    trials = -generator.exponential(size=(300, 50, 9))
    rows = trials[:, 2:] - trials[:, :2].mean(axis=1, keepdims=True)
    false = np.mean(
        [joint_p(campaign, np.ones(48), np.zeros(48, int)).min() <= 0.05 for campaign in rows]
    )
    assert false <= 0.03


def test_the_joint_test_leaves_out_what_has_too_few_blocks():
    rows = np.vstack([np.full(8, 0.1), np.r_[np.full(5, 0.1), [NAN] * 3], np.zeros(8)])
    p = joint_p(rows, np.ones(3))
    assert p[0] == 2 / 2**8 and np.isnan(p[1]) and p[2] == 1.0


def test_a_quiet_table_keeps_its_own_scale():
    generator = np.random.default_rng(3)
    loud = generator.normal(0, 0.2, (6, 8))
    quiet = generator.normal(0, 0.01, (6, 8))
    quiet[0] += 0.05
    both = np.stack([loud, quiet])
    scale = table_scale(both, generator.normal(0, [[[0.2]], [[0.01]]], (2, 1, 8)))
    assert 0.1 < scale[0] < 0.3 and 0.005 < scale[1] < 0.02
    p = joint_p(both.reshape(12, 8), np.repeat(scale, 6))
    assert p[6] == 2 / 2**8 and (p[:6] > 0.05).all()


@pytest.mark.parametrize("others", [3, 20])
def test_an_odd_trial_in_a_table_that_hardly_scatters_hides_nothing(others):
    """A line that is full scatters by 0.01 %: one trial 5 % low is 500 times that, under all signs."""
    generator = np.random.default_rng(4)
    loud = generator.normal(0, 0.03, (others, 8))
    quiet = generator.normal(0, 1e-4, (others, 8))
    loud[0] += 0.26
    quiet[1, 5] -= 0.05
    p = joint_p(np.concatenate([loud, quiet]), np.repeat([0.03, 1e-4], others))
    assert p[0] <= 0.05 and (p[1:] > 0.05).all()


def test_seven_blocks_are_grouped_apart_from_eight():
    rows = np.vstack([np.full(8, 0.1), np.r_[np.full(7, 0.1), NAN]])
    assert statistics.p_values(rows).tolist() == [2 / 2**8, 2 / 2**7]


def test_pooled_noise_is_what_was_put_in():
    generator = np.random.default_rng(5)
    data = generator.normal(0, 0.05, (200, 7, 8)) + generator.normal(0, 0.3, (200, 1, 8))
    data += np.linspace(0, 1, 7)[:, None]
    assert statistics.pooled_sd(data).mean() == pytest.approx(0.05, rel=0.03)
    data[:, 2, 3] = NAN
    assert statistics.pooled_sd(data).mean() == pytest.approx(0.05, rel=0.03)
    assert np.isnan(statistics.pooled_sd(np.full((3, 2), NAN)))


def test_drift_is_what_was_put_in():
    generator = np.random.default_rng(6)
    data = generator.normal(0, 0.001, (1, 3, 8)) - 0.02 * np.arange(8)
    slope, p = statistics.drift(data)
    assert slope[0] == pytest.approx(-0.02, abs=0.001) and p[0] < 1e-6
    data[0, :, 2] = NAN
    assert statistics.drift(data)[0][0] == pytest.approx(-0.02, abs=0.001)
    assert np.isnan(statistics.drift(data[:, :, :5])[0]).all()


def test_below_six_blocks_no_effect_can_be_shown():
    assert detectable_factor(5, 1) is None and expected_detectable(5, 1, 0.05) is None


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "effects"), [(6, 1), (6, 20), (8, 1), (8, 6), (10, 6)])
def test_an_effect_of_the_smallest_size_is_found_in_four_of_five(blocks, effects):
    generator = np.random.default_rng(7)
    rows = generator.standard_normal((600, effects, blocks))
    rows[:, 0] += detectable_factor(blocks, effects)
    share = np.mean([joint_p(campaign, np.ones(effects))[0] <= 0.05 for campaign in rows])
    assert 0.74 < share < 0.86


def test_more_blocks_show_less():
    sizes = [expected_detectable(blocks, 6, 0.05) for blocks in (8, 10, 12, 14, 20, 40)]
    assert sizes == sorted(sizes, reverse=True)
