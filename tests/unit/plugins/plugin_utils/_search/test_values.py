# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From trials to a visit's value and its variance, and how many trials are enough."""

from __future__ import annotations

import numpy as np

from ansible_collections.offload.lab.plugins.plugin_utils._search.decide import (
    trials_for,
    visit_values,
)


def test_a_jump_between_two_modes_is_taken_out():
    generator = np.random.default_rng(1)
    upper = generator.random((20, 4)) < 0.5
    trials = 3.0 + 0.2 * upper + 0.01 * generator.standard_normal((20, 4))
    values, variance = visit_values(trials, [str(number) for number in range(20)])
    mixed = ~(upper.all(axis=1) | ~upper.any(axis=1))
    assert np.abs(values[mixed] - 3.1).max() < 0.03
    assert variance[~mixed].min() > 10 * variance[mixed].max(), (
        "which mode a visit was in is not known"
    )


def test_one_mode_is_left_alone():
    trials = np.random.default_rng(2).normal(3.0, 0.05, (20, 4))
    values, _variance = visit_values(trials, [str(number) for number in range(20)])
    assert np.allclose(values, trials.mean(axis=1))


def test_who_scatters_more_counts_less_and_chance_counts_little():
    generator = np.random.default_rng(3)
    size = np.where(np.arange(20) % 2, 4.0, 0.5)
    names = [str(number) for number in range(20)]
    _values, variance = visit_values(generator.standard_normal((20, 4)) * size[:, None], names)
    assert np.median(variance[1::2]) > 10 * np.median(variance[::2])
    _values, variance = visit_values(generator.standard_normal((20, 4)), names)
    assert variance.max() < 4 * variance.min()


def test_one_trial_a_visit_is_enough():
    values, variance = visit_values([[1.0], [2.0]], ["one", "other"])
    assert (values.tolist(), variance.tolist()) == ([1.0, 2.0], [0.0, 0.0])


def test_loud_trials_are_repeated_up_to_four_times_as_often():
    generator = np.random.default_rng(6)
    assert trials_for(generator.normal(3.0, 0.005, (12, 8)).tolist(), 0.02, 8) == 8
    assert (
        11 <= trials_for(generator.normal(3.0, 0.07, (12, 8)).tolist(), 0.02, 8) <= 14
    )  # 0.07² / 0.02² = 12.25
    assert trials_for(generator.normal(3.0, 0.5, (12, 8)).tolist(), 0.02, 8) == 32
    assert trials_for([[1.0], [2.0]], 0.02, 1) == 1
    assert trials_for([], 0.02, 8) == 8
