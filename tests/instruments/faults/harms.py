# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Harms to a network that is there already while a campaign varies its settings: how long until both
nodes are as they were, and what is left.

Usage: python tests/instruments/faults/harms.py [COUNT [SEED]]. Needs root.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / ".build" / "live"))

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment
from ansible_collections.offload.lab.tests.system.lab import Lab
from ansible_collections.offload.lab.tests.system.pods import ENDS, make_pod, unlike

CAMPAIGN = {
    "name": "harms",
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["tx", "gro"],
    "workloads": ["tcp_stream"],
    "blocks": 30,
    "duration": 2,
}
PLACES = [(None, "flannel.1"), (None, "vethpod"), ("pod", "eth0")]
SPOOL = "/var/lib/offload-lab/spool/"
LONGEST = 120  # seconds until a campaign varies something, or ends
WITHOUT_CONTROLLER = 90  # seconds; a node alone hears of it by its heartbeat
Harm = namedtuple("Harm", "do undo said")


def on(lab, node, *argv, netns=None):
    return lab.inside(node, *argv, netns=netns, rc=None)


def cut(lab, _folder, _process):
    on(lab, 2, "ip", "link", "set", "cni0", "down")


def mend(lab, _folder):
    on(lab, 2, "ip", "link", "set", "cni0", "up")


def leave(lab, _folder, _process):
    on(lab, 2, "ip", "link", "set", "lo", "up", netns="pod")
    on(lab, 2, "ip", "addr", "del", "10.244.2.5/24", "dev", "eth0", netns="pod")


def come_back(lab, _folder):
    on(lab, 2, "ip", "addr", "add", "10.244.2.5/24", "dev", "eth0", netns="pod")
    on(lab, 2, "ip", "route", "add", "default", "via", "10.244.2.1", netns="pod")


def fail(_lab, folder, _process):
    (folder / "harm").touch()


def be_well(_lab, folder):
    (folder / "harm").unlink()


def kill(_lab, _folder, process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def nothing(_lab, _folder):
    pass


HARMS = {
    "path cut": Harm(cut, mend, "did not answer"),
    "peer gone": Harm(leave, come_back, "did not answer"),
    "check failed": Harm(fail, be_well, "the check"),
    "controller killed": Harm(kill, nothing, ""),
}


def features(lab):
    """Return the features of the devices of the path at both nodes."""
    return [
        on(lab, node, "ethtool", "-k", name, netns=netns)
        for node in (1, 2)
        for netns, name in PLACES
    ]


def start(lab, folder):
    """Start the campaign, or go on with it, in a process group of its own."""
    variables = {
        "ends": ENDS,
        "campaign": CAMPAIGN,
        "results_dir": str(folder),
        "health_checks": [["test", "!", "-e", str(folder / "harm")]],
        "live_report": False,
    }
    words = json.dumps({f"offload_lab_{key}": value for key, value in variables.items()})
    with (folder / "output").open("w") as stream:
        return subprocess.Popen(
            ["ansible-playbook", "playbooks/measure.yml", "-e", words],
            cwd=CHECKOUT,
            env=environment(OFFLOAD_LAB_NAME=lab.name, OFFLOAD_LAB_NODES="2"),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )


def until(condition, seconds):
    """Wait until something is so; return the seconds that it took, None where it never was."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        if condition():
            return time.monotonic() - begun
        time.sleep(0.02)
    return None


def strike(lab, folder, name, generator):
    """Do one harm to a campaign; return the seconds to both nodes restored, and what is wrong."""
    harm = HARMS[name]
    before = features(lab)
    found = lab.state()
    process = start(lab, folder)
    problems = []
    if until(lambda: features(lab) != before, LONGEST) is None:
        problems.append("the campaign varied nothing")
    time.sleep(generator.uniform(0, 6))
    until(lambda: features(lab) != before, LONGEST)
    harm.do(lab, folder, process)
    took = until(lambda: features(lab) == before, WITHOUT_CONTROLLER)
    if took is None:
        problems.append("the nodes were not restored")
    with suppress(subprocess.TimeoutExpired):
        process.wait(LONGEST)
    harm.undo(lab, folder)
    if process.poll() is None:
        problems.append("the campaign did not end")
        os.killpg(process.pid, signal.SIGKILL)
    if process.wait() == 0 or harm.said not in (folder / "output").read_text():
        problems.append(f"it ended with {process.returncode} and did not say '{harm.said}'")
    if name == "controller killed":
        lab.play("restore", ends=ENDS)
    left = unlike(found, lab.state())
    # What was measured stays there until a controller has recorded it; a killed one has not.
    return took, problems + [text for text in left if SPOOL not in text]


def main(count=8, seed=1):
    """Strike, print, and return the number of harms after which something was wrong."""
    generator = random.Random(seed)
    wrong = 0
    lab = Lab("systestharms")
    lab.clear()
    lab.play("nodes")
    try:
        for node in (1, 2):
            make_pod(lab, node)
        with tempfile.TemporaryDirectory(prefix="offload-lab-harms-") as folder:
            for number in range(count):
                name = list(HARMS)[number % len(HARMS)]
                took, problems = strike(lab, Path(folder), name, generator)
                wrong += bool(problems)
                shown = "never" if took is None else f"{took:.1f} s"
                print(f"{name}: restored after {shown}; {problems or 'ok'}", flush=True)
    finally:
        lab.play("nodes_absent")
    print(f"{count - wrong} of {count} harms ended with both nodes as they were")
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(*map(int, sys.argv[1:]))))
