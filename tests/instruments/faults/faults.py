# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults: what is done to a running campaign, and how the test repairs what nothing else
repairs.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import namedtuple
from contextlib import suppress

from ansible_collections.offload.lab.tests.support import run


def _kill_by_name(world, node, name):
    pids = [pid for pid, comm in world.lab.members(node).items() if comm == name]
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
    deadline = time.monotonic() + 20
    while not _kill_by_name(world, 1, "netperf"):
        if world.process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def netserver(world, random):
    return _kill_by_name(world, random.choice((1, 2)), "netserver-door")


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
    world.lab.inside(
        random.choice((1, 2)), "ip", "-netns", "tenant1", "link", "del", "tenant1-veth0", rc=None
    )


def _fill(path):
    with suppress(OSError), open(path, "wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)


def controller_disk(world, _random):
    """The disk of the results is full."""
    _fill(world.results / "filler")


def controller_disk_repair(world):
    (world.results / "filler").unlink(missing_ok=True)


def node_disk(world, random):
    """The disk of a node's /var/lib/offload-lab is full."""
    world.filled = random.choice((1, 2))
    world.lab.inside(
        world.filled, "sh", "-c", "cat /dev/zero >/var/lib/offload-lab/filler 2>/dev/null", rc=None
    )


def node_disk_repair(world):
    world.lab.inside(world.filled, "rm", "-f", "/var/lib/offload-lab/filler")


def read_only(world, _random):
    """The results folder becomes read-only."""
    return run(["mount", "-o", "remount,ro", world.results], rc=None) == ""


def read_only_repair(world):
    run(["mount", "-o", "remount,rw", world.results])


def _ids(lines):
    """Return the ids in lines of trials.jsonl, without the project's help."""
    return {json.loads(line)["id"] for line in lines}


def truncated(world, random):
    """The controller dies, and trials.jsonl loses its end. What is before that must be kept."""
    world.kill()
    time.sleep(1)
    data = world.record.read_bytes() if world.record.exists() else b""
    size = random.randrange(len(data) + 1)
    world.expected = _ids(data[:size].split(b"\n")[:-1])
    if data:
        os.truncate(world.record, size)
    return bool(data)


def bit_flipped(world, random):
    """The controller dies, and one bit of trials.jsonl is turned. The other lines must be kept."""
    world.kill()
    time.sleep(1)
    data = bytearray(world.record.read_bytes()) if world.record.exists() else bytearray()
    if not data:
        return False
    position = random.randrange(len(data))
    bit = 1 << random.randrange(8)
    hit = data[:position].count(b"\n")  # a newline that is turned joins two lines
    joined = {hit, hit + 1} if data[position] == 10 else {hit}
    world.expected = _ids(
        line for number, line in enumerate(data.split(b"\n")[:-1]) if number not in joined
    )
    data[position] ^= bit
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


def clock(world, _random):
    """The wall clock of all that the campaign runs, on the nodes too, jumps by days."""
    world.jump()


def clock_repair(world):
    world.set_clock(0)


CLOCK = "clock jumps by days"
# What is done (it returns False where there was nothing to do it to), what repairs the world, whether
# lab.yml is run after it, and whether the campaign ends by it.
Fault = namedtuple("Fault", "act repair rebuild ends")
FAULTS = {
    "SIGKILL netperf": Fault(netperf, None, False, False),
    "SIGKILL netserver": Fault(netserver, None, True, False),
    "SIGKILL ovs-vswitchd": Fault(vswitchd, None, True, False),
    "SIGKILL ovsdb-server": Fault(ovsdb, None, True, False),
    "underlay down and up": Fault(link, None, False, False),
    "tenant's device removed": Fault(device, None, True, False),
    CLOCK: Fault(clock, clock_repair, False, False),
    "SIGKILL controller": Fault(controller, None, False, True),
    "SIGKILL controller and its children": Fault(controller_side, None, False, True),
    "controller's disk full": Fault(controller_disk, controller_disk_repair, False, True),
    "node's disk full": Fault(node_disk, node_disk_repair, False, True),
    "results read-only": Fault(read_only, read_only_repair, False, True),
    "trials.jsonl truncated": Fault(truncated, None, False, True),
    "trials.jsonl, one bit": Fault(bit_flipped, None, False, True),
    "Ctrl-C": Fault(interrupted, None, False, True),
    "Ctrl-C twice": Fault(interrupted_twice, None, False, True),
}
