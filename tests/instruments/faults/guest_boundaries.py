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
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / ".build" / "live"))

from ansible_collections.offload.lab.tests.instruments.faults import boundaries
from ansible_collections.offload.lab.tests.machines.guests import PATIENCE, Guests, left_behind
from ansible_collections.offload.lab.tests.support import CHECKOUT, run
from ansible_collections.offload.lab.tests.system.lab import differences

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
NODES = ("node1", "node2")
DIGEST = (CHECKOUT / "tests/instruments/faults/digest.py").read_text()
# What stays by design: trials that no controller has fetched, and that a switch has fired.
KEPT = (boundaries.SPOOL, boundaries.FIRED)


def install(folder):
    """Build the collection and install it where nothing else is."""
    run(["ansible-galaxy", "collection", "build", "--output-path", folder / "built"])
    [tarball] = (folder / "built").glob("*.tar.gz")
    alone = ["--force", "--offline", "--no-deps"]
    run(["ansible-galaxy", "collection", "install", *alone, "-p", folder / "installed", tarball])


class World:
    """The machines, and the folder of a user who has nothing but the installed collection."""

    def __init__(self, folder):
        self.folder = folder
        self.guests = Guests("systestgb")
        (folder / "ansible.cfg").touch()
        self.variables = {
            **self.guests.variables,
            "ANSIBLE_CONFIG": str(
                folder / "ansible.cfg"
            ),  # the user's own, in which nothing stands
            "ANSIBLE_COLLECTIONS_PATH": str(folder / "installed"),
            "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
        }

    def argv(self, playbook, **options):
        given = {f"offload_lab_{key}": value for key, value in options.items()}
        return ["ansible-playbook", f"offload.lab.{playbook}", "-e", json.dumps(given)]

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
        place = self.folder / name
        told = {"cwd": self.folder, "seconds": PATIENCE, **self.variables}
        return boundaries.until(kill_at, argv, place, **told)

    def read(self, node):
        """Return the state of a machine without what stays by design."""
        found = json.loads(self.guests.inside(node, f"python3 - <<'END'\n{DIGEST}\nEND"))
        found["files"] = [name for name in found["files"] if not name.startswith(KEPT)]
        return found

    def state(self):
        return {node: self.read(node) for node in NODES}

    def armed(self, node):
        return bool(self.guests.inside(node, f"find {boundaries.STATE}", rc=None).startswith("/"))

    def settled(self, before):
        """Wait for the switches; return what differs from before after that."""
        deadline = time.monotonic() + PATIENCE
        while any(map(self.armed, NODES)) and time.monotonic() < deadline:
            time.sleep(2)
        found = []
        for _attempt in range(5):  # what it has ended may take a moment to go
            found = list(differences(before, self.state()))
            if not found:
                break
            time.sleep(5)
        return found

    def strike(self, name, number, before):
        """Kill the controller at a boundary; return what is wrong."""
        status, _reached, output = self.measure(name, number)
        if status != -9:
            return [f"not killed, exit status {status}: {output[-2000:]}"]
        found = self.settled(before)
        for node in NODES:
            self.guests.inside(node, f"rm -f {boundaries.FIRED}")
        return found


def evenly(reached, count):
    """Return so many of the boundaries, from the first to the last."""
    step = max(1, len(reached) / count)
    places = sorted({int(step * place) for place in range(min(count, len(reached)))})
    return [reached[place] for place in places]


def strikes(world, count, seconds, first):
    """Strike at boundaries of a campaign, and return how many were struck and what was wrong."""
    end = time.monotonic() + seconds
    before = world.state()
    status, reached, output = world.measure("whole")
    assert status == 0, output[-3000:]
    left = list(differences(before, world.state()))
    print(f"a whole campaign: {len(reached)} boundaries; {left or 'as before'}", flush=True)
    rows = [left]
    for boundary in evenly(reached[first - 1 :], count):
        if time.monotonic() > end:
            break
        number = int(boundary.split()[0])
        found = world.strike(f"boundary{number}", number, before)
        print(f"{time.strftime('%H:%M:%S')} {boundary}: {found or 'as before'}", flush=True)
        rows.append(found)
    return rows


def main(count=10, seconds=86400, first=1):
    """Strike, print, and return whether anything was wrong."""
    with tempfile.TemporaryDirectory(prefix="guest-boundaries-") as name:
        folder = Path(name)
        install(folder)
        world = World(folder)
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
