# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One trial on the lab's physical path, and what may be done to it meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from ansible_collections.offload.lab.plugins.module_utils._host.waiting import wait_until

PHYSICAL = {"address": "198.18.0.2", "local": "198.18.0.1"}
UNDERLAY = {"name": "underlay0"}
EXPECT = {"vni": 10, "timestamps": True}


PLAIN_PORT = 12990  # of a netserver that is not the lab's
PLAIN = {**PHYSICAL, "port": PLAIN_PORT}


def token_of(lab, host="node2"):
    """Return the token that clients of a node's servers need."""
    return lab.ask("offload.lab.netserver", host, with_token=True)["token"]


def measure(lab, probe, mtu=9000, evidence=None, end=PHYSICAL, **workload):
    """Measure one cell on the physical path and return its trial."""
    load = dict({"test": "TCP_STREAM", "duration": 2}, **workload)
    cell = {"id": "a", "path": "physical", "mtu": mtu, "workload": load, "endpoints": [end]}
    return lab.ask(
        "offload.lab.visit",
        "node1",
        cells=[cell],
        probe=probe,
        token=token_of(lab) if end == PHYSICAL else "",
        expect=EXPECT,
        evidence=evidence,
        watch={"client": [UNDERLAY], "server": [UNDERLAY]},
    )["trials"][0]


def guards(trial):
    return {mark["guard"] for mark in trial["marks"]}


class Meanwhile:
    """Does something while the netperf of a trial runs in a lab's node."""

    def __init__(self, lab, action, delay):
        self.lab = lab
        self.action = action
        self.delay = delay
        self.seen = []
        self.thread = threading.Thread(target=self._wait)

    def _wait(self):
        inode = os.stat(f"/run/netns/{self.lab.name}-node1").st_ino
        deadline = time.monotonic() + 30
        while not self.seen and time.monotonic() < deadline:
            self.seen = [pid for pid in testing("netperf") if inode_of(pid) == inode]
            time.sleep(0.01)
        time.sleep(self.delay)
        self.action(self.seen)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_error):
        self.thread.join()
        assert self.seen


def running(name):
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text().strip() == name:
                yield int(entry.name)
        except OSError:
            continue


def testing(name):
    """Return the processes that carry or answer a test of the underlay: none that is asked for its
    version alone.
    """
    address = PHYSICAL["address"].encode()
    for pid in running(name):
        with suppress(OSError):
            if address in Path(f"/proc/{pid}/cmdline").read_bytes():
                yield pid


def inode_of(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def door(lab):
    """Return the process of node2 that lets clients of its netserver in, on the underlay."""
    inode = os.stat(f"/run/netns/{lab.name}-node2").st_ino
    [pid] = [pid for pid in testing("netserver-door") if inode_of(pid) == inode]
    return pid


@contextmanager
def plain_netserver(lab):
    """Run a netserver that is not the lab's on node2; yield its process."""
    argv = ["netserver", "-D", "-L", f"{PLAIN['address']},4", "-p", str(PLAIN_PORT), "-N"]
    inside = ["nsenter", f"--net=/run/netns/{lab.name}-node2", *argv]
    with subprocess.Popen(inside, stdout=subprocess.DEVNULL) as process:
        listening_at = f"{PLAIN['address']}:{PLAIN_PORT} "
        assert wait_until(lambda: listening_at in lab.inside(2, "ss", "-Hltn"))
        try:
            yield process.pid
        finally:
            process.kill()


@contextmanager
def stopped(pid):
    """Stop a process; yield what lets it go on before the end."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield lambda: os.kill(pid, signal.SIGCONT)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def lost(lab, *packets):
    """Lose packets on their way into node2 without a word: by a routing rule before the rule of its
    own addresses.

    Yields the function that lets them through again before the end, to be called once or not at
    all.
    """
    rule = ("pref", "1", "iif", "underlay0", *packets, "blackhole")
    present = []

    def let_through():
        lab.inside(2, "ip", "rule", "del", *present.pop())

    lab.inside(2, "ip", "rule", "add", "pref", "2", "lookup", "local")
    lab.inside(2, "ip", "rule", "del", "pref", "0")
    try:
        lab.inside(2, "ip", "rule", "add", *rule)
        present.append(rule)
        yield let_through
    finally:
        if present:
            let_through()
        lab.inside(2, "ip", "rule", "add", "pref", "0", "lookup", "local")
        lab.inside(2, "ip", "rule", "del", "pref", "2")


def address(lab, node, tenant):
    """Return a tenant's address: the plan counts through the tenants of a node, then the next node."""
    shown = lab.inside(
        node, "ip", "-o", "-4", "addr", "show", f"tenant{tenant}-veth0", netns=f"tenant{tenant}"
    )
    return shown.split(" inet ")[1].split("/")[0]
