# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The terms of a search's model: the level of all visits, main effects, pairs, and gains of three
settings together. Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .._campaign.nouns import Factor
from .._campaign.screen import model_matrix
from .._statistics.libraries import np

# Ten factors have 120 triples, eleven 165, and a decision draws the size of each in turn.
MOST_FACTORS_WITH_TRIPLES = 10


class Terms(NamedTuple):
    """A row for each combination, a column for each term: ones, main effects, pairs, triples."""

    matrix: np.ndarray
    pairs: int
    triples: int


def terms_of(factors: Sequence[Factor], rows: Sequence[Mapping[str, str]]) -> Terms:
    """Return the terms of these combinations.

    The column of a triple says whether all three factors are at their last levels. As a product of
    centred columns, as a pair's is, one gain of three together would be seven terms of the model.
    """
    matrix, pairs = model_matrix(factors, rows)
    triples = _triples(factors, rows)
    return Terms(np.column_stack([matrix, *triples]), len(pairs), len(triples))


def _triples(factors: Sequence[Factor], rows: Sequence[Mapping[str, str]]) -> list[np.ndarray]:
    if len(factors) > MOST_FACTORS_WITH_TRIPLES:
        return []
    columns = [_at_last(factor, rows) for factor in factors]
    return [first * second * third for first, second, third in itertools.combinations(columns, 3)]


def _at_last(factor: Factor, rows: Sequence[Mapping[str, str]]) -> np.ndarray:
    """Return 1 for each combination in which a factor is at its last level, 0 for the others."""
    return np.array([row[factor["name"]] == factor["levels"][-1] for row in rows], dtype=float)
