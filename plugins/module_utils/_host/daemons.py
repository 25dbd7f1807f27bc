# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that go on after their module: each is known by a state file with its pid and start
time.

A pid alone may be somebody else's by now, and daemons of others may have the same name.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from typing import Any, Callable, Collection, Dict, Iterable

from .._base.errors import LabError
from . import files, script
from .processes import started_at
from .waiting import PATIENCE, wait_until

FOLDER = files.STATE_FOLDER
# What a campaign has listening on a node: the beginnings of the names of their state files
SERVER = "netserver-"
PROBE = "probe-"
MOST_FILES = 4096  # of those that this process has open
GRACE = 10.0  # seconds between SIGTERM and SIGKILL
ProcessState = Dict[str, Any]  # what a state file has: "pid", "started", and what its writer adds


def write(path: str, pid: int, state: ProcessState, mode: int = 0o644) -> None:
    """Write the state file of the process ``pid``; ``state`` is what else is to be known of it."""
    files.write(path, json.dumps({**state, "pid": pid, "started": started_at(pid)}), mode)


def detach(work: Callable[[], object], keep: Collection[int]) -> int:
    """Do ``work`` in a process of its own session that keeps nothing of this one but the files
    ``keep``; return its pid.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        os.waitpid(child, 0)
        with os.fdopen(read_end) as stream:
            return int(stream.read())
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.write(write_end, str(os.getpid()).encode())
        for descriptor in set(range(3, MOST_FILES)) - set(keep):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        script.forget_archive()
        work()
    finally:
        os._exit(1)


def lives(state: ProcessState) -> bool:
    """Return whether the process of a state is there.

    A process that is ending keeps its port for a moment, so it still lives.
    """
    return started_at(state["pid"]) == state["started"]


def read(path: str, belongs: Callable[[ProcessState], bool] | None = None) -> ProcessState | None:
    """Return the state of a daemon that lives, or None. ``belongs`` may refuse a state that is
    another's.
    """
    try:
        with open(path) as stream:
            state = json.load(stream)
        return state if lives(state) and (belongs is None or belongs(state)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def stop(states: Iterable[ProcessState], group: bool = False) -> None:
    """End the processes of these states and wait until they are gone; with ``group`` their
    children, too.
    """
    states = list(states)
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, PATIENCE)):
        for state in filter(lives, states):
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if group else os.kill)(state["pid"], number)
        if wait_until(lambda: not any(map(lives, states)), patience=patience):
            return
    pids = ", ".join(str(state["pid"]) for state in filter(lives, states))
    raise LabError(
        f"did not end within {PATIENCE:.0f} s after it was killed",
        f"process {pids}",
        "See what it waits for: cat /proc/PID/stack",
    )


def state_files(prefix: str) -> list[str]:
    """Return the state files whose names begin so, sorted."""
    try:
        names = sorted(os.listdir(FOLDER))
    except OSError:
        return []
    ours = [name for name in names if name.startswith(prefix) and name.endswith(".json")]
    return [os.path.join(FOLDER, name) for name in ours]


def listeners() -> list[str]:
    """Return the state files of the servers and probes of this node."""
    return state_files(SERVER) + state_files(PROBE)


def stop_listeners(paths: Iterable[str]) -> None:
    """End the servers and probes of these state files, and remove the files.

    A server has a session of its own, with a process for each test that it serves.
    """
    paths = list(paths)
    for prefix, group in ((SERVER, True), (PROBE, False)):
        of_engine = [path for path in paths if os.path.basename(path).startswith(prefix)]
        stop(filter(None, map(read, of_engine)), group=group)
        forget(*of_engine)


def forget(*paths: str) -> None:
    """Remove files of daemons, and their folders when nothing else is in them."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
        with contextlib.suppress(OSError):  # others keep their state here too
            os.rmdir(os.path.dirname(path))
