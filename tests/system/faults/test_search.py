# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A search on a lab, killed at random moments: the same visits follow, and no trial is lost or measured twice.

OFFLOAD_LAB_KILLS says how often it is killed; 30 kills take about a quarter of an hour.
"""
from __future__ import annotations

import itertools
import json
import os
import random
import time
from contextlib import suppress

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils.search import decide
from ansible_collections.offload.lab.tests.faults.strike import finish, judge
from ansible_collections.offload.lab.tests.faults.world import World

KILLS = int(os.environ.get("OFFLOAD_LAB_KILLS", "4"))
LONGEST = 15  # seconds from the start of a run, or from its first visit, to the kill
SEARCH = {"paths": ["physical"], "mtus": [9000], "workloads": ["tcp_stream"], "duration": 1, "trials": 2,
          "design": "search", "factors": ["tso", "gso", "gro", "rx"]}

pytestmark = pytest.mark.nightly


class Searching(World):
    """A lab on which searches run, one after the other."""

    def campaign(self, name):
        return dict(SEARCH, name=name, seed=self.number + 1)

    def document(self, name):
        """Return a document of the campaign's folder; empty where it is not there yet."""
        with suppress(FileNotFoundError):
            return json.loads((self.record.parent / name).read_text())
        return {}

    def parts(self):
        """Return the parts of the campaign that are decided so far: first visits, rounds, confirmation."""
        rounds = self.document("search.json").get("rounds", [])
        return [part for part in (self.document("plan.json"), *rounds, self.document("confirmation.json")) if part]

    def planned(self):
        return [cell["id"] for part in self.parts() for visit in part["visits"] for cell in visit["cells"]]

    def wanted_tso(self, trial):
        profiles = dict(itertools.chain.from_iterable(part["profiles"].items() for part in self.parts()))
        return int(profiles[trial["profile"]]["levels"]["tso"] == "on")

    def ended(self):
        """Tell whether the search has its confirmation, and all of it is measured."""
        return bool(self.document("confirmation.json")) and len(self.trials()) == len(self.planned())


def _until(condition):
    while not condition():
        time.sleep(0.05)


def killed(world, chance):
    """Start the search or go on with it, and kill it at a random moment; return when, or None if it ended before."""
    world.start()
    begun, wait, everything = time.monotonic(), LONGEST * chance.random(), chance.random() < 0.5
    if chance.random() < 0.6:  # else most kills would come before the first visit
        _until(lambda: world.measuring() or not world.running())
    kill_at = time.monotonic() + wait
    _until(lambda: time.monotonic() > kill_at or not world.running())
    if not world.running():
        return None
    world.kill(everything)
    return f"{time.monotonic() - begun:.1f} s after its start, {len(world.trials())} trials recorded"


def follows(world):
    """Return which rounds of a search are not what plan, earlier decisions and record lead to."""
    plan, made, record = world.document("plan.json"), world.document("search.json"), world.trials()
    known, wrong = decide.begin(plan), []
    for one in made["rounds"]:
        block = one["visits"][0]["block"]
        again = decide.decide(plan, known, [trial for trial in record if trial["block"] < block])
        wrong += [] if json.loads(json.dumps(again))["rounds"][-1:] == [one] else [one["round"]]
        known = {**known, "rounds": [*known["rounds"], one]}
    return wrong


@pytest.fixture
def world(lab, tmp_path):
    for number in (1, 2):  # probes stay after a campaign, until teardown
        lab.ask("offload.lab.probe", f"node{number}", address=f"198.18.0.{number}")
    made = Searching(tmp_path, lab)
    made.begin(clock=False)
    try:
        yield made
    finally:
        made.end()


def test_a_search_killed_at_random_moments_makes_the_same_visits(world):
    chance, kills = random.Random(17), 0
    while kills < KILLS:
        world.expected = {trial["id"] for trial in world.trials()}
        moment = killed(world, chance)
        assert judge(world) == [], moment
        if moment:
            kills += 1
            print(f"kill {kills}: {moment}", flush=True)
        elif world.ended():
            assert follows(world) == []
            world.new()
    assert finish(world) == []
    assert world.ended() and follows(world) == []
