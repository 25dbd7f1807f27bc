# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults at random moments of one run of a campaign, and the judgement of what they left."""

from __future__ import annotations

import time
from collections import Counter

from ansible_collections.offload.lab.tests.instruments.faults.faults import CLOCK, FAULTS

PATIENCE = 300  # seconds that a run may go on after its last fault
MEASURING = 0.8  # how often the first fault of a run waits until the first profile is applied
GAP = (0.2, 6)  # seconds between two faults


def pick(rows, survived, random):
    """Return the faults of the next run: ``survived`` ones that a campaign survives, then a fatal
    one.

    ``rows`` are ``{fault: [struck, ...]}``; those that were struck least come first.
    """
    order = sorted(FAULTS, key=lambda name: (rows[name][0], random.random()))
    lived = [name for name in order if not FAULTS[name].ends][:survived]
    return [*random.sample(lived, len(lived)), next(name for name in order if FAULTS[name].ends)]


def strike(world, names, random, measuring=MEASURING):
    """Do faults to a running campaign, one after the other, and recover; return ``(names struck,
    what is wrong)``.
    """
    world.start(jumping=CLOCK in names)
    struck = []
    problems = []
    if random.random() < measuring:
        wait_for_visit(world)
    for name in names:
        wait(world, random.uniform(*GAP))
        if not world.running():
            break
        world.expected = {trial["id"] for trial in world.trials()}
        if FAULTS[name].act(world, random) is not False:
            struck.append(name)
            problems += judge(world)
    try:
        world.process.wait(timeout=PATIENCE)
    finally:
        for name in struck:
            if FAULTS[name].repair:
                FAULTS[name].repair(world)
    world.recover(any(FAULTS[name].rebuild for name in struck))
    problems += judge(world) + world.differences()
    if world.planned() and len({trial["id"] for trial in world.first_tries()}) == len(
        world.planned()
    ):
        problems += complete(world)
        world.new()
    return struck, problems


def wait(world, seconds):
    """Wait, or until the campaign is at its end."""
    moment = time.monotonic() + seconds
    while time.monotonic() < moment and world.running():
        time.sleep(0.02)


def wait_for_visit(world):
    """Wait for the first visit, or until the campaign is at its end."""
    while not world.measuring() and world.running():
        time.sleep(0.05)


def judge(world):
    """Return what is wrong with the trials."""
    trials = world.trials()
    counts = Counter(trial["id"] for trial in trials)
    return (
        [f"double: {name}" for name, count in counts.items() if count > 1]
        + [f"lost: {name}" for name in sorted(world.expected - set(counts))]
        + [f"wrong profile: {name}" for name in world.wrong_profiles(trials)]
    )


def complete(world):
    """Return what is wrong with a campaign that has come to its end."""
    planned = Counter(world.planned())
    counts = Counter(trial["id"] for trial in world.first_tries())
    return [] if planned == counts else [f"planned {planned}, recorded {counts}"]


def finish(world):
    """Run the last campaign to its end; return what is wrong with it."""
    world.expected = {trial["id"] for trial in world.trials()}
    for _attempt in range(3):
        world.finish()
        if len(world.first_tries()) == len(world.planned()):
            break
    world.recover(False)
    return complete(world) + judge(world) + world.differences()


def table(rows):
    """Return the table of ``{fault: [struck, in a run with a problem]}``."""
    total = [sum(column) for column in zip(*rows.values())]
    lines = [f"{'fault':<40}{'times':>7}{'recovered whole':>17}"]
    lines += [
        f"{name:<40}{struck:>7}{struck - bad:>17}"
        for name, (struck, bad) in [*rows.items(), ("all", total)]
    ]
    return "\n".join(lines)
