# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact statements about counts agree with scipy.stats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ansible_collections.offload.lab.plugins.plugin_utils._statistics import signflip

COUNTS = st.integers(1, 2000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


@given(COUNTS, COUNTS)
def test_the_p_is_that_of_fishers_test(one, other):
    table = [[hits, of - hits] for hits, of in (one, other)]
    expected = stats.fisher_exact(table, alternative="greater").pvalue
    assert signflip.fisher_greater(*one, *other) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(COUNTS, st.floats(1e-9, 0.5))
def test_the_bound_is_that_of_clopper_and_pearson(hits_and_trials, level):
    hits, of = hits_and_trials
    expected = 1.0 if hits == of else stats.beta.ppf(1 - level, hits + 1, of - hits)
    assert signflip.highest_share(hits, of, level) == pytest.approx(expected, rel=1e-9)
