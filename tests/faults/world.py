# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab and the campaign that faults are done to, and what must be true of them afterwards."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from ansible_collections.offload.lab.plugins.plugin_utils import _records
from ansible_collections.offload.lab.tests.support import CHECKOUT, environment, run
from ansible_collections.offload.lab.tests.system.lab import Lab

HERE = Path(__file__).parent
CAMPAIGN = {"blocks": 1, "paths": ["physical"], "mtus": [9000], "factors": ["tso"], "workloads": ["tcp_stream"],
            "duration": 1}
SETTLE = 60  # seconds; what was started for one trial ends by itself within it


def descendants(pid):
    """Return a process and all that it started, directly or not, and that still have it above them."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents.setdefault(int(entry.read_text().rpartition(")")[2].split()[1]), []).append(int(entry.parent.name))
    found, left = [], [pid]
    while left:
        found.append(left.pop())
        left += parents.get(found[-1], [])
    return found


class World:
    """A lab of two nodes, small disks for the results and for each node's state, and one campaign after the other."""

    def __init__(self, folder, name="faults"):
        self.lab, self.folder, self.number, self.process = Lab(name), Path(folder), 0, None
        self.results = self.folder / "results"
        self.samplers = []

    def up(self):
        """Make the lab, run one campaign undisturbed, and remember the state that must come back."""
        run(["mount", "-m", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", self.results])
        self.lab.play("nodes")
        for node in (1, 2):
            self.lab.inside(node, "mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", "/var/lib/offload-lab")
        self.lab.play("lab")
        self.samplers = [self._sampler(node) for node in (1, 2)]
        started = time.monotonic()
        output = self.finish()
        self.length = time.monotonic() - started
        assert len(self.trials()) == len(self.planned()), output[-3000:]
        self.lab.play("restore")
        self.before = self.state()
        self.new()

    def down(self):
        """Remove everything."""
        if self.process and self.process.poll() is None:
            self.kill(everything=True)
        for sampler, _path in self.samplers:
            sampler.kill()
            sampler.wait()
        self.lab.down()
        run(["umount", self.results])

    def _sampler(self, node):
        path = self.folder / f"tso-{node}"
        with path.open("w") as stream:
            enter = ["nsenter", f"--net=/run/netns/{self.lab.name}-node{node}"]
            argv = [*enter, "python3", HERE / "sampler.py", "underlay0"]
            return subprocess.Popen(argv, stdout=stream), path

    def new(self):
        """Begin another campaign."""
        self.number += 1

    @property
    def record(self):
        return self.results / f"faults{self.number}" / "trials.jsonl"

    def trials(self):
        """Return the trials that are recorded and whole."""
        return _records.read(str(self.record))[0]

    def planned(self):
        """Return the ids of the campaign's plan; none where a fault came before it was written."""
        path = self.record.parent / "plan.json"
        plan = json.loads(path.read_text()) if path.exists() else {"visits": []}
        return [cell["id"] for visit in plan["visits"] for cell in visit["cells"]]

    def campaign(self, name):
        """Return the small campaign under a name."""
        return dict(CAMPAIGN, name=name)

    def _argv(self):
        variables = {"campaign": self.campaign(f"faults{self.number}"), "results_dir": str(self.results),
                     "evidence_seconds": 0, "dead_man_minutes": self.dead_man_minutes}
        return ["ansible-playbook", "playbooks/measure.yml", "-e",
                json.dumps({f"offload_lab_{key}": value for key, value in variables.items()})]

    dead_man_minutes = 15

    def start(self):
        """Start the campaign, or go on with it, as a process group of its own."""
        with (self.folder / "output").open("w") as stream:
            self.process = subprocess.Popen(
                self._argv(), cwd=CHECKOUT, start_new_session=True, stdin=subprocess.DEVNULL, stdout=stream,
                stderr=subprocess.STDOUT, env=environment(OFFLOAD_LAB_NAME=self.lab.name, OFFLOAD_LAB_NODES="2"))

    def finish(self):
        """Run the campaign, or the rest of it, undisturbed; return what it said."""
        self.start()
        self.process.wait(timeout=600)
        return (self.folder / "output").read_text(errors="replace")

    def kill(self, everything=False):
        """SIGKILL to the controller, or to it and all it has started."""
        for pid in descendants(self.process.pid) if everything else [self.process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def members(self, node):
        """Return ``{pid: name}`` of the processes of a node."""
        inodes, found = os.stat(f"/run/netns/{self.lab.name}-node{node}").st_ino, {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.stat(entry / "ns/net").st_ino == inodes:
                    found[int(entry.name)] = (entry / "comm").read_text().strip()
        return found

    def state(self):
        """Return everything of both nodes that must be as before."""
        spaces = [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines()]
        found = {"netns": sorted(name for name in spaces if name.startswith(self.lab.name))}
        for node in (1, 2):
            found[f"node{node}"] = json.loads(self.lab.inside(node, "python3", HERE / "digest.py"))
            names = Counter(self.members(node).values())
            found[f"node{node}"]["processes"] = {name: count for name, count in names.items() if name != "nsenter"}
        return found

    def recover(self, rebuild):
        """Do what the documentation says after a fault."""
        self.lab.play("restore")
        if rebuild:
            self.lab.play("lab")

    def differences(self):
        """Return what of the state is not as before, after what still ran had time to end."""
        deadline = time.monotonic() + SETTLE
        while True:
            found = list(compare(self.before, self.state(), ""))
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(1)

    def tso(self, node):
        """Return what the sampler of a node saw last."""
        return int(self.samplers[node - 1][1].read_text().split()[-1])

    def wrong_profiles(self, trials):
        """Return the ids of trials during which the device was not as their profile says, by the samplers."""
        changes = []
        for _sampler, path in self.samplers:
            rows = [line.split() for line in path.read_text().splitlines()]
            changes.append([(float(moment), int(value)) for moment, value in rows])
        return [trial["id"] for trial in trials if not trial["error"] and any(
            values_in(rows, trial["started"] + 0.1, trial["finished"] - 0.1) != {int(trial["profile"] == "all_on")}
            for rows in changes)]


def values_in(rows, start, end):
    """Return the values that were seen between two moments."""
    before = [value for moment, value in rows if moment <= start]
    return set(before[-1:]) | {value for moment, value in rows if start < moment < end}


def compare(old, new, where):
    """Yield the places where two states differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            yield from compare(old.get(key), new.get(key), f"{where}/{key}")
    elif old != new:
        yield f"{where}: {str(old)[-300:]} -> {str(new)[-300:]}"
