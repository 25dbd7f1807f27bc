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
from contextlib import suppress
from pathlib import Path

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.plan_file import read_whole_plan
from ansible_collections.offload.lab.plugins.plugin_utils._trials import records
from ansible_collections.offload.lab.tests.support import CHECKOUT, environment, run
from ansible_collections.offload.lab.tests.system.lab import differences

HERE = Path(__file__).parent
CAMPAIGN = {
    "paths": ["physical"],
    "mtus": [9000],
    "factors": ["tso"],
    "workloads": ["tcp_stream", "tcp_maerts"],
    "duration": 1,
}
JUMPED = 3600  # seconds; the clock jumps by days, and no campaign lasts an hour
SETTLE = 60  # seconds; processes of one trial end within this time


def descendants(pid):
    """Return a process and all that it started, directly or not, and that still have it above them."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents.setdefault(int(entry.read_text().rpartition(")")[2].split()[1]), []).append(
                int(entry.parent.name)
            )
    children = []
    to_visit = [pid]
    while to_visit:
        children.append(to_visit.pop())
        to_visit += parents.get(children[-1], [])
    return children


class World:
    """A lab of two nodes, one campaign after the other, and what watches them.

    Usage: ``make`` (small disks for the results and for each node's state; the lab), ``begin`` ...
    ``end``, ``remove``.
    """

    def __init__(self, folder, lab, blocks=2):
        self.lab = lab
        self.folder = Path(folder)
        self.number = 0
        self.process = None
        self.results = self.folder / "results"
        self.blocks = blocks
        self.samplers = []
        self.jumps = 0
        self.killed = False
        self.expected = set()
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # a shell's background job would ignore Ctrl-C

    def make(self):
        """Make the lab and run one campaign undisturbed."""
        run(["mount", "-m", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", self.results])
        self.lab.play("nodes")
        for node in (1, 2):
            self.lab.inside(
                node,
                "mount",
                "-t",
                "tmpfs",
                "-o",
                "size=1m,mode=755",
                "tmpfs",
                "/var/lib/offload-lab",
            )
        self.lab.play("lab")
        output = self.finish()
        assert len(self.first_tries()) == len(self.planned()), output[-3000:]
        self.lab.play("restore")
        self.new()

    def begin(self, clock=True):
        """Remember the state that must come back, and watch the devices from now on; a ``clock`` to
        set needs cc.
        """
        if clock:
            run(["cc", "-shared", "-fPIC", "-O2", "-o", self.folder / "clock.so", HERE / "clock.c"])
        self.set_clock(0)
        self.samplers = [self._sampler(node) for node in (1, 2)]
        while not all(path.read_text() for _sampler, path in self.samplers):
            time.sleep(0.01)
        self.before = self.lab.state()

    def end(self):
        """Stop what runs."""
        if self.process and self.running():
            self.kill(everything=True)
        for sampler, _path in self.samplers:
            sampler.kill()
            sampler.wait()

    def remove(self):
        """Remove everything."""
        self.lab.down()
        # SIGKILL of the controller alone may leave a worker of ansible that waits for ever for its
        # result to be read.
        print(
            run(["pkill", "--echo", "--signal", "KILL", "-f", self.results], rc=None),
            end="",
            flush=True,
        )
        run(["umount", self.results])

    def _sampler(self, node):
        path = self.folder / f"tso-{node}"
        with path.open("w") as stream:
            enter = ["nsenter", f"--net=/run/netns/{self.lab.name}-node{node}"]
            argv = [*enter, "python3", HERE / "sampler.py", "underlay0"]
            return subprocess.Popen(argv, stdout=stream, env=self._clock()), path

    def _clock(self):
        """Return the environment of processes that see the clock that jumps; this machine's is
        everybody's.
        """
        library = self.folder / "clock.so"
        return environment(
            LD_PRELOAD=str(library) if library.exists() else "",
            OFFLOAD_LAB_CLOCK=str(self.folder / "clock"),
            OFFLOAD_LAB_NAME=self.lab.name,
            OFFLOAD_LAB_NODES="2",
        )

    def set_clock(self, seconds):
        """Set that clock to ``seconds`` after, or before, the true time."""
        (self.folder / "clock.new").write_text(f"{seconds:+d}\n")
        (self.folder / "clock.new").rename(self.folder / "clock")

    def jump(self):
        """Set that clock to a day at which it never was: each time one farther away, before and
        after by turns.
        """
        self.jumps += 1
        self.set_clock(86400 * self.jumps * (-1) ** self.jumps)

    def new(self):
        """Begin another campaign."""
        self.number += 1

    @property
    def record(self):
        return self.results / f"faults{self.number}" / "trials.jsonl"

    def trials(self):
        """Return the trials that are recorded and whole."""
        return records.read(str(self.record))[0]

    def first_tries(self):
        """Return the trials that the plan has: one that the machine spoilt is measured again as another."""
        return [trial for trial in self.trials() if not trial.get("again")]

    def planned(self):
        """Return the ids of the campaign's plan, as far as this is decided; none where a fault came
        before it.
        """
        plan = self.plan()
        return [cell["id"] for visit in plan["visits"] for cell in visit["cells"]] if plan else []

    def plan(self):
        """Return the plan with what was decided since, or None."""
        return read_whole_plan(str(self.record.parent))

    def campaign(self, name):
        """Return the small campaign under a name."""
        return dict(CAMPAIGN, name=name, blocks=self.blocks)

    def _argv(self):
        variables = {
            "campaign": self.campaign(f"faults{self.number}"),
            "results_dir": str(self.results),
            "evidence_seconds": 0,
            "dead_man_minutes": self.dead_man_minutes,
        }
        return [
            "ansible-playbook",
            "playbooks/measure.yml",
            "-e",
            json.dumps({f"offload_lab_{key}": value for key, value in variables.items()}),
        ]

    dead_man_minutes = 15

    def start(self, jumping=False):
        """Start the campaign, or go on with it, as a process group of its own; ``jumping`` is with
        the other clock.
        """
        self.killed = False
        with (self.folder / "output").open("w") as stream:
            self.process = subprocess.Popen(
                self._argv(),
                cwd=CHECKOUT,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=self._clock()
                if jumping
                else environment(OFFLOAD_LAB_NAME=self.lab.name, OFFLOAD_LAB_NODES="2"),
            )

    def running(self):
        """Return whether the campaign runs."""
        return self.process.poll() is None

    def measuring(self):
        """Return whether this run of the campaign has begun to apply profiles."""
        return "Apply the profile" in (self.folder / "output").read_text(errors="replace")

    def finish(self):
        """Run the campaign, or the rest of it, undisturbed; return what it said."""
        self.start()
        self.process.wait(timeout=600)
        return (self.folder / "output").read_text(errors="replace")

    def kill(self, everything=False):
        """SIGKILL to the controller, or to it and all it has started."""
        self.killed = True
        for pid in descendants(self.process.pid) if everything else [self.process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def recover(self, rebuild):
        """Do what the documentation says: a run that could not end itself has left snapshots to
        restore from.
        """
        if self.killed or any(
            self.lab.inside(node, "find", "/var/lib/offload-lab", "-name", "snapshot.json")
            for node in (1, 2)
        ):
            self.lab.play("restore")
        if rebuild:
            self.lab.play("lab")

    def differences(self):
        """Return what of the state is not as before, after what still ran had time to end.

        While a campaign is not complete a node may keep trials that no controller has fetched: they
        are not to be lost.
        """
        deadline = time.monotonic() + SETTLE
        complete = len(self.trials()) == len(self.planned())
        kept = f"/var/lib/offload-lab/spool/faults{self.number}-"
        while True:
            now = self.lab.state()
            for node in ("node1", "node2"):
                now[node]["files"] = [
                    name for name in now[node]["files"] if complete or not name.startswith(kept)
                ]
            changes = list(differences(self.before, now))
            if not changes or time.monotonic() > deadline:
                return changes
            time.sleep(1)

    def tso(self, node):
        """Return what the sampler of a node saw last."""
        return int(self.samplers[node - 1][1].read_text().split()[-1])

    def wrong_profiles(self, trials):
        """Return the ids of trials during which the device was not as their profile says, by the
        samplers.

        A trial in which the clock jumped belongs to no time; it must say so itself.
        """
        rows = []
        plan = self.plan()
        for _sampler, path in self.samplers:
            profiles = [line.split() for line in path.read_text().splitlines()]
            rows.append([(float(moment), int(value)) for moment, value in profiles])
        return [
            trial["id"]
            for trial in trials
            if not trial["error"]
            and (
                "clock_jump_s" not in trial
                if abs(trial["finished"] - trial["started"]) > JUMPED
                else any(
                    values_in(profile, trial["started"] + 0.1, trial["finished"] - 0.1)
                    != {int(plan["profiles"][trial["profile"]]["levels"]["tso"] == "on")}
                    for profile in rows
                )
            )
        ]


def values_in(rows, start, end):
    """Return the values that were seen between two moments of one day."""
    near = [(moment, value) for moment, value in rows if abs(moment - start) < 6 * JUMPED]
    before = [value for moment, value in near if moment <= start]
    return set(before[-1:]) | {value for moment, value in near if start < moment < end}
