# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Screens: few visits, no main effect confused with another or with a pair, and only what a host
can be in.
"""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.screen import (
    first_visits,
    model_matrix,
    ordered,
    reachable,
    screen,
)
from ansible_collections.offload.lab.tests.unit.builders import feature


def mains_of(factors, rows):
    matrix, pairs = model_matrix(factors, rows)
    return matrix[:, : matrix.shape[1] - len(pairs)], matrix[:, matrix.shape[1] - len(pairs) :]


@pytest.mark.parametrize(
    ("count", "visits"), [(2, 4), (3, 8), (4, 8), (5, 16), (8, 16), (9, 32), (15, 32)]
)
def test_a_fraction_of_resolution_four(count, visits):
    factors = [feature(f"f{number}") for number in range(count)]
    rows = screen(factors, 1)
    assert len(rows) == visits and len({tuple(row.items()) for row in rows}) == visits
    assert set(rows[0].values()) == {"off"}
    mains, pairs = mains_of(factors, rows)
    assert np.array_equal(mains.T @ mains, visits * np.eye(count + 1))
    assert not (mains.T @ pairs).any()


def test_what_a_factor_needs_is_on_where_the_factor_is():
    factors = [
        feature("tx"),
        feature("tso", needs=["tx"]),
        feature("gso"),
        feature("gro"),
        feature("rx"),
    ]
    rows = screen(factors, 1)
    assert all(reachable(factors, row) for row in rows)
    assert not reachable(factors, {**rows[0], "tso": "on"})
    mains, _pairs = mains_of(factors, rows)
    assert np.linalg.matrix_rank(mains) == 6
    assert set(rows[0].values()) == {"off"} and len(rows) == len(
        {tuple(row.items()) for row in rows}
    )


def test_factors_of_several_levels():
    factors = [
        feature("channels", ("1", "2", "4")),
        feature("rings", ("256", "1024", "4096")),
        *map(feature, "abcd"),
    ]
    rows = screen(factors, 1)
    mains, _pairs = mains_of(factors, rows)
    assert np.linalg.matrix_rank(mains) == mains.shape[1] and len(rows) < 36
    # each main effect has at least half the information of a balanced design
    information = 1 / np.diag(np.linalg.inv(mains.T @ mains))
    assert information.min() > len(rows) / 4


def test_the_same_seed_gives_the_same_screen():
    factors = [feature("tx"), feature("tso", needs=["tx"]), *map(feature, "abcde")]
    assert screen(factors, 7) == screen(factors, 7)


def told_in_a_drift(factors, rows):
    """Return the information on main effects, as a logarithm, where each visit goes on from the one
    before.
    """
    mains, _pairs = mains_of(factors, rows)
    steps = np.tril(np.ones((len(rows), len(rows))))
    noise = (
        0.1 * np.eye(len(rows)) + steps @ steps.T
    )  # a random walk: not the drift that the order was made for
    return np.linalg.slogdet(mains.T @ np.linalg.solve(noise, mains))[1]


def test_the_order_of_a_search_shows_more_in_a_drift_than_nearly_all_random_ones():
    factors = [feature("tx"), feature("tso", needs=["tx"]), *map(feature, "abcde")]
    rows = first_visits(factors, 3)
    in_order = ordered(factors, rows, 3)
    assert sorted(map(str, in_order)) == sorted(map(str, rows))
    assert ordered(factors, rows, 3) == in_order != ordered(factors, rows, 4)
    generator = np.random.default_rng(1)
    random = [
        told_in_a_drift(factors, [rows[index] for index in generator.permutation(len(rows))])
        for _draw in range(200)
    ]
    assert told_in_a_drift(factors, in_order) > np.quantile(random, 0.95)


@pytest.mark.parametrize("count", [1, 16])
def test_too_few_or_too_many_factors_are_refused(count):
    with pytest.raises(InputError, match="cannot be screened"):
        screen([feature(f"f{number}") for number in range(count)], 1)
