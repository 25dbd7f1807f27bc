# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate of module compare, over simulated pairs of campaigns; tests/instruments/simulation/truth_tables.py
has more of them.
"""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.tests.instruments.simulation import comparisons
from ansible_collections.offload.lab.tests.instruments.simulation.truth import at_least
from ansible_collections.offload.lab.tests.support import each_day

ON_OFF = next(iter(comparisons.DESIGNS))
NOISES = each_day(["AR(1)"], comparisons.NOISES)


@pytest.mark.parametrize("noise", NOISES)
def test_where_nothing_differs_the_gate_holds(noise):
    different, failed = comparisons.judged(ON_OFF, noise, pairs=120).T
    assert at_least(different) <= 0.05  # not shown to be above 5 %
    assert failed.mean() <= 0.05


@pytest.mark.parametrize("noise", NOISES)
def test_an_effect_that_is_a_fifth_worse_in_one_table_is_found(noise):
    assert comparisons.regressions_seen(ON_OFF, noise, 0.8, pairs=40) >= 0.9
