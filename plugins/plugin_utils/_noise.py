# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The noise of real measurements, as recorded in noise.json: for dry runs and for simulations with a known truth.

``tools/extract_noise.py`` writes the file from the trials of a real campaign.
"""
from __future__ import annotations

import json
import os

FILE = os.path.join(os.path.dirname(__file__), "noise.json")


def recorded_noise():
    """Return ``{"source", "trial_sd", "block_sd", "drift_per_block", "residuals"}``; logarithms throughout."""
    with open(FILE, encoding="utf-8") as stream:
        return json.load(stream)


def typical_noise():
    """Return the standard deviation of the logarithm of one trial, as recorded."""
    return recorded_noise()["trial_sd"]
