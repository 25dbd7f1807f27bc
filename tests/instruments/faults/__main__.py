# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""make faults: COUNT (105) faults at random moments of campaigns on a single-host lab; a table at
the end.

Usage: python tests/instruments/faults [COUNT [SEED [SECONDS]]]. It ends after SECONDS at the latest. Needs
root.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / ".build" / "live"))

from ansible_collections.offload.lab.tests.instruments.faults.faults import FAULTS
from ansible_collections.offload.lab.tests.instruments.faults.strike import (
    finish,
    pick,
    strike,
    table,
)
from ansible_collections.offload.lab.tests.instruments.faults.world import World
from ansible_collections.offload.lab.tests.system.lab import Lab

# Faults of a run before the one that ends it: with 7 the campaign was often complete before.
SURVIVED = 4


def main(count=105, seed=1, seconds=86400):
    """Strike, print, and return the number of faults in runs after which something was wrong."""
    generator = random.Random(seed)
    rows = {name: [0, 0] for name in FAULTS}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="offload-lab-faults-") as folder:
        world = World(folder, Lab("systestfaults"))
        try:
            world.make()
            world.begin()
            while sum(struck for struck, _bad in rows.values()) < count and time.monotonic() < end:
                struck, problems = strike(world, pick(rows, SURVIVED, generator), generator)
                for name in struck:
                    rows[name][0] += 1
                    rows[name][1] += bool(problems)
                print(f"{', '.join(struck) or 'nothing to strike'}: {problems or 'ok'}", flush=True)
            last = finish(world)
        finally:
            print(table(rows), flush=True)
            world.end()
            world.remove()
    print(f"the last campaign, run to its end: {last or 'ok'}")
    return sum(bad for _struck, bad in rows.values()) + bool(last)


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:4])) else 0)
