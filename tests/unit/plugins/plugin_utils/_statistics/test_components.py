# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where scatter comes from: known shares are found again, and the time that they make a plan take."""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.dry_run import (
    time_plan,
    time_to_find,
)
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.effects import (
    Scatter,
    components,
    goes_with,
)
from ansible_collections.offload.lab.plugins.plugin_utils._statistics.power import blocks_to_find
from ansible_collections.offload.lab.tests.instruments.simulation import (
    causes,
    decisions,
    synthetic,
)


def logs(trial, visit, block, *, tables=8, lost=0.0, seed=5):
    draw = np.random.default_rng(seed)
    data = (
        draw.normal(0, 0.5, (tables, 6, 1))
        + draw.normal(0, block, (1, 1, 200))
        + draw.normal(0, visit, (1, 6, 200))
        + draw.normal(0, trial, (tables, 6, 200))
    )
    return np.where(draw.random(data.shape) < lost, np.nan, data)


@pytest.mark.parametrize("lost", [0.0, 0.05])
@pytest.mark.parametrize("shares", [(0.05, 0.0, 0.2), (0.02, 0.06, 0.1), (0.05, 0.05, 0.0)])
def test_known_shares_are_found(shares, lost):
    shares_found = components(logs(*shares, lost=lost), 1.0)
    assert shares_found[:3] == pytest.approx(shares, rel=0.15, abs=0.016)


def test_one_table_cannot_tell_the_visit():
    shares = components(logs(0.03, 0.04, 0.1, tables=1), 1.0)
    assert shares.visit is None and shares.trial == pytest.approx(0.05, rel=0.15)
    assert components(np.full((2, 3, 1), 1.0), 1.0) is None


@pytest.mark.parametrize("noise", causes.NOISES)
def test_the_share_that_goes_with_a_cause_is_found(noise):
    plan = decisions.plan_of("one_at_a_time", 6, 9)
    generator = np.random.default_rng(3)
    ratios = [causes.found(plan, noise, 0.5, generator) for _campaign in range(20)]
    assert np.mean(ratios) == pytest.approx(0.5, abs=0.08)
    none = [causes.found(plan, noise, 0.0, generator) > 0 for _campaign in range(20)]
    assert sum(none) <= 2


def test_what_goes_with_larger_values_or_with_a_profile_is_no_cause():
    draw = np.random.default_rng(4)
    cause = draw.exponential(size=(2, 6, 9))
    noise = 0.01 * draw.standard_normal(cause.shape)
    profile = np.arange(6.0)[:, None] * np.ones((2, 6, 9))
    assert goes_with(noise - 0.1 * cause, cause) > 0.9
    assert goes_with(noise + 0.1 * cause, cause) == 0.0
    assert goes_with(noise - 0.1 * profile, profile) == 0.0
    assert goes_with(noise[:, :1, :2], cause[:, :1, :2]) == 0.0


def test_longer_cells_help_where_the_trial_scatters_and_not_where_the_visit_does():
    assert Scatter(0.04, 0.0, 0.0, 1.0).noise(4) == pytest.approx(0.02)
    assert Scatter(0.0, 0.04, 0.0, 1.0).noise(4) == pytest.approx(0.04)


def test_a_plan_says_how_long_and_what_answers_soonest():
    plan = synthetic.make_plan(4, design="one_at_a_time", blocks=8)
    trial, visit = (
        list(time_plan(plan, Scatter(*shares, 0.1, 1.0))) for shares in ((0.1, 0.0), (0.01, 0.05))
    )
    assert "an ordinary machine" in list(time_plan(plan, None))[0]
    assert "trials of 1 s scattered by 10.0 %, from visit to visit by 0.0 %" in trial[1]
    assert "1 s a cell" in visit[-1] and "soonest for 3 %: 1 s" not in trial[-1]
    blocks, seconds = time_to_find(plan, 1.1, 0.05)
    assert seconds == pytest.approx(blocks * plan["estimated_s"] / plan["blocks"], rel=0.6)


def test_more_blocks_where_it_scatters_more():
    blocks_needed = [blocks_to_find(1.1, 16, noise) for noise in (0.02, 0.05, 0.08, 0.8)]
    assert (
        blocks_needed[0] == 6
        and blocks_needed[0] < blocks_needed[1] < blocks_needed[2]
        and blocks_needed[3] is None
    )
