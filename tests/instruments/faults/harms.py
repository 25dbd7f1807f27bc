# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Harms to an existing network while a campaign varies its settings: how long until both
nodes are as they were, and what is left.

Usage: python tests/instruments/faults/harms.py [COUNT [SEED [SECONDS]]]. It ends after SECONDS at the latest.
Needs root.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
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
from ansible_collections.offload.lab.tests.system.pods import ENDS, make_pod, make_tunnel, unlike

CAMPAIGN = {
    "name": "harms",
    "paths": ["pods"],
    "mtus": [9000],
    "factors": ["tx", "gro"],
    "workloads": [{"name": "stream", "engine": "sockets", "test": "TCP_STREAM"}],
    "limit_mbps": 500,  # as on a network that others use; the CPU is free for what is timed
    "blocks": 30,
    "duration": 2,
}
PLACES = [(None, "flannel.1"), (None, "vethpod"), ("pod", "eth0")]
SPOOL = "/var/lib/offload-lab/spool/"
LONGEST = 600  # seconds until a campaign varies something, or ends, on a busy machine too
WITHOUT_CONTROLLER = 90  # seconds; a node alone hears of it by its heartbeat
SOON = 2.0  # seconds in which a node that sees the harm itself is to be restored
# What is done, what repairs it, of what the campaign says one, whether the nodes see it themselves, and the
# device at the second node that is gone with it
Harm = namedtuple("Harm", "do undo said seen gone", defaults=(True, None))


def on(lab, node, *argv, netns=None):
    return lab.inside(node, *argv, netns=netns, rc=None)


def cut(lab, _folder, _process):
    on(lab, 2, "ip", "link", "set", "cni0", "down")


def repair(lab, _folder):
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


def remove(lab, _folder, _process):
    on(lab, 2, "ip", "link", "del", "flannel.1")


def make(lab, _folder):
    make_tunnel(lab, 2)


def kill(_lab, _folder, process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def nothing(_lab, _folder):
    pass


HARMS = {
    "path cut": Harm(cut, repair, ["did not answer"]),
    "peer gone": Harm(leave, come_back, ["did not answer"]),
    "check failed": Harm(fail, be_well, ["the check"]),
    "device removed": Harm(remove, make, ["is gone", "no such network device"], gone="flannel.1"),
    "controller killed": Harm(kill, nothing, [""], seen=False),
}


def features(lab, node, gone=None):
    """Return the features of the path's devices at a node, without the device that is gone."""
    names = [(netns, name) for netns, name in PLACES if (node, name) != (2, gone)]
    return [on(lab, node, "ethtool", "-k", name, netns=netns) for netns, name in names]


def of_both(lab, gone=None):
    """Return the features at both nodes."""
    return [features(lab, node, gone) for node in (1, 2)]


def seconds_to(lab, target, gone):
    """Wait until both nodes have the features that are wanted; return the seconds of each, None where
    it never had.
    """
    begun = time.monotonic()
    took = [None, None]
    while None in took and time.monotonic() - begun < WITHOUT_CONTROLLER:
        for index, node in enumerate((1, 2)):
            if took[index] is None and features(lab, node, gone) == target[index]:
                took[index] = time.monotonic() - begun
        time.sleep(0.02)
    return took


def start(lab, folder):
    """Start the campaign, or go on with it, in a process group of its own."""
    variables = {
        "ends": ENDS,
        "campaign": CAMPAIGN,
        "results_dir": str(folder),
        "health_checks": [["test", "!", "-e", str(folder / "harm")]],
        "live_report": False,
    }
    extra_vars = json.dumps({f"offload_lab_{key}": value for key, value in variables.items()})
    with (folder / "output").open("w") as stream:
        return subprocess.Popen(
            ["ansible-playbook", "playbooks/measure.yml", "-e", extra_vars],
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
    """Do one harm to a campaign; return the seconds to each node restored, and what is wrong."""
    harm = HARMS[name]
    before = of_both(lab)
    state_before = lab.state()
    targets = of_both(lab, harm.gone)
    process = start(lab, folder)
    problems = []
    if until(lambda: of_both(lab) != before, LONGEST) is None:
        problems.append("the campaign varied nothing")
    time.sleep(generator.uniform(0, 6))
    until(lambda: of_both(lab) != before, LONGEST)
    harm.do(lab, folder, process)
    took = seconds_to(lab, targets, harm.gone)
    if None in took:
        problems.append("a node was not restored")
    with suppress(subprocess.TimeoutExpired):
        process.wait(LONGEST)
    harm.undo(lab, folder)
    problems += ended(process, folder, harm)
    if name == "controller killed":
        lab.play("restore", ends=ENDS)
    changes = unlike(state_before, lab.state())
    # What was measured stays there until a controller has recorded it; a killed one has not.
    return took, problems + [text for text in changes if SPOOL not in text]


def ended(process, folder, harm):
    """Return what is wrong with the end of a campaign."""
    problems = []
    if process.poll() is None:
        problems.append("the campaign did not end")
        os.killpg(process.pid, signal.SIGKILL)
    output = (folder / "output").read_text()
    if process.wait() == 0 or not any(ending in output for ending in harm.said):
        endings = " or ".join(harm.said)
        problems.append(f"it ended with {process.returncode} and did not say '{endings}'")
        errors = [line for line in output.splitlines() if "ERROR" in line or "fatal:" in line]
        print(*errors, sep="\n")
    return problems


def shown(took):
    """Return the seconds of both nodes as a reader sees them."""
    times = ["never" if seconds is None else f"{seconds:.1f} s" for seconds in took]
    return " and ".join(times)


def table(rows):
    """Return what was seen of each kind of harm: how many, how many ended well, and the seconds to
    the later node.
    """
    lines = ["harm                 struck   well  median s  longest s  beyond 2 s"]
    for name in HARMS:
        mine = [(max(took), problems) for kind, took, problems in rows if kind == name]
        if not mine:
            continue
        seconds = [last for last, _problems in mine]
        well = sum(not problems for _last, problems in mine)
        late = sum(last > SOON for last in seconds)
        middle = statistics.median(seconds)
        lines.append(
            f"{name:20} {len(mine):6} {well:6} {middle:9.1f} {max(seconds):10.1f} {late:11}"
        )
    return "\n".join(lines)


def go_first():
    """Have what takes the time wait for no other work of this machine; what is restored is not ours."""
    os.setpriority(os.PRIO_PROCESS, 0, -10)


def main(count=10, seed=1, seconds=86400):
    """Strike, print, and return the number of harms after which something was wrong."""
    go_first()
    generator = random.Random(seed)
    end = time.monotonic() + seconds
    rows = []
    lab = Lab("systestharms")
    lab.clear()
    lab.play("nodes")
    try:
        for node in (1, 2):
            make_pod(lab, node)
        with tempfile.TemporaryDirectory(prefix="offload-lab-harms-") as folder:
            while len(rows) < count and time.monotonic() < end:
                name = list(HARMS)[len(rows) % len(HARMS)]
                took, problems = strike(lab, Path(folder), name, generator)
                rows.append(
                    (name, [WITHOUT_CONTROLLER if s is None else s for s in took], problems)
                )
                print(f"{name}: restored after {shown(took)}; {problems or 'ok'}", flush=True)
    finally:
        lab.play("nodes_absent")
    wrong = sum(bool(problems) for _name, _took, problems in rows)
    print(table(rows))
    print(f"{len(rows) - wrong} of {len(rows)} harms ended with both nodes as they were")
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(*map(int, sys.argv[1:]))))
