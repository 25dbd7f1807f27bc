# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The noise of real measurements, as recorded in noise.json, for simulations with a known truth.

``tests/instruments/simulation/record_noise.py`` writes the file from the results folder of a real campaign.
"""

from __future__ import annotations

import json
import os

import numpy as np

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._analysis.cube import collect
from ansible_collections.offload.lab.plugins.plugin_utils._statistics import effects

FILE = os.path.join(os.path.dirname(__file__), "noise.json")
MOST_RESIDUALS = 400
METRICS = ("throughput", "transactions")


def recorded_noise():
    """Return ``{"source", "trial_sd", "block_sd", "drift_per_block", "residuals"}``; logarithms
    throughout.

    ``residuals`` are what is left of single trials after profiles and blocks, scaled to a standard
    deviation of 1.
    """
    with open(FILE, encoding="utf-8") as stream:
        return json.load(stream)


def extract(plan, trials, source):
    """Return the noise of a campaign's throughput and transactions, as noise.json has it.

    Each table is scaled by its own noise before all are joined, so that a quiet one counts as much
    as a loud one.
    """
    cube = collect(plan, trials)
    data = [effects.logs(cube.values[name]) for name in METRICS if name in cube.values]
    tables = [table for array in data for table in array if np.isfinite(effects.pooled_sd(table))]
    if not tables:
        raise InputError(
            "there are too few trials for an estimate of their noise",
            source,
            "Use a campaign with two blocks or more.",
        )
    deviations = np.array([effects.pooled_sd(table) for table in tables])
    fits = [effects.two_way(table) for table in tables]
    residuals = np.concatenate(
        [
            (residual / sd)[np.isfinite(residual)]
            for (_levels, residual), sd in zip(fits, deviations)
            if sd
        ]
    )
    slopes = np.array([effects.drift(table)[0] for table in tables])
    spreads = [np.nanstd(levels, ddof=1) for levels, _left in fits]
    return {
        "schema": 1,
        "source": source,
        "trials": cube.counts["used"],
        "trial_sd": _short(np.median(deviations)),
        "block_sd": _short(np.median(spreads)),
        "drift_per_block": _short(np.nanmedian(np.abs(slopes)))
        if np.isfinite(slopes).any()
        else 0.0,
        "residuals": _standardised(residuals),
    }


def _short(value):
    return round(float(value), 5)


def _standardised(residuals):
    """Return at most :data:`MOST_RESIDUALS` residuals, evenly from the sorted ones, with mean 0 and
    deviation 1.
    """
    ordered = np.sort(residuals)
    kept = ordered[np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_RESIDUALS)).astype(int)]
    return (
        [round(float(value), 3) for value in (kept - kept.mean()) / kept.std()]
        if len(kept) > 1
        else []
    )
