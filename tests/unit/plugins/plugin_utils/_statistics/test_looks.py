# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks: their levels add up to 5 %, and simulated campaigns with them claim and cost what they
should (short form).
"""

from __future__ import annotations

import numpy as np
import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._statistics import looks
from ansible_collections.offload.lab.tests.instruments.simulation import looks as simulated
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic


@pytest.mark.parametrize("blocks", [6, 8, 11, 12, 16, 20, 30, 100])
def test_levels_are_steps_of_the_test_and_add_up_to_five_per_cent(blocks):
    scheduled = looks.schedule(blocks)
    assert len(scheduled) <= 3 and all(look["block"] <= blocks - 2 for look in scheduled)
    assert sum(look["alpha"] for look in scheduled) + looks.rest(scheduled) == pytest.approx(0.05)
    assert looks.rest(scheduled) > 0.005
    for look in scheduled:
        steps = look["alpha"] / (2 / 2 ** min(look["block"], 12))
        assert steps >= 1 and steps == int(steps)
    assert bool(scheduled) == (blocks > 10)


def test_the_smallest_p_of_an_interim_test_is_a_claim():
    for look in looks.schedule(12):
        smallest = 2 / 2 ** look["block"]
        assert (
            looks.paid(np.array([smallest, look["alpha"], look["alpha"] * 1.01]), look["alpha"])[1]
            <= 0.05
        )
        assert looks.paid(look["alpha"] + smallest, look["alpha"]) > 0.05


def test_same_is_stricter_at_an_interim_test_than_at_the_end():
    share_by_level = {
        "n": np.array([8]),
        "mean": np.array([0.005]),
        "low": np.array([-0.018]),
        "high": np.array([0.028]),
    }
    assert looks.same(share_by_level, np.log(1.03), 0.05) and not looks.same(
        share_by_level, np.log(1.03)
    )


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_campaigns_with_interim_tests_claim_seldom_and_save_visits():
    plan = synthetic.make_plan(6, design="one_at_a_time", blocks=12)
    wrong, _cost = simulated.run(plan, "plain", 4, 20, simulated.nothing, seed=11)
    assert wrong <= 0.2
    _wrong, (visits, fixed, *_open) = simulated.run(plan, "plain", 4, 10, simulated.usual, seed=11)
    assert visits < 0.95 * fixed
