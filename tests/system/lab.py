# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A single-host lab of a test: its playbooks, and commands inside its nodes."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

from ansible_collections.offload.lab.tests.support import CHECKOUT, run

DIGEST = CHECKOUT / "tests/faults/digest.py"
RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


def changed(output):
    """Return ``{host: tasks that changed something}`` from the recap of a play."""
    return {host: int(count) for host, _ok, count, _unreachable, _failed in RECAP.findall(output)}


class Lab:
    """A lab of ``nodes`` nodes under its own name, so that it never meets another one on this machine."""

    def __init__(self, name, nodes=2):
        self.name, self.nodes = name, nodes

    def play(self, playbook, *arguments, rc=0, timeout=600, **variables):
        """Run a playbook of the collection; ``variables`` are extra variables of it."""
        argv = ["ansible-playbook", f"playbooks/{playbook}.yml", *arguments]
        if variables:
            argv += ["-e", json.dumps({f"offload_lab_{key}": value for key, value in variables.items()})]
        return run(argv, rc=rc, timeout=timeout, OFFLOAD_LAB_NAME=self.name, OFFLOAD_LAB_NODES=str(self.nodes))

    def up(self, **variables):
        """Make the nodes and the lab."""
        self.play("nodes")
        return self.play("lab", **variables)

    def down(self):
        """Remove everything."""
        self.play("teardown")
        self.play("nodes_absent")

    def module(self, module, host="lab_nodes", rc=0, **arguments):
        """Run one module on a host and return its output."""
        return run(
            ["ansible", host, "-m", module, "-a", json.dumps(arguments)],
            rc=rc,
            OFFLOAD_LAB_NAME=self.name,
            OFFLOAD_LAB_NODES=str(self.nodes),
        )

    def ask(self, module, host, **arguments):
        """Run one module on a host and return its result."""
        output = run(
            ["ansible", host, "-o", "-m", module, "-a", json.dumps(arguments)],
            OFFLOAD_LAB_NAME=self.name,
            OFFLOAD_LAB_NODES=str(self.nodes),
            ANSIBLE_CALLBACK_RESULT_FORMAT="json",
        )
        return json.loads(output[output.index("=> ") + 3 :])

    def inside(self, number, *argv, rc=0, netns=None, timeout=60):
        """Run a command inside a node, or inside a tenant of it, and return its output."""
        state = f"/run/offload-lab/{self.name}-node{number}"
        enter = ["nsenter", f"--net=/run/netns/{self.name}-node{number}", f"--mount={state}/mnt", f"--uts={state}/uts"]
        return run([*enter, *(["ip", "netns", "exec", netns] if netns else []), *argv], rc=rc, timeout=timeout)

    def members(self, number):
        """Return ``{pid: name}`` of the processes of a node."""
        inodes, found = os.stat(f"/run/netns/{self.name}-node{number}").st_ino, {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.stat(entry / "ns/net").st_ino == inodes:
                    found[int(entry.name)] = (entry / "comm").read_text().strip()
        return found

    def state(self):
        """Return everything of all nodes that can be read: settings, files, processes, namespaces."""
        spaces = [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines()]
        found = {"netns": sorted(name for name in spaces if name.startswith(self.name + "-"))}
        for number in range(1, self.nodes + 1):
            node = found[f"node{number}"] = json.loads(self.inside(number, "python3", DIGEST))
            names = Counter(self.members(number).values())
            node["processes"] = {name: count for name, count in names.items() if name != "nsenter"}
        return found


def differences(old, new, where=""):
    """Yield the places where two states differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            yield from differences(old.get(key), new.get(key), f"{where}/{key}")
    elif old != new:
        yield f"{where}: {str(old)[-300:]} -> {str(new)[-300:]}"


def traces():
    """Return what a lab might leave on this machine: namespaces, mounts, links, processes, files."""
    names = {"comm": set()}
    for entry in Path("/proc").glob("[0-9]*/comm"):
        try:
            comm = entry.read_text().strip()
        except OSError:
            continue
        if comm.startswith(("ovs", "netserver", "netperf", "offload")):
            names["comm"].add(f"{comm} {entry.parent.name}")
    return {
        "namespaces": set(run(["ip", "netns"]).splitlines()),
        "mounts": {
            line.split()[1]
            for line in Path("/proc/mounts").read_text().splitlines()
            if "offload" in line or "netns" in line
        },
        "links": set(re.findall(r"^\d+: ([^:@]+)", run(["ip", "-o", "link"]), re.MULTILINE)),
        "files": {
            str(path)
            for root in ("/run/offload-lab", "/var/lib/offload-lab", "/etc/openvswitch/conf.db")
            for path in [Path(root), *Path(root).glob("*")]
            if path.exists()
        },
        "processes": names["comm"],
    }


def left_behind(before):
    """Return what is there now and was not at ``before``, an earlier :func:`traces`; other labs may have gone."""
    found = {kind: sorted(now - before[kind]) for kind, now in traces().items()}
    return {kind: names for kind, names in found.items() if names}


def features(device):
    """Return the features of one of this machine's own devices as ethtool prints them."""
    return run(["ethtool", "-k", device]) if os.path.exists(f"/sys/class/net/{device}") else ""


def own_devices():
    """Return the devices of this machine's root namespace."""
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


__all__ = ["CHECKOUT", "Lab", "changed", "differences", "features", "left_behind", "own_devices", "traces"]
