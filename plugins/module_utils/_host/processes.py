# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find and end the processes of namespaces: by the inodes of the namespaces, never by name."""

from __future__ import annotations

import os
import re
import signal
from typing import Iterable

from .._base.errors import LabError
from .waiting import PATIENCE, wait_until

KINDS = ("net", "uts", "mnt")
GRACE = 3.0  # seconds between SIGTERM and SIGKILL
NUMBER = re.compile(r"\[(\d+)\]")


def namespaces_of(pid: int) -> set[int]:
    """Return the inodes of the namespaces that a process is in; none if it has gone."""
    inodes = set()
    for kind in KINDS:
        try:
            match = NUMBER.search(os.readlink(f"/proc/{pid}/ns/{kind}"))
        except OSError:
            continue
        if match:
            inodes.add(int(match.group(1)))
    return inodes


def processes_in(inodes: set[int]) -> list[int]:
    """Return the ids of the processes that are in any of the namespaces; a zombie is in none."""
    if not inodes:
        return []
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return sorted(pid for pid in pids if namespaces_of(pid) & inodes)


def signal_all(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes; some may have ended meanwhile."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def end_processes(inodes: Iterable[int], grace: float = GRACE, patience: float = PATIENCE) -> None:
    """End all processes in the namespaces with SIGTERM, and after ``grace`` seconds with SIGKILL.

    The list is read repeatedly, so a process started meanwhile is ended too. The namespaces of this
    process are never touched.
    """
    inodes = set(inodes) - namespaces_of(os.getpid())
    signalled: set[int] = set()

    def ask_politely() -> bool:
        running = processes_in(inodes)
        signal_all([pid for pid in running if pid not in signalled], signal.SIGTERM)
        signalled.update(running)
        return not running

    def kill() -> bool:
        running = processes_in(inodes)
        signal_all(running, signal.SIGKILL)
        return not running

    if not wait_until(ask_politely, patience=grace) and not wait_until(kill, patience=patience):
        raise LabError(
            f"the processes {', '.join(map(str, processes_in(inodes)))} did not end",
            "the nodes",
            "See what they wait for: cat /proc/PID/stack",
        )


def started_at(pid: int) -> int | None:
    """Return the process's start time in clock ticks since boot, or None: a pid alone may be
    somebody else's by now.
    """
    try:
        with open(f"/proc/{pid}/stat") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])
