# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of its own for a test of the dead man's switch: namespaces with small file systems, a pair of
devices, and programs that stop where the test says. All of it ends with one process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from ansible_collections.offload.lab.tests.support import CHECKOUT, environment

COLLECTIONS = CHECKOUT / ".build/live"
MODULES = "ansible_collections.offload.lab.plugins.modules"
DEVICE = "ol0"
SNAPSHOT = "/mnt/snapshot.json"  # /mnt is the node's /var
FIRED = "/run/offload-lab/dead_man_switch.fired"
STATE = "/run/offload-lab/dead_man_switch.json"
HARM = "/tmp/harm"
CHECK = ["test", "!", "-e", HARM]
SECONDS = 90  # that anything may take, on a busy machine too
MAKE = f"""set -eu
mount -t sysfs sysfs /sys
mount -t tmpfs -o size=8m tmpfs /run
mount -t tmpfs -o size=8m tmpfs /mnt
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /usr/local/sbin
ip link set lo up
ip link add {DEVICE} type veth peer name ol1
exec sleep infinity
"""
# A program of the node in front of the real one: it acts when the words of its command line have CHANGE,
# and once. $PPID is the module.
PROGRAM = """#!/bin/sh
real={real}
act() {{ mkdir /tmp/acted 2>/dev/null; }}
case " $* " in *"{change}"*) changes=1 ;; *) changes= ;; esac
{do}
exec "$real" "$@"
"""
STOP = {
    # Between the renewal and the change: the module stops when it reads.
    "before": 'if act; then kill -STOP "$PPID"; fi',
    # Between the last check and the change.
    "pending": 'if [ "$changes" ] && act; then kill -STOP $$; fi',
    # Between the change and the end of the module.
    "after": 'if [ "$changes" ] && act; then "$real" "$@"; kill -STOP "$PPID"; exit 0; fi',
    # Something else sets the old value again, while a file is there.
    "fight": '"$real" "$@"; status=$?; if [ -e /tmp/fight ]; then {fight}; fi; exit $status',
}


def until(condition, seconds=SECONDS):
    """Wait until something is so; return whether it is."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


class PrivateNode:
    """Usage: ``with PrivateNode() as node``. Its file systems are seen below ``node.root``."""

    def __enter__(self):
        shares = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.outer = subprocess.Popen(["unshare", *shares, "sh", "-c", MAKE])
        assert until(lambda: self._inner() and self.path("/sys/class/net/ol1").exists())
        return self

    def __exit__(self, *_error):
        self.outer.kill()
        self.outer.wait()

    def _inner(self):
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text()
        return int(children.split()[0]) if children else None

    def path(self, path):
        """Return where a path of the node is for this process."""
        return Path(f"/proc/{self._inner()}/root{path}")

    def enter(self, *argv):
        """Return the command that runs another one in the node."""
        return ["nsenter", f"--target={self._inner()}", "--net", "--mount", "--pid", "--", *argv]

    def run(self, *argv, check=True):
        """Run a command in the node and return its output."""
        done = subprocess.run(
            self.enter(*map(str, argv)), capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def start(self, name, **arguments):
        """Start a module in the node; :meth:`answer` waits for it."""
        process = subprocess.Popen(
            self.enter(sys.executable, "-m", f"{MODULES}.{name}"),
            env=environment(
                LD_PRELOAD=os.environ.get("NODE_PRELOAD", ""), PYTHONPATH=str(COLLECTIONS)
            ),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        process.stdin.close()
        process.stdin = None
        return process

    @staticmethod
    def answer(process):
        """Return what a module has returned."""
        out, err = process.communicate(timeout=2 * SECONDS)
        assert out, err
        return json.loads(out)

    def module(self, name, **arguments):
        """Run a module in the node; it must succeed."""
        answer = self.answer(self.start(name, **arguments))
        assert not answer.get("failed"), answer
        return answer

    def install(self, program, change, stop, fight=""):
        """Put a program in front of the real one; see STOP."""
        real = self.run("sh", "-c", f"command -v {program}").strip()
        path = self.path(f"/usr/local/sbin/{program}")
        do = STOP[stop].replace("{fight}", fight)
        path.write_text(PROGRAM.format(real=real, change=change, do=do))
        path.chmod(0o755)

    def stopped(self):
        """Return the processes of the node that are stopped."""
        home = os.readlink(f"/proc/{self._inner()}/ns/pid")
        pids = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state == "T" and os.readlink(entry / "ns/pid") == home:
                    pids.append(int(entry.name))
        return pids

    def go_on(self, module):
        """Let stopped processes go on; nsenter stops with what it has started."""
        for pid in [*self.stopped(), module.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def arm(self, minutes=10, commands=(CHECK,), **more):
        """Arm the switch and keep the node's state."""
        self.module(
            "dead_man_switch",
            minutes=minutes,
            path=SNAPSHOT,
            harms={"commands": list(commands), "controller": False},
            **more,
        )
        self.module("snapshot", path=SNAPSHOT, devices=[DEVICE])

    def change(self, **more):
        """Turn segmentation off, as a campaign does."""
        return self.start(
            "ethtool",
            devices=[DEVICE],
            features={"tso": False},
            sign_of_life=True,
            snapshot=SNAPSHOT,
            **more,
        )

    def tso(self):
        """Return whether segmentation is on."""
        listed = self.run("/usr/sbin/ethtool", "-k", DEVICE)
        return "tcp-segmentation-offload: on" in listed

    def mtu(self):
        """Return the MTU of the device."""
        return int(self.path(f"/sys/class/net/{DEVICE}/mtu").read_text())

    def state(self):
        """Return the state file of the switch."""
        return json.loads(self.path(STATE).read_text())

    def fired(self):
        """Return whether the switch has fired."""
        return self.path(FIRED).exists()

    def harm(self):
        """Do harm: the user's check fails from now on."""
        self.path(HARM).touch()

    def files(self):
        """Return the files that the switch has."""
        folder = self.path("/run/offload-lab")
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
