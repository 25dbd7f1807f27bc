# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The short form of make faults, a minute: netperf, the underlay and then the controller are struck
in one campaign.
"""

from __future__ import annotations

import random

import pytest

from ansible_collections.offload.lab.tests.instruments.faults.strike import finish, strike
from ansible_collections.offload.lab.tests.instruments.faults.world import World

FAULTS = ["SIGKILL netperf", "underlay down and up", "SIGKILL controller and its children"]

pytestmark = pytest.mark.nightly


@pytest.fixture
def world(probed, tmp_path):
    new_world = World(
        tmp_path, probed, blocks=3
    )  # with one it was at its end before the last fault, on a quiet machine
    new_world.begin(clock=False)
    try:
        yield new_world
    finally:
        new_world.end()


def test_faults_lose_and_leave_nothing(world):
    struck, problems = strike(world, FAULTS, random.Random(1), measuring=1)
    assert (struck, problems) == (FAULTS, [])
    assert finish(world) == []
