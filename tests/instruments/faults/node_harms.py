# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Harms that a node sees itself, to two nodes whose settings are varied while their switches watch: how
long until both are as they were, and what is left. Without a campaign, COUNT harms take minutes.

Usage: python tests/instruments/faults/node_harms.py [COUNT [SEED [SECONDS]]]. It ends after SECONDS at the
latest. Needs root.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / ".build" / "live"))

from ansible_collections.offload.lab.plugins.module_utils._restore.sign_of_life import FIRED
from ansible_collections.offload.lab.tests.instruments.faults.harms import (
    HARMS,
    PLACES,
    SOON,
    go_first,
    of_both,
    on,
    seconds_to,
    shown,
    table,
)
from ansible_collections.offload.lab.tests.system.lab import Lab
from ansible_collections.offload.lab.tests.system.pods import make_pod, unlike

SEEN = [name for name, harm in HARMS.items() if harm.seen]
NODES = {1: "node1", 2: "node2"}
DEVICES = [{"name": name, "netns": netns} for netns, name in PLACES]
FEATURES = ("tx", "gro", "sg")
LONGEST_WAIT = 3.0  # seconds from the change of the settings to the harm


def watched(node, folder):
    """Return what the switch of a node watches."""
    return {
        "answers": [{"netns": "pod", "address": f"10.244.{3 - node}.5"}],
        "devices": DEVICES,
        "commands": [["test", "!", "-e", str(folder / "harm")]],
    }


def arm(lab, folder):
    """Arm the switch of both nodes; return what is wrong."""
    problems = []
    for node, host in NODES.items():
        armed = lab.ask("dead_man_switch", host, minutes=10, harms=watched(node, folder))
        lab.ask("snapshot", host, devices=DEVICES)
        if armed.get("silent"):
            problems.append(f"{host} does not watch {armed['silent']}")
    return problems


def vary(lab, generator):
    """Change one to three features of the path's devices at both nodes."""
    names = generator.sample(FEATURES, generator.randint(1, len(FEATURES)))
    features = {name: False for name in names}
    features["gro"] = True  # of a veth it is off by default
    for host in NODES.values():
        lab.ask("ethtool", host, devices=DEVICES, features=features)


def fired(lab):
    """Return why switches have restored their node, of those that have."""
    marks_fired = [on(lab, node, "cat", FIRED) for node in NODES]
    return [text.strip() for text in marks_fired if "No such file" not in text]


def strike(lab, folder, name, generator):
    """Do one harm; return the seconds to each node restored, and what is wrong. The seconds are None
    where a switch saw harm before, as on a machine that is too busy to run the check in two seconds.
    """
    harm = HARMS[name]
    before = of_both(lab)
    state_before = lab.state()
    targets = of_both(lab, harm.gone)
    problems = arm(lab, folder)
    took = None
    vary(lab, generator)
    if any(now == then for now, then in zip(of_both(lab), before)):
        problems.append("a node was not changed")
    time.sleep(generator.uniform(0, LONGEST_WAIT))
    too_early = fired(lab)
    if not too_early:
        harm.do(lab, folder, None)
        took = seconds_to(lab, targets, harm.gone)
        harm.undo(lab, folder)
    for host in NODES.values():
        lab.ask("dead_man_switch", host, state="disarmed")
        lab.ask("restore", host)
        lab.ask("snapshot", host, state="absent")
    if too_early:
        return None, too_early + unlike(state_before, lab.state())
    if None in took:
        problems.append("a node was not restored")
    return took, problems + unlike(state_before, lab.state())


def main(count=100, seed=1, seconds=86400):
    """Strike, print, and return the number of harms after which something was wrong, or a node was not
    restored soon enough.
    """
    go_first()
    generator = random.Random(seed)
    end = time.monotonic() + seconds
    rows = []
    lab = Lab("systestnodeharms")
    lab.clear()
    lab.play("nodes")
    try:
        for node in NODES:
            make_pod(lab, node)
        with tempfile.TemporaryDirectory(prefix="offload-lab-harms-") as folder:
            while len(rows) < count and time.monotonic() < end:
                name = SEEN[len(rows) % len(SEEN)]
                took, problems = strike(lab, Path(folder), name, generator)
                if took is None:
                    print(f"{name}: not struck, {problems}", flush=True)
                    continue
                rows.append((name, [float("inf") if s is None else s for s in took], problems))
                print(f"{name}: restored after {shown(took)}; {problems or 'ok'}", flush=True)
    finally:
        lab.play("nodes_absent")
    well = [took for _name, took, problems in rows if not problems]
    print(table(rows))
    print(f"{len(well)} of {len(rows)} harms ended with both nodes as they were")
    soon = sum(max(took) <= SOON for took in well)
    print(f"{soon} of them within {SOON:.0f} s")
    return len(rows) - soon


if __name__ == "__main__":
    sys.exit(min(1, main(*map(int, sys.argv[1:]))))
