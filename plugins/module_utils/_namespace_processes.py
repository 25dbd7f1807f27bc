# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find and end the processes of namespaces: by the inodes of the namespaces, never by name."""
from __future__ import annotations

import os
import re
import signal
import time

from ansible_collections.offload.lab.plugins.module_utils._errors import LabError

KINDS = ("net", "uts", "mnt")
GRACE = 3.0  # seconds between SIGTERM and SIGKILL
NUMBER = re.compile(r"\[(\d+)\]")


def namespaces_of(pid):
    """Return the inodes of the namespaces that a process is in; none if it has gone."""
    found = set()
    for kind in KINDS:
        try:
            match = NUMBER.search(os.readlink("/proc/{0}/ns/{1}".format(pid, kind)))
        except OSError:
            continue
        if match:
            found.add(int(match.group(1)))
    return found


def processes_in(inodes):
    """Return the ids of the processes that are in any of the namespaces, zombies apart (they have none)."""
    if not inodes:
        return []
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return sorted(pid for pid in pids if namespaces_of(pid) & inodes)


def signal_all(pids, number):
    """Send a signal to processes, some of which may have ended meanwhile."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def end_processes(inodes, grace=GRACE):
    """End all processes in the namespaces with SIGTERM, and after ``grace`` seconds with SIGKILL.

    The list is read again and again, so that a process started meanwhile is ended too. The namespaces of this
    process are never touched.
    """
    inodes = set(inodes) - namespaces_of(os.getpid())
    deadline = time.monotonic() + grace
    asked = set()
    while True:
        left = processes_in(inodes)
        if not left:
            return
        now = time.monotonic()
        if now > deadline + grace:
            raise LabError("the processes {0} did not end".format(", ".join(map(str, left))), "the nodes",
                           "Look what they wait for: cat /proc/PID/stack")
        if now > deadline:
            signal_all(left, signal.SIGKILL)
        else:
            signal_all([pid for pid in left if pid not in asked], signal.SIGTERM)
            asked.update(left)
        time.sleep(0.02)
