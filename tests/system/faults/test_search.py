# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A search on a lab, killed at random moments: the same visits follow, and no trial is lost or
measured twice.

OFFLOAD_LAB_KILLS says how often it is killed; 30 kills take about a quarter of an hour.
"""

from __future__ import annotations

import json
import os
import random
import time

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import (
    read_confirmation,
    read_plan,
    read_search,
)
from ansible_collections.offload.lab.plugins.plugin_utils._search import decide
from ansible_collections.offload.lab.tests.instruments.faults.strike import (
    finish,
    judge,
    wait,
    wait_for_visit,
)
from ansible_collections.offload.lab.tests.instruments.faults.world import World

KILLS = int(os.environ.get("OFFLOAD_LAB_KILLS", "4"))
LONGEST = 15  # seconds from the start of a run, or from its first visit, to the kill
SEARCH = {
    "paths": ["physical"],
    "mtus": [9000],
    "workloads": ["tcp_stream"],
    "duration": 1,
    "trials": 2,
    "design": "search",
    "factors": ["tso", "gso", "gro", "rx"],
}

pytestmark = pytest.mark.nightly


class Searching(World):
    """A lab on which searches run, one after the other."""

    def campaign(self, name):
        return dict(SEARCH, name=name, seed=self.number + 1)

    def ended(self):
        """Return whether the search has its confirmation, and every trial is measured."""
        return bool(read_confirmation(str(self.record.parent))) and len(self.first_tries()) == len(
            self.planned()
        )


def killed(world, chance):
    """Start the search or go on with it, and kill it at a random moment; return when, or None if it
    ended before.
    """
    world.start()
    begun = time.monotonic()
    seconds = LONGEST * chance.random()
    everything = chance.random() < 0.5
    if chance.random() < 0.6:  # else most kills would come before the first visit
        wait_for_visit(world)
    wait(world, seconds)
    if not world.running():
        return None
    world.kill(everything)
    return (
        f"{time.monotonic() - begun:.1f} s after its start, {len(world.trials())} trials recorded"
    )


def follows(world):
    """Return which rounds of a search are not what plan, earlier decisions and record lead to."""
    folder = world.record.parent
    record = world.trials()
    plan = read_plan(str(folder / "plan.json"))
    search_kept = read_search(str(folder))
    decided = decide.begin(plan)
    wrong = []
    assert search_kept["rounds"]
    for round_ in search_kept["rounds"]:
        block = round_["visits"][0]["block"]
        again = decide.decide(plan, decided, [trial for trial in record if trial["block"] < block])
        wrong += (
            [] if json.loads(json.dumps(again))["rounds"][-1:] == [round_] else [round_["round"]]
        )
        decided = {**decided, "rounds": [*decided["rounds"], round_]}
    return wrong


@pytest.fixture
def world(probed, tmp_path):
    new_world = Searching(tmp_path, probed)
    new_world.begin(clock=False)
    try:
        yield new_world
    finally:
        new_world.end()


def test_a_search_killed_at_random_moments_makes_the_same_visits(world):
    chance = random.Random(17)
    kills = 0
    while kills < KILLS:
        world.expected = {trial["id"] for trial in world.trials()}
        moment = killed(world, chance)
        assert judge(world) == [], moment
        if moment:
            kills += 1
            print(f"kill {kills}: {moment}", flush=True)
        else:
            assert world.ended(), (world.folder / "output").read_text()[-3000:]
            assert follows(world) == []
            world.new()
    assert finish(world) == []
    assert world.ended() and follows(world) == []
