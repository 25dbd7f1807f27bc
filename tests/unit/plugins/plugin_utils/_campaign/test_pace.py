# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.pace import pace_of


def plan_of(visits: int, cells: int, seconds: float, rounds: int = 1) -> dict:
    """A plan with these visits; each has ``cells`` cells of ``seconds``."""
    return {
        "visits": [{"cells": [{}] * cells}] * visits,
        "rounds": [[]] * rounds,
        "estimated_s": visits * cells * seconds,
    }


def test_without_a_store_a_visit_is_one_piece():
    assert pace_of(plan_of(10, 40, 10.0), 150, stored=False) == {
        "chunk_s": 150,
        "pieces": 1,
        "lease_s": 60.0,
    }


@pytest.mark.parametrize(
    "cells, rounds, pieces",
    [(3, 1, 1), (4, 1, 2), (40, 1, 14), (40, 2, 7)],
)
def test_a_store_gets_a_visit_in_pieces_of_half_a_minute(cells, rounds, pieces):
    pace = pace_of(plan_of(9, cells, 10.0, rounds), 150, stored=True)
    assert pace == {"chunk_s": 30, "pieces": pieces, "lease_s": 60.0}


def test_a_lease_outlasts_two_long_cells():
    assert pace_of(plan_of(2, 2, 120.0), 150, stored=True)["lease_s"] == 270.0


@pytest.mark.parametrize("stored", [False, True])
def test_a_plan_without_visits_has_a_pace(stored):
    assert pace_of(plan_of(0, 0, 1.0, rounds=0), 20, stored=stored)["chunk_s"] == 20
