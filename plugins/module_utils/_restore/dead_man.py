# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dead man's switch: a process on the node that restores it when no controller has been heard
of for a while, or when it sees harm (_restore/harm.py).

It is armed before the snapshot is written and disarmed after the snapshot is gone: at no moment is
a node changed and unwatched. Servers and probes that were started since it was armed are the
campaign's, and end with it; those that ran before are the lab's. It needs nothing from the
controller: the code that restores is written to the node as one zip file that python3 runs. A
reboot ends the switch, and its files go with /run. It waits by itself: a systemd timer would have
to be restarted at each sign of life, this takes one utime(2).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from typing import Sequence

from .._base.errors import LabError
from .._host import daemons, files, program, script
from .._host.daemons import ProcessState
from .._host.runner import run, start
from .._host.waiting import wait_until
from . import harm, restore
from .harm import HarmWatch, Watchlist
from .sign_of_life import ALIVE, FIRED, HEARTBEAT, NOBODY, WATCHED, renew

PROGRAM = "/run/offload-lab/dead_man_switch.zip"
STATE = "/run/offload-lab/dead_man_switch.json"
UNIT = "offload-lab-dead-man-switch"
MAIN = f"from {program.PACKAGE}._restore import dead_man\ndead_man.main()\n"
ATTEMPTS = 5
# A heartbeat has stopped after this silence, or after four of its longest pauses so far: the bound
# follows the pace of this controller and this node. The pace is known after a few beats; until then the
# bound is a longer one.
LEAST_SILENCE_S = 20.0
SILENCE_AT_FIRST_S = 60.0
PAUSES_OF_SILENCE = 4
PAUSES_TO_GUESS = 2  # the first may be that from arming to the first beat
PAUSES_TO_KNOW = 3
LOST = "no controller was heard of"
HARM_PAUSE_S = 0.2  # from one look for harm to the next
FIRST = -10  # the priority of the switch, see nice(1)
FILES = (ALIVE, HEARTBEAT, FIRED, PROGRAM, STATE, WATCHED)


class Heartbeat:
    """The controller's heartbeat as the node sees it."""

    def __init__(self) -> None:
        self._beat: int | None = None
        self._since = time.monotonic()
        self._pauses: list[float] = []

    def has_stopped(self) -> bool:
        """Return whether the controller's process is gone; False where there never was one."""
        now = time.monotonic()
        try:
            beat = os.stat(HEARTBEAT).st_mtime_ns
        except OSError:
            self._beat = None
            self._pauses = []
            return False
        if beat != self._beat:
            if self._beat is not None:
                self._pauses.append(now - self._since)
            self._beat = beat
            self._since = now
            return False
        if len(self._pauses) < PAUSES_TO_GUESS:
            return False
        known = len(self._pauses) >= PAUSES_TO_KNOW
        least = LEAST_SILENCE_S if known else SILENCE_AT_FIRST_S
        return now - self._since > max(least, PAUSES_OF_SILENCE * max(self._pauses))


def _watching(seconds: float, harms: HarmWatch | None = None) -> str | None:
    """Return why the node is to be restored: no sign of life came for ``seconds``, none will, the
    heartbeat has stopped, or there is harm. None: there is nothing to watch.
    """
    heartbeat = Heartbeat()
    seen: int | None = None
    since = time.monotonic()
    pause = HARM_PAUSE_S if harms else min(2, seconds / 10)
    while time.monotonic() - since < seconds:
        try:
            sign = os.stat(ALIVE).st_mtime_ns
        except OSError:
            return None
        if sign == NOBODY or heartbeat.has_stopped():
            return LOST
        if sign != seen:  # not its age: the wall clock may jump
            seen = sign
            since = time.monotonic()
        looked = time.monotonic()
        harmed = harms.seen() if harms else None
        if harmed:
            return harmed
        time.sleep(max(0.0, looked + pause - time.monotonic()))
    return LOST


def main() -> None:
    """Watch, as the program that :func:`arm` starts. It goes first, with what it starts: on a busy node
    others must not delay it.
    """
    with contextlib.suppress(OSError):  # a container may not be allowed to
        os.setpriority(os.PRIO_PROCESS, 0, FIRST)
    watch(float(sys.argv[1]), sys.argv[2], sys.argv[3:])


def watch(minutes: float, path: str, before: Sequence[str]) -> None:
    """Wait until no controller has been heard of for ``minutes``, or until there is harm, then
    restore the node from the snapshot ``path``, and end all servers and probes but those of the
    state files ``before``.

    All that stays is the file FIRED, which says why: a controller that was only asleep must change
    and measure nothing more. Where something could not be restored the snapshot stays, too.
    """
    watched = harm.remembered()
    daemons.write(STATE, os.getpid(), {"minutes": minutes, "path": path, "before": list(before)})
    harms = HarmWatch(watched) if watched else None
    reason = _watching(minutes * 60, harms)
    if harms:
        harms.end()
    if reason is None:
        return
    files.write(FIRED, f"{reason}\n")
    _restore(minutes, path)
    daemons.stop_listeners(started_since(before))
    daemons.forget(ALIVE, HEARTBEAT, STATE, PROGRAM, WATCHED)


def _restore(minutes: float, path: str) -> None:
    for _attempt in range(ATTEMPTS):
        try:
            restore.restore(path)
            break
        except (LabError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            time.sleep(min(10, minutes * 60))


def find() -> ProcessState | None:
    """Return what the switch that is armed remembers (``pid``, ``minutes``, ``path``), or None."""
    return daemons.read(STATE)


def before_armed() -> list[str]:
    """Return the state files of the servers and probes that ran before the switch was armed; where
    there is none, of those that run now.
    """
    state = find() or {}
    found: list[str] = state.get("before", daemons.listeners())
    return found


def started_since(before: Sequence[str]) -> list[str]:
    """Return the state files of the servers and probes that run and are none of those ``before``."""
    return [path for path in daemons.listeners() if path not in before]


def arm(minutes: float, path: str, watched: Watchlist | None = None) -> ProcessState | None:
    """Start the switch, instead of one that waits already, and return what :func:`find` then finds."""
    before = before_armed()
    disarm()
    program.write(PROGRAM, MAIN)
    harm.remember(watched)
    with open(ALIVE, "w"):
        pass
    argv = [*script.argv_of_zip(PROGRAM), str(minutes), path, *before]
    if program.by_systemd():
        run(["systemd-run", "--quiet", "--collect", "--unit=" + UNIT] + argv)
        started = wait_until(lambda: find() is not None, _unit_runs)
    else:
        null = subprocess.DEVNULL
        process = start(argv, start_new_session=True, stdin=null, stdout=null, stderr=null)
        started = wait_until(lambda: find() is not None, lambda: process.poll() is None)
    if not started:
        raise LabError("it did not start", "dead man's switch", f"Try: {' '.join(argv)}")
    return find()


def expect_heartbeat(expected: bool) -> None:
    """Have the switch watch the controller's heartbeat, or no longer."""
    if expected:
        with open(HEARTBEAT, "a"):
            pass
    else:
        daemons.forget(HEARTBEAT)


def settle() -> None:
    """Wait for a switch that restores the node at this moment."""
    if os.path.exists(FIRED):
        wait_until(lambda: find() is None)


def _unit_runs() -> bool:
    return run(["systemctl", "is-active", "--quiet", UNIT], check=False).rc == 0


def disarm() -> None:
    """End the switch and remove all it has on the node."""
    daemons.stop(filter(None, [find()]))
    daemons.forget(*FILES)


def leftovers() -> list[str]:
    """Return the files of the switch that are on the node."""
    return [path for path in FILES if os.path.exists(path)]


__all__ = [
    "arm",
    "before_armed",
    "disarm",
    "expect_heartbeat",
    "find",
    "leftovers",
    "renew",
    "settle",
    "started_since",
    "watch",
]
