# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Bayesian linear model of main effects and pairs on the logarithms of visits, for few visits. Pure.

Each pair has a prior variance of its own (together a Student-t prior): most pairs shrink to nothing, a large one stays.
Drift is a random walk over the visits. Noise is Student's t: a visit far off counts less. Their sizes are learned from
the visits (expectation maximisation); of a few sizes of drift the likeliest is taken.
"""
from __future__ import annotations

from typing import NamedTuple

from ansible_collections.offload.lab.plugins.plugin_utils.statistics.libraries import np

STEPS = 12  # of the expectation maximisation; 30 and 100 chose the same sets
MAIN_SD, PAIR_SD, NOISE_SD = 0.05, 0.005, 0.03  # where the priors are centred: of a coefficient, of a visit
PAIR_DEGREES, NOISE_DEGREES = 1.5, 5.0  # of the Student-t distributions: fewer have heavier tails
PRIOR_COUNT = 2.0  # how many values a prior's centre counts for
DRIFTS = (0.0, 0.05, 0.2, 0.8)  # variance of a step of the random walk, in that of a visit's noise


class Fit(NamedTuple):
    """The posterior of the coefficients: their mean and covariance, and the variance of a visit of usual spread."""

    mean: np.ndarray
    covariance: np.ndarray
    noise: float


def fit(matrix: np.ndarray, pairs: int, values: np.ndarray, spread: np.ndarray) -> Fit:
    """Return the posterior of the visits, a row of ``matrix`` each, in the order of time.

    ``matrix`` has a column of ones, the main effects, and ``pairs`` columns of pairs. ``values`` are logarithms,
    ``spread`` each visit's own variance as a multiple of the usual one.
    """
    middle, place = float(np.median(values)), np.arange(len(values))
    walk = np.minimum.outer(place, place).astype(float)
    found = [_fit(matrix, pairs, values - middle, spread, drift * walk) for drift in DRIFTS]
    mean, covariance, noise = max(found, key=lambda one: one[1])[0]
    mean[0] += middle
    return Fit(mean, covariance, noise)


def _fit(matrix: np.ndarray, pairs: int, values: np.ndarray, spread: np.ndarray, walk: np.ndarray) -> tuple[Fit, float]:
    """Return the posterior for one size of drift, and how likely that is (a logarithm, twice)."""
    count, columns = matrix.shape
    pair = slice(columns - pairs, columns)
    main = slice(1, columns - pairs)
    variance = np.full(columns, MAIN_SD ** 2)
    variance[0], variance[pair] = 1.0, 16 * PAIR_SD ** 2
    noise, own = NOISE_SD ** 2, np.array(spread, dtype=float)
    for _step in range(STEPS):
        inverse = np.linalg.inv(np.diag(own) + walk)
        weighted = matrix.T @ inverse
        covariance = np.linalg.inv(weighted @ matrix / noise + np.diag(1 / variance))
        mean = covariance @ (weighted @ values) / noise
        second = mean ** 2 + np.diag(covariance)
        variance[main] = (PRIOR_COUNT * MAIN_SD ** 2 + second[main].sum()) / (PRIOR_COUNT + len(second[main]))
        variance[pair] = (PAIR_DEGREES * PAIR_SD ** 2 + second[pair]) / (PAIR_DEGREES + 1)
        # What is left of each visit without the model and the drift, squared, with what is not known of it.
        share = own[:, None] * inverse
        left, part = share @ (values - matrix @ mean), share @ matrix
        squares = left ** 2 + ((part @ covariance) * part).sum(axis=1) + noise * own * (1 - np.diag(share))
        weight = (NOISE_DEGREES + 1) / (NOISE_DEGREES + squares / (noise * spread))
        noise = (PRIOR_COUNT * NOISE_SD ** 2 + float((weight / spread * squares).sum())) / (PRIOR_COUNT + count)
        own = spread / weight
    whole = noise * (np.diag(own) + walk) + (matrix * variance) @ matrix.T
    likelihood = -np.linalg.slogdet(whole)[1] - values @ np.linalg.solve(whole, values)
    prior = (_inverse_gamma(variance[pair], PAIR_DEGREES, PAIR_SD ** 2) + _inverse_gamma(1 / weight, NOISE_DEGREES, 1))
    return Fit(mean, covariance, noise), float(likelihood + prior)


def _inverse_gamma(values: np.ndarray, degrees: float, scale: float) -> float:
    """Return twice the logarithm of the prior of variances, but for a constant."""
    return -float(((degrees + 2) * np.log(values) + degrees * scale / values).sum())


def draws(found: Fit, number: int, generator: np.random.Generator) -> np.ndarray:
    """Return draws of the coefficients from the posterior: (number, coefficients)."""
    root = np.linalg.cholesky(found.covariance + 1e-12 * np.eye(len(found.mean)))
    return found.mean + generator.standard_normal((number, len(found.mean))) @ root.T


def next_rows(found: Fit, rows: np.ndarray, drawn: np.ndarray, best: int, number: int) -> list[int]:
    """Return the places of at most ``number`` rows to visit next: those that say most about what beats the best one.

    The uncertain quantity is, for each draw, the difference between the best row and the row that is best in that draw,
    weighted by what is at stake. A visit removes a part of the variance of these differences.
    """
    values = drawn @ rows.T
    top = values.argmax(axis=1)
    stake = values[np.arange(len(values)), top] - values[:, best]
    if not stake.any():  # all draws agree: what is left to see is the best row itself
        return [best]
    differences = rows[top] - rows[best]
    covariance, chosen = found.covariance.copy(), list[int]()
    for _visit in range(min(number, len(rows))):
        told = rows @ covariance
        size = (told * rows).sum(axis=1) + found.noise
        gain = (((told @ differences.T) ** 2) * stake).sum(axis=1) / size
        gain[chosen] = -1.0  # each row once in a round
        place = int(np.argmax(gain))
        chosen.append(place)
        covariance = covariance - np.outer(told[place], told[place]) / size[place]
    return chosen
