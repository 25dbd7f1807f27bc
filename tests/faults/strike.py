# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One fault at a random moment, and the judgement of what it left."""
from __future__ import annotations

import time
from collections import Counter

from ansible_collections.offload.lab.tests.faults.faults import FAULTS

PATIENCE = 300  # seconds that a run may go on after a fault


def strike(world, name, random):
    """Do one fault to a running campaign and recover; return what is wrong, or None if there was nothing to strike."""
    act, mend, rebuild = FAULTS[name]
    world.damaged = False
    world.start()
    left = 1 - len(world.trials()) / max(1, len(world.planned()))
    moment = time.monotonic() + random.uniform(0.5, world.length * (0.4 + 0.5 * left))
    while time.monotonic() < moment and world.process.poll() is None:
        time.sleep(0.05)
    before = {trial["id"] for trial in world.trials()}
    struck = world.process.poll() is None and act(world, random) is not False
    try:
        world.process.wait(timeout=PATIENCE)
    finally:
        if mend and struck:
            mend(world)
    world.recover(rebuild)
    problems = judge(world, before) + world.differences()
    if world.planned() and len({trial["id"] for trial in world.trials()}) == len(world.planned()):
        problems += complete(world)
        world.new()
    return problems if struck else None


def judge(world, before):
    """Return what is wrong with the trials after a fault."""
    trials = world.trials()
    problems = [f"double: {name}" for name, count in Counter(trial["id"] for trial in trials).items() if count > 1]
    if not world.damaged:
        problems += [f"lost: {name}" for name in sorted(before - {trial["id"] for trial in trials})]
    return problems + [f"wrong profile: {name}" for name in world.wrong_profiles(trials)]


def complete(world):
    """Return what is wrong with a campaign that has come to its end."""
    planned, found = Counter(world.planned()), Counter(trial["id"] for trial in world.trials())
    return [] if planned == found else [f"planned {planned}, recorded {found}"]


def finish(world):
    """Run the last campaign to its end; return what is wrong with it."""
    for _attempt in range(3):
        world.finish()
        if len(world.trials()) == len(world.planned()):
            break
    world.recover(False)
    world.damaged = False
    return complete(world) + judge(world, set()) + world.differences()


def table(rows):
    """Return the table of ``{fault: [struck, with a problem]}``."""
    lines = [f"{'fault':<40}{'times':>7}{'recovered whole':>17}"]
    lines += [f"{name:<40}{struck:>7}{struck - bad:>17}" for name, (struck, bad) in rows.items()]
    return "\n".join(lines)
