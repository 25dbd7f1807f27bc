# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines over SSH, the installed collection, and an integrity campaign whose controller is
killed at task boundaries: what the machines then are by themselves.

Usage: python tests/instruments/faults/guest_boundaries.py [COUNT [SECONDS [FIRST]]]. It takes
COUNT boundaries of the campaign, evenly from number FIRST on, and ends after SECONDS at the latest.
Needs root.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / ".build" / "live"))

from ansible_collections.offload.lab.tests.instruments.faults import boundaries
from ansible_collections.offload.lab.tests.machines.guests import PATIENCE, Guests, left_behind
from ansible_collections.offload.lab.tests.support import CHECKOUT, install_collection, run
from ansible_collections.offload.lab.tests.system.pods import unlike

CAMPAIGN = {
    "name": "boundaries",
    "design": "integrity",
    "paths": ["physical"],
    "mtus": [1500],
    "factors": ["tx", "gro"],
    "workloads": ["payload"],
    "blocks": 1,
    "duration": 1,
    "confirm": 0,
}
DIGEST = (CHECKOUT / "tests/instruments/faults/digest.py").read_text()
SLOW = 600  # seconds for a switch to fire in an emulated machine on a busy host


class World:
    """The machines, and the folder of a user who has nothing but the installed collection."""

    nodes = 2

    def __init__(self, folder):
        self.folder = folder
        self.guests = Guests("systestgb")
        config = folder / "ansible.cfg"  # the user's own, in which nothing stands
        config.touch()
        self.variables = {
            **self.guests.variables,
            "ANSIBLE_CONFIG": str(config),
            "ANSIBLE_COLLECTIONS_PATH": str(install_collection(folder)),
            "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
        }

    def argv(self, playbook, **options):
        variables_given = {f"offload_lab_{key}": value for key, value in options.items()}
        return ["ansible-playbook", f"offload.lab.{playbook}", "-e", json.dumps(variables_given)]

    def play(self, playbook, **options):
        return run(
            self.argv(playbook, **options), cwd=self.folder, timeout=PATIENCE, **self.variables
        )

    def measure(self, name, kill_at=0):
        """Check the payload until a boundary, or to the end."""
        campaign = self.folder / f"{name}.yml"
        campaign.write_text(json.dumps({**CAMPAIGN, "name": name}))
        options = {
            "campaign_file": str(campaign),
            "results_dir": str(self.folder),
            "evidence_seconds": 0,
            "live_report": False,
            "dead_man_minutes": boundaries.MINUTES if kill_at else boundaries.UNDISTURBED,
        }
        argv = self.argv("integrity", **options)
        folder = self.folder / name
        run_options = {"cwd": self.folder, "seconds": PATIENCE, **self.variables}
        return boundaries.until(kill_at, argv, folder, **run_options)

    def inside(self, number, *argv, rc=0):
        """Run a command in a machine, and return its output."""
        return self.guests.inside(f"node{number}", shlex.join(map(str, argv)), rc=rc)

    def state(self):
        """Return everything of both machines that can be read."""
        numbers = range(1, self.nodes + 1)
        return {
            f"node{number}": json.loads(self.inside(number, "python3", "-I", "-c", DIGEST))
            for number in numbers
        }

    def strike(self, name, number, before):
        """Kill the controller at a boundary; return what is wrong."""
        status, _reached, output = self.measure(name, number)
        if status != -9:
            return [f"not killed, exit status {status}: {output[-2000:]}"]
        changes = boundaries.settle(self, [before], SLOW)
        boundaries.tidy(self)
        return changes


def evenly(reached, count):
    """Return ``count`` of the boundaries, from the first to the last."""
    step = max(1, len(reached) / count)
    places = sorted({int(step * index) for index in range(min(count, len(reached)))})
    return [reached[index] for index in places]


def strikes(world, count, seconds, first):
    """Strike at boundaries of a campaign, and return how many were struck and what was wrong."""
    end = time.monotonic() + seconds
    before = boundaries.state(world)
    status, reached, output = world.measure("whole")
    assert status == 0, output[-3000:]
    leftovers = unlike(before, boundaries.state(world))
    print(f"a whole campaign: {len(reached)} boundaries; {leftovers or 'as before'}", flush=True)
    rows = [leftovers]
    for boundary in evenly(reached[first - 1 :], count):
        if time.monotonic() > end:
            break
        number = int(boundary.split()[0])
        changes = world.strike(f"boundary{number}", number, before)
        print(f"{time.strftime('%H:%M:%S')} {boundary}: {changes or 'as before'}", flush=True)
        rows.append(changes)
    return rows


def main(count=10, seconds=86400, first=1):
    """Strike, print, and return whether anything was wrong."""
    with tempfile.TemporaryDirectory(prefix="guest-boundaries-") as name:
        world = World(Path(name))
        try:
            world.play("machines")
            world.play("lab")
            rows = strikes(world, count, seconds, first)
        finally:
            world.play("machines_absent")
        rows.append(left_behind(world.guests.name))
    wrong = sum(map(bool, rows))
    print(f"{len(rows) - 2} boundaries were struck; something was left after {wrong}")
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(*map(int, sys.argv[1:]))))
