# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: the constants on which all claims rest."""

from __future__ import annotations

ALPHA = 0.05  # how often a report with nothing to find may claim something
CONFIDENCE = 0.95  # of an interval
# Blocks of a test. With fewer no choice of signs is rare enough: 2 of 2^5 are more than 5 %.
FEWEST_BLOCKS = 6
INTERVAL_BLOCKS = 3  # of an interval
MATTERS = 3.0  # %: a smaller difference does not matter, where a campaign says nothing else
