# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A single-host lab of a test: its playbooks, and commands inside its nodes."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from ansible_collections.offload.lab.tests.support import CHECKOUT, NODE_PYTHON, run
from ansible_collections.offload.lab.tests.system import direct

DIGEST = CHECKOUT / "tests/instruments/faults/digest.py"
RECAP = re.compile(
    r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE
)


def changed(output):
    """Return ``{host: tasks that changed something}`` from the recap of a play."""
    counts = {host: int(count) for host, _ok, count, _unreachable, _failed in RECAP.findall(output)}
    # The controller checks the inventory in most playbooks, and changes something in few.
    return {host: count for host, count in counts.items() if host != "localhost" or count}


def changed_by_each(output):
    """Return the same after each of several playbooks of one process; Ansible adds them up."""
    return [changed(recap) for recap in output.split("PLAY RECAP")[1:]]


class Lab:
    """A lab of ``nodes`` nodes under its own name, so that it never meets another one on this
    machine. ``forwarder`` is what a host between them does.
    """

    def __init__(self, name, nodes=2, forwarder="none"):
        self.name = name
        self.nodes = nodes
        self.forwarder = forwarder
        self.hosts = [f"node{number}" for number in range(1, nodes + 1)]
        if forwarder != "none":
            self.hosts.append("forwarder")

    def play(self, playbooks, *arguments, rc=0, timeout=600, **variables):
        """Run playbooks of the collection, "restore revert" for example; ``variables`` are extra
        variables of them.
        """
        argv = [
            "ansible-playbook",
            *(f"playbooks/{name}.yml" for name in playbooks.split()),
            "-e",
            f"ansible_python_interpreter={NODE_PYTHON}",
            *arguments,
        ]
        if variables:
            argv += [
                "-e",
                json.dumps({f"offload_lab_{key}": value for key, value in variables.items()}),
            ]
        return run(
            argv,
            rc=rc,
            timeout=timeout,
            OFFLOAD_LAB_NAME=self.name,
            OFFLOAD_LAB_NODES=str(self.nodes),
            OFFLOAD_LAB_FORWARDER=self.forwarder,
        )

    def up(self, **variables):
        """Make the nodes and the lab."""
        return self.play("nodes lab", **variables)

    def down(self):
        """Remove everything."""
        self.play("teardown nodes_absent")

    def clear(self):
        """Remove what a run that was broken off left, where it left something."""
        names = [path.name for path in Path(SHARED[0]).glob("*")] + run(
            ["ip", "netns", "list"]
        ).split()
        if any(name.startswith(f"{self.name}-") for name in names):
            self.down()

    def module(self, module, host="lab_nodes", rc=0, **arguments):
        """Run one module on a host and return its output."""
        return run(
            [
                *("ansible", host, "-m", module, "-a", json.dumps(arguments)),
                *("-e", f"ansible_python_interpreter={NODE_PYTHON}"),
            ],
            rc=rc,
            OFFLOAD_LAB_NAME=self.name,
            OFFLOAD_LAB_NODES=str(self.nodes),
        )

    def ask(self, module, host, **arguments):
        """Run one module on a host, without a process of Ansible, and return its result."""
        return direct.call(self, host, module, arguments)

    def inside(self, number, *argv, rc=0, netns=None, timeout=60):
        """Run a command inside a node, or inside a tenant of it, and return its output."""
        host = self.host(number)
        state = f"/run/offload-lab/{self.name}-{host}"
        enter = [
            "nsenter",
            f"--net=/run/netns/{self.name}-{host}",
            f"--mount={state}/mnt",
            f"--uts={state}/uts",
        ]
        return run(
            [*enter, *(["ip", "netns", "exec", netns] if netns else []), *argv],
            rc=rc,
            timeout=timeout,
        )

    @staticmethod
    def host(number):
        """Return the name of a host in the inventory, from the number of a node, or unchanged."""
        return f"node{number}" if isinstance(number, int) else number

    def members(self, number):
        """Return ``{pid: name}`` of the processes of a node."""
        inodes = os.stat(f"/run/netns/{self.name}-{self.host(number)}").st_ino
        members_of = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.stat(entry / "ns/net").st_ino == inodes:
                    members_of[int(entry.name)] = (entry / "comm").read_text().strip()
        return members_of

    def state(self):
        """Return everything of all nodes that can be read: settings, files, processes, namespaces."""
        spaces = [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines()]
        state_now = {"netns": sorted(name for name in spaces if name.startswith(self.name + "-"))}
        for host in self.hosts:
            node = state_now[host] = json.loads(self.inside(host, "python3", DIGEST))
            names = Counter(self.members(host).values())
            node["processes"] = {name: count for name, count in names.items() if name != "nsenter"}
        return state_now


def differences(old, new, where=""):
    """Yield the places where two states differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            yield from differences(old.get(key), new.get(key), f"{where}/{key}")
    elif old != new:
        yield f"{where}: {str(old)[-300:]} -> {str(new)[-300:]}"


# What more than one lab uses. While it is not empty, what is in it says whose it is.
SHARED = ("/run/offload-lab", "/var/lib/offload-lab")
# iproute2 mounts it at the first namespace and leaves it.
NOT_OURS = ("/run/netns", "/var/run/netns")
# Podman makes its bridge at the first container and leaves it.
PODMANS = ("cni-podman0", "podman0")
# It exists while there is a lab.
MOUNTPOINT = Path("/var/lib/offload-lab/.offload-lab-mountpoint")
# What carries the name of a lab, or of a test that makes namespaces without one (systest-, ol-).
OWNER = re.compile(
    r"(?:^|/)([\w-]+?)-(?:node\d+|fabric|forwarder)\b|\(([\w-]+)\)$|(?:^|/)(systest-\w+|ol-[\w-]+)$"
)
SECONDS_TO_GO = 30  # generous: a daemon that was asked to end, on a busy machine


def traces():
    """Return what a lab might leave on this machine: namespaces, mounts, links, processes, files."""
    return {
        "namespaces": {line.split()[0] for line in run(["ip", "netns"]).splitlines()},
        "mounts": {
            line.split()[1]
            for line in Path("/proc/mounts").read_text().splitlines()
            if "offload" in line or "netns" in line
        }
        - {*SHARED, *NOT_OURS},
        "links": set(re.findall(r"^\d+: ([^:@]+)", run(["ip", "-o", "link"]), re.MULTILINE))
        - {*PODMANS},
        "files": {
            str(path)
            for root in (*SHARED, "/etc/openvswitch/conf.db")
            for path in list(Path(root).glob("*")) or [Path(root)]
            if path.exists() and not (path == MOUNTPOINT and any(Path(SHARED[0]).glob("*")))
        },
        "processes": set(lab_processes()),
    }


def lab_processes():
    """Yield ``name pid (lab)`` of the processes of labs here; containers and isolated tests have
    others.
    """
    ours = os.stat("/proc/self/ns/pid").st_ino
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            comm = (entry / "comm").read_text().strip()
            if (
                comm.startswith(("ovs", "netserver", "netperf", "offload"))
                and os.stat(entry / "ns/pid").st_ino == ours
            ):
                lab = re.search(
                    r"(?:^|\0)OFFLOAD_LAB_NAME=([\w-]*)",
                    (entry / "environ").read_text(errors="replace"),
                )
                yield f"{comm} {entry.name} ({lab.group(1) if lab else ''})"


def left_behind(before, name=None):
    """Return what was added since ``before``, an earlier :func:`traces`.

    Tests run simultaneously. What carries the name of another lab is ignored: its own test looks
    for it. What carries no name is everybody's, and what is about to go gets its time.
    """
    deadline = time.monotonic() + SECONDS_TO_GO
    while True:
        leftovers = {
            kind: sorted(trace for trace in now - before[kind] if owner(trace) in (None, name))
            for kind, now in traces().items()
        }
        leftovers = {kind: names for kind, names in leftovers.items() if names}
        if not leftovers or time.monotonic() > deadline:
            return leftovers
        time.sleep(0.2)


def owner(trace):
    """Return the name that a trace carries, or None."""
    lab = OWNER.search(trace)
    return next(filter(None, lab.groups())) if lab else None


def features(device):
    """Return the features of one of this machine's own devices as ethtool prints them."""
    return run(["ethtool", "-k", device]) if os.path.exists(f"/sys/class/net/{device}") else ""


def own_devices():
    """Return the devices of this machine's root namespace."""
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


__all__ = [
    "CHECKOUT",
    "Lab",
    "changed",
    "changed_by_each",
    "differences",
    "features",
    "left_behind",
    "own_devices",
    "traces",
]
