# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the smallest cure is found: campaigns of design integrity with faults that are known.

``python -m …simulation.curing 20`` runs each case 20 times, under each noise, and prints how often
the cure was right and smallest, and how often a clean campaign claimed something: 12 blocks of 17
profiles, which take 20 minutes on a path. Nothing here sends a packet: a trial is in trouble by
chance, as its faults and the noise of a machine make it.
"""

from __future__ import annotations

import itertools
import random
import sys
from typing import NamedTuple

from ansible_collections.offload.lab.plugins.plugin_utils._analysis import cure
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload

NEEDS = {
    "tx": [],
    "sg": ["tx"],
    "tso": ["tx", "sg"],
    "tx-udp-segmentation": ["tx", "sg"],
    "gso": ["sg"],
    "rx": [],
    "gro": ["rx"],
    "lro": ["rx"],
}
RATES = (1.0, 1e-2, 1e-4)  # of the packets concerned
PACKETS = 1000  # of these, a second of a check: what was seen on a NIC in user space, on two cores
NOISES = ("none", "plain", "bursts", "drift")
PLACE = ("physical", 9000)


class Count(NamedTuple):
    """Of ``of`` campaigns ``right`` were right."""

    right: int
    of: int


def plan_of(seed=1, **more):
    """Return the plan of a campaign of integrity over eight features."""
    factors = [{"name": name, "needs": needs} for name, needs in NEEDS.items()]
    campaign = {
        "name": "curing",
        "seed": seed,
        "design": "integrity",
        "paths": ["physical"],
        "factors": factors,
        "workloads": ["payload"],
        "blocks": 12,
        "duration": 5,
        "confirm": 0,
        "control_visits": 1,
        **more,
    }
    return make_plan(read_campaign(campaign), "")


class Machine:
    """A machine with faults ``{settings that act together: rate}`` and a noise of its own."""

    def __init__(self, faults, noise, seed, duration):
        self.faults = faults
        self.noise = noise
        self.chance = random.Random(seed)
        self.packets = PACKETS * duration
        self.burst = False

    def trial(self, levels, index):
        """Return what is wrong in a trial, or None: by a fault the content, by noise less."""
        for settings, rate in self.faults.items():
            on = all(levels[name] == "on" for name in settings)
            if on and self.chance.random() < 1 - (1 - rate) ** self.packets:
                return payload.WRONG
        return payload.SEGMENTS_LOST if self.chance.random() < self._noise(index) else None

    def _noise(self, index):
        if self.noise == "plain":
            return 0.01
        if self.noise == "bursts":  # one of 50 visits begins a bad time, one of 5 ends it
            self.burst = self.chance.random() < (0.8 if self.burst else 0.02)
            return 0.3 if self.burst else 0.0
        return min(0.1, 0.0005 * index) if self.noise == "drift" else 0.0


def measured(machine, plan, earlier=None):
    """Return the checks of all visits of a plan, added to ``earlier`` ones."""
    checks_before = earlier.planned if earlier else {}
    for index, visit in enumerate(plan["visits"]):
        kind = machine.trial(plan["profiles"][visit["profile"]]["levels"], index)
        kinds = {kind: 1} if kind else {}
        key = (*PLACE, visit["profile"])
        whole = {"checks": {}, "counters": {}, "error": None}
        none = {"trials": 0, "troubled": 0, "kinds": {}, "lesser": {}, "whole": whole}
        held = checks_before.setdefault(key, none)
        held["trials"] += 1
        held["troubled"] += len(kinds)
        for name in kinds:
            held["kinds"][name] = held["kinds"].get(name, 0) + 1
    return payload.Checks(checks_before, {})


def cure_of(faults, noise, seed, **more):
    """Return the cure that a campaign finds, or None, and its plan."""
    plan = plan_of(seed, **more)
    machine = Machine(faults, noise, seed, plan["workloads"][0]["duration"])
    # What sums the payload is not needed to find what is to blame.
    checks = measured(machine, plan)
    blames = cure.blames_of(plan, checks.planned)
    return cure.smallest(plan, itertools.chain.from_iterable(blames.values())), plan


def smallest(faults):
    """Return all combinations that are clean with as few settings off as can be."""
    best = []
    most = -1
    for row in itertools.product(("off", "on"), repeat=len(NEEDS)):
        levels = dict(zip(NEEDS, row))
        if not _possible(levels) or _broken(levels, faults):
            continue
        on = row.count("on")
        if on > most:
            best = []
            most = on
        if on == most:
            best.append(levels)
    return best


def _possible(levels):
    """Return whether what is on has what it needs."""
    on = {name for name, level in levels.items() if level == "on"}
    return all(on.issuperset(NEEDS[name]) for name in on)


def _broken(levels, faults):
    return any(all(levels[name] == "on" for name in settings) for settings in faults)


def cases(seed=1):
    """Yield 24 single faults and 30 double ones: settings and rates by chance."""
    for name, rate in itertools.product(NEEDS, RATES):
        yield {(name,): rate}
    chance = random.Random(seed)
    for _case in range(30):
        first, other = chance.sample(list(NEEDS), 2)
        yield {(first,): chance.choice(RATES), (other,): chance.choice(RATES)}


def right(noise, times, kinds, **more):
    """Return how often the cure of a case with this number of faults is right and smallest."""
    good = count = 0
    for number, faults in enumerate(cases()):
        if len(faults) != kinds:
            continue
        needed = smallest(faults)
        for seed in range(times):
            cure_named, _plan = cure_of(faults, noise, 1000 * number + seed, **more)
            good += bool(cure_named) and cure_named[1] in needed
            count += 1
    return Count(good, count)


def claims(noise, times, **more):
    """Return how many clean campaigns say that something is to blame."""
    cures = [cure_of({}, noise, seed, **more)[0] for seed in range(times)]
    return Count(sum(cure_named is not None for cure_named in cures), times)


def main(times):
    """Print how often cures are right, by noise and number of faults."""
    for noise in NOISES:
        for kinds in (1, 2):
            good = right(noise, times, kinds)
            print(f"{noise}: {kinds} fault(s): right and smallest {good.right} of {good.of}")
        clean = claims(noise, 20 * times)
        print(f"{noise}: clean campaigns that claim: {clean.right} of {clean.of}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
