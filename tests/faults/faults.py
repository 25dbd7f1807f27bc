# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults: what is done to a running campaign, and what mends it where the world must be mended by hand."""
from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from ansible_collections.offload.lab.tests.support import run


def _kill_by_name(world, node, name):
    pids = [pid for pid, comm in world.members(node).items() if comm == name]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(pids)


def controller(world, _random):
    """SIGKILL to ansible-playbook alone."""
    world.kill()


def controller_side(world, _random):
    """SIGKILL to ansible-playbook and all it has started, on the node too."""
    world.kill(everything=True)


def netperf(world, _random):
    """SIGKILL to the netperf of a trial."""
    deadline = time.monotonic() + world.length
    while not _kill_by_name(world, 1, "netperf"):
        if world.process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def netserver(world, random):
    return _kill_by_name(world, random.choice((1, 2)), "netserver")


def vswitchd(world, random):
    return _kill_by_name(world, random.choice((1, 2)), "ovs-vswitchd")


def ovsdb(world, random):
    return _kill_by_name(world, random.choice((1, 2)), "ovsdb-server")


def link(world, random):
    """The underlay goes down and up again."""
    node = random.choice((1, 2))
    world.lab.inside(node, "ip", "link", "set", "underlay0", "down")
    time.sleep(random.uniform(0.1, 3))
    world.lab.inside(node, "ip", "link", "set", "underlay0", "up")


def device(world, random):
    """A tenant's device is removed."""
    world.lab.inside(random.choice((1, 2)), "ip", "-netns", "tenant1", "link", "del", "tenant1-veth0", rc=None)


def _fill(path):
    with suppress(OSError), open(path, "wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)


def controller_disk(world, _random):
    """The disk of the results is full."""
    _fill(world.results / "filler")


def controller_disk_mend(world):
    (world.results / "filler").unlink(missing_ok=True)


def node_disk(world, random):
    """The disk of a node's /var/lib/offload-lab is full."""
    world.filled = random.choice((1, 2))
    world.lab.inside(world.filled, "sh", "-c", "cat /dev/zero >/var/lib/offload-lab/filler 2>/dev/null", rc=None)


def node_disk_mend(world):
    world.lab.inside(world.filled, "rm", "-f", "/var/lib/offload-lab/filler")


def read_only(world, _random):
    """The results folder becomes read-only."""
    return run(["mount", "-o", "remount,ro", world.results], rc=None) == ""


def read_only_mend(world):
    run(["mount", "-o", "remount,rw", world.results])


def truncated(world, random):
    """The controller dies, and trials.jsonl loses its end."""
    world.kill()
    time.sleep(1)
    if not world.record.exists():
        return False
    world.damaged = True
    os.truncate(world.record, random.randrange(world.record.stat().st_size + 1))
    return True


def bit_flipped(world, random):
    """The controller dies, and one bit of trials.jsonl is turned."""
    world.kill()
    time.sleep(1)
    data = bytearray(world.record.read_bytes()) if world.record.exists() else b""
    if not data:
        return False
    world.damaged = True
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    world.record.write_bytes(data)
    return True


def interrupted(world, _random):
    """Ctrl-C."""
    os.killpg(world.process.pid, signal.SIGINT)


def interrupted_twice(world, random):
    """Ctrl-C, and again before it is done."""
    os.killpg(world.process.pid, signal.SIGINT)
    time.sleep(random.uniform(0.05, 1))
    with suppress(ProcessLookupError):
        os.killpg(world.process.pid, signal.SIGINT)


# name: (what is done; False: there was nothing to do it to), what mends the world, whether lab.yml is run after it
FAULTS = {
    "SIGKILL controller": (controller, None, False),
    "SIGKILL controller and its children": (controller_side, None, False),
    "SIGKILL netperf": (netperf, None, False),
    "SIGKILL netserver": (netserver, None, True),
    "SIGKILL ovs-vswitchd": (vswitchd, None, True),
    "SIGKILL ovsdb-server": (ovsdb, None, True),
    "underlay down and up": (link, None, False),
    "tenant's device removed": (device, None, True),
    "controller's disk full": (controller_disk, controller_disk_mend, False),
    "node's disk full": (node_disk, node_disk_mend, False),
    "results read-only": (read_only, read_only_mend, False),
    "trials.jsonl truncated": (truncated, None, False),
    "trials.jsonl, one bit": (bit_flipped, None, False),
    "Ctrl-C": (interrupted, None, False),
    "Ctrl-C twice": (interrupted_twice, None, False),
}
