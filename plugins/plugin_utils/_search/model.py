# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Bayesian linear model of main effects, pairs and triples on the logarithms of visits, for few
visits. Pure.

Each coefficient has one of a few sizes. The size of a pair or a triple is most often 0 (George and
McCulloch 1993), and so is the deviation of a single visit. Visits drift together (AR(1)) or scatter
separately; how much is learned. The posterior is drawn by Gibbs sampling, in several chains at
once: with few visits there are several explanations of what was seen, and an approximation around
the likeliest one would be too sure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from .._campaign.nouns import Factor
from .._campaign.screen import model_matrix
from .._statistics.libraries import np

MOST_FACTORS_WITH_TRIPLES = 10
CHAINS = 24
SWEEPS = 50
KEPT_AFTER = 20
FEW = 32  # visits: with more there are fewer explanations, and chains take the longer
# then, at least; and of the kinds of noise at a sweep
FEWEST_CHAINS = 4
KINDS_TRIED = 6
# standard deviations
MAIN_SIZES = (0.003, 0.01, 0.03, 0.1, 0.3)
MAIN_ODDS = (0.2, 0.2, 0.2, 0.2, 0.2)
PAIR_SIZES = (0.0, 0.01, 0.03, 0.1, 0.3)
PAIR_ODDS = (0.85, 0.05, 0.05, 0.03, 0.02)
TRIPLE_SIZES = (0.0, 0.05, 0.15)
TRIPLE_ODDS = (0.97, 0.015, 0.015)
VISIT_SIZES = (
    0.005,
    0.01,
    0.02,
    0.04,
    0.08,
)  # what visits scatter beyond their trials, each separately
DRIFT_SIZES = (
    0.01,
    0.02,
    0.04,
    0.08,
    0.16,
)  # or what they have in common with the visits before and after
DRIFT_MEMORIES = (0.5, 0.8, 0.95, 0.99)  # the correlation of a visit with the next one
# of a single visit
FAR_OFF_SIZES = (0.0, 0.05, 0.2, 0.8)
FAR_OFF_ODDS = (0.97, 0.02, 0.007, 0.003)
NOISE_ODDS = (
    0.1,
    0.2,
    0.7,
)  # odds: no more scatter than the trials', scatter of each visit, a drift
LEAST_SD = 0.001  # of a visit: no measurement is surer
BORDER = 1e30  # in the corner of a bordered covariance: larger than any sum of squares


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


class Posterior(NamedTuple):
    """Draws of the coefficients, (draws, columns), and how one more visit scatters.

    Its value is its row's value plus ``memory`` times the deviation of the last visit, of row
    ``last``; ``noise`` is the remaining variance.
    """

    coefficients: np.ndarray
    noise: float
    memory: float
    last: np.ndarray


def _noises(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what visits may have beyond the scatter of their trials: covariances, and the
    logarithms of their odds.
    """
    apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    of_visits = [size**2 * np.eye(count) for size in VISIT_SIZES]
    drifts = [size**2 * memory**apart for size, memory in product(DRIFT_SIZES, DRIFT_MEMORIES)]
    odds = [
        NOISE_ODDS[0],
        *[NOISE_ODDS[1] / len(of_visits)] * len(of_visits),
        *[NOISE_ODDS[2] / len(drifts)] * len(drifts),
    ]
    return np.array([np.zeros((count, count)), *of_visits, *drifts]), np.log(odds)


def fit(
    terms: Terms,
    values: np.ndarray,
    variance: np.ndarray,
    generator: np.random.Generator,
) -> Posterior:
    """Return draws from the posterior of the visits, a row of ``terms`` each, in the order of time.

    ``values`` are logarithms, ``variance`` is each value's variance from the scatter of its trials.
    """
    middle = float(np.median(values))
    chains = _Chains(terms, values - middle, np.maximum(variance, LEAST_SD**2), generator)
    drawn = list[np.ndarray]()
    ahead = list[tuple[float, float]]()
    for sweep in range(SWEEPS):
        chains.sweep()
        if sweep >= KEPT_AFTER:
            drawn += [
                chains.coefficients()[:, : terms.matrix.shape[1]]
                for _draw in range(-(-CHAINS // chains.number))
            ]
            ahead.append(chains.next_visit())
    coefficients = np.concatenate(drawn)
    coefficients[:, 0] += middle
    noise, memory = np.mean(ahead, axis=0).tolist()
    return Posterior(coefficients, noise, memory, terms.matrix[-1])


class _Chains:
    """The state of all chains: the variance of each coefficient, and the kind of noise.

    After the coefficients of the model comes one for each visit: its own deviation.
    """

    def __init__(
        self,
        terms: Terms,
        values: np.ndarray,
        variance: np.ndarray,
        generator: np.random.Generator,
    ) -> None:
        count, columns = terms.matrix.shape
        self.matrix = np.hstack([terms.matrix, np.eye(count)])
        self.values = values
        self.generator = generator
        self.own = np.diag(variance)
        self.noises, self.noise_odds = _noises(count)
        self.few = count <= FEW
        self.number = max(FEWEST_CHAINS, int(CHAINS * min(1.0, FEW / count) ** 2))
        mains = columns - 1 - terms.pairs - terms.triples
        self.sizes = [
            *[(np.square(MAIN_SIZES), np.log(MAIN_ODDS))] * mains,
            *[(np.square(PAIR_SIZES), np.log(PAIR_ODDS))] * terms.pairs,
            *[(np.square(TRIPLE_SIZES), np.log(TRIPLE_ODDS))] * terms.triples,
            *[(np.square(FAR_OFF_SIZES), np.log(FAR_OFF_ODDS))] * count,
        ]
        self.prior = np.ones(
            (self.number, columns + count)
        )  # variances; the first is of the level of all visits
        for column, (squares, odds) in enumerate(self.sizes, 1):
            self.prior[:, column] = generator.choice(squares, self.number, p=np.exp(odds))
        self.kinds = np.zeros(self.number, dtype=int)

    def sweep(self) -> None:
        """Draw the kind of noise and each coefficient's size once, each given all else but the
        coefficients.
        """
        tried = self._kinds_tried()
        covariances = self._model()[:, None] + self.noises[tried] + self.own
        every = np.arange(self.number)
        chosen = self._one_of(self.noise_odds[tried] + self._likelihoods(covariances))
        self.kinds = tried[every, chosen]
        self._draw_sizes(np.linalg.inv(covariances[every, chosen]))

    def _likelihoods(self, covariances: np.ndarray) -> np.ndarray:
        """Return the logarithms of how likely the values are under these covariances, but for a
        constant.

        The last row of the Cholesky factor of a covariance with the values as its border is the
        values in units of it.
        """
        bordered = np.pad(
            covariances,
            [*[(0, 0)] * (covariances.ndim - 2), (0, 1), (0, 1)],
            constant_values=BORDER,
        )
        bordered[..., -1, :-1] = self.values  # numpy reads the lower triangle
        factor = np.linalg.cholesky(bordered)[..., :-1]
        sizes = np.diagonal(factor, axis1=-2, axis2=-1)
        return -np.log(sizes).sum(axis=-1) - np.square(factor[..., -1, :]).sum(axis=-1) / 2

    def _kinds_tried(self) -> np.ndarray:
        """Return the kinds of noise that each chain chooses from: all, or its present kind and a
        few others at random.
        """
        kinds = np.tile(np.arange(len(self.noises)), (self.number, 1))
        if self.few:
            return kinds
        others = (
            self.kinds[:, None] + self.generator.permuted(kinds[:, 1:], axis=1)[:, :KINDS_TRIED]
        )
        return np.column_stack([self.kinds, others % len(self.noises)])

    def next_visit(self) -> tuple[float, float]:
        """Return ``(noise, memory)`` of one more visit of usual scatter, as :class:`Posterior` has
        them.
        """
        visit_variance = float(np.median(np.diag(self.own)))
        sizes = self.noises[self.kinds, 0, 0]
        # What is off at the last visit is drift or its own scatter; the drift goes on, by its
        # memory.
        drift = sizes / (sizes + visit_variance)
        memory = np.divide(
            self.noises[self.kinds, 0, 1], sizes, out=np.zeros(self.number), where=sizes > 0
        )
        return visit_variance + float((sizes * (1 - drift * memory**2)).mean()), float(
            (memory * drift).mean()
        )

    def _model(self) -> np.ndarray:
        return (self.matrix * self.prior[:, None]) @ self.matrix.T

    def _one_of(self, chances: np.ndarray) -> np.ndarray:
        """Draw one of the last axis by the logarithms of its chances (Gumbel's maximum)."""
        return (chances + self.generator.gumbel(size=chances.shape)).argmax(axis=-1)

    def _draw_sizes(self, inverse: np.ndarray) -> None:
        """Draw the variance of each coefficient in turn.

        ``inverse`` is the inverse covariance of the measurements; it is kept up to date (Sherman
        and Morrison).
        """
        for column in 1 + self.generator.permutation(len(self.sizes)):
            squares, odds = self.sizes[column - 1]
            before = self.prior[:, column]
            of_column = self.matrix[:, column]
            solved = inverse @ of_column
            size = solved @ of_column
            fits = solved @ self.values
            rest = 1 - before * size
            more = 1 + squares * (size / rest)[:, None]
            chosen = self._one_of(
                odds - np.log(more) / 2 + squares * (fits / rest)[:, None] ** 2 / more / 2
            )
            change = squares[chosen] - before
            inverse -= (
                (change / (1 + change * size))[:, None, None]
                * solved[:, :, None]
                * solved[:, None, :]
            )
            self.prior[:, column] = squares[chosen]

    def coefficients(self) -> np.ndarray:
        """Draw the coefficients: (chains, columns).

        A draw from the prior is corrected by what was measured (Matheron).
        """
        draw = self.generator.standard_normal
        rest = self.noises[self.kinds] + self.own
        first = draw(self.prior.shape) * np.sqrt(self.prior)
        noise = (np.linalg.cholesky(rest) @ draw((*rest.shape[:-1], 1)))[..., 0]
        missed = self.values - first @ self.matrix.T - noise
        solved = np.linalg.solve(self._model() + rest, missed[..., None])[..., 0]
        return first + self.prior * (solved @ self.matrix)
