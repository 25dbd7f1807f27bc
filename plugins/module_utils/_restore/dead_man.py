# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dead man's switch: a process on the node that restores it when no controller has been heard
of for a while, or when it sees harm (_restore/harm.py).

It is armed before the snapshot is written and disarmed after the snapshot is gone: at no moment is
a node changed and unwatched. Servers and probes that were started since it was armed are the
campaign's, and end with it; those that ran before are the lab's. It needs nothing from the
controller: the code that restores is written to the node as one zip file that python3 runs. A
reboot ends the switch, and its files go with /run. It is the process that waits: a systemd timer would have
to be restarted at each sign of life, this takes one utime(2).

It fails safe (docs/decisions/fail-safe.md): restoring depends on no write, on no whole snapshot and on no
other process; a switch that was killed is started again.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Iterable, NamedTuple, Sequence, Union

from .._base.errors import LabError
from .._host import daemons, script
from .._host.daemons import ProcessState
from .._host.runner import run, start
from .._host.waiting import wait_until
from . import fired_mark, harm, node_lease, protection, restore, snapshot
from .fired_mark import ARMED
from .harm import HarmWatch, StrikingWatch, Watchlist
from .node_lease import STATE
from .sign_of_life import ALIVE, FIRED, HEARTBEAT, NOBODY, STRUCK, WATCHED, fired, renew

PROGRAM = "/run/offload-lab/dead_man_switch.zip"
UNIT = "offload-lab-dead-man-switch"
MAIN = f"from {script.PACKAGE}._restore import dead_man\ndead_man.begin()\n"
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
LOCK_S = 0.3  # that a module may still take for its step when the node is to be restored
VERIFY_S = 0.5  # from one reading of the restored node to the next, while a module has the lock
LONGEST_VERIFY_S = 10.0
FIRST_PAUSE_S = 1.0  # after a try that did not restore everything; each is twice the one before
LONGEST_PAUSE_S = 180.0
FIRST = -10  # the priority of the switch, see nice(1)
STRIKE_S = 10.0  # in which a strike restores the node; otherwise the switch fires
FILES = (ALIVE, HEARTBEAT, FIRED, STRUCK, ARMED, PROGRAM, STATE, WATCHED)
AnyWatch = Union[HarmWatch, StrikingWatch]


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
        rhythm_known = len(self._pauses) >= PAUSES_TO_KNOW
        least = LEAST_SILENCE_S if rhythm_known else SILENCE_AT_FIRST_S
        return now - self._since > max(least, PAUSES_OF_SILENCE * max(self._pauses))


def _watching(seconds: float, harms: AnyWatch | None = None) -> str | None:
    """Return why the node is to be restored: no sign of life came for ``seconds``, none will, the
    heartbeat has stopped, or there is harm. None: there is nothing to watch.
    """
    heartbeat = Heartbeat()
    last_sign, since = fired_mark.last_sign()
    pause = HARM_PAUSE_S if harms else min(2, seconds / 10)
    while time.monotonic() - since < seconds:
        try:
            sign = os.stat(ALIVE).st_mtime_ns
        except FileNotFoundError:
            return None
        if sign == NOBODY or heartbeat.has_stopped():
            return LOST
        if sign != last_sign:  # not its age: the wall clock may jump
            last_sign = sign
            since = time.monotonic()
            fired_mark.remember_sign(sign, since)
        looked = time.monotonic()
        harmed = harms.seen() if harms else None
        if harmed:
            return harmed
        time.sleep(max(0.0, looked + pause - time.monotonic()))
    return LOST


def begin() -> None:
    """Run the program that :func:`arm` starts, so that it is not ended by a lack of memory, and runs
    again where it is killed: systemd does that, or a process of our own.
    """
    protection.from_oom_killer()
    if script.by_systemd():
        main()
    else:
        protection.supervise(main)


def main() -> None:
    """Watch, with what the command line says. The switch goes first, with what it starts: on a busy
    node others must not delay it.
    """
    with contextlib.suppress(OSError):  # a container may not be allowed to
        os.setpriority(os.PRIO_PROCESS, 0, FIRST)
    watch(float(sys.argv[1]), sys.argv[2], sys.argv[3:])


def watch(minutes: float, path: str, before: Sequence[str]) -> None:
    """Wait until no controller has been heard of for ``minutes``, or until there is harm, then
    restore the node from the snapshot ``path``, and end all servers and probes but the ones of the
    state files ``before``.

    All that stays is the file FIRED, which says why: a controller that was only asleep must change
    and measure nothing more. It has the snapshot, too, until a controller has read the node back.
    Where something could not be restored the snapshot stays where it was, and the switch tries again.
    """
    watched = {"minutes": minutes, "path": path, "before": list(before)}
    _remember({**watched, "schema": snapshot.SCHEMA})
    reason = fired()
    watcher = Watcher()
    if reason is None:
        reason = watcher.wait(minutes * 60, path)
    if reason is None:
        _forget_own_state()
        return
    fired_mark.set_fired(reason)
    _restore(path, reason)
    watcher.end()
    _end_listeners(before)
    node_lease.release()  # before the state file goes: no other campaign has it yet
    daemons.forget(ALIVE, HEARTBEAT, STATE, PROGRAM, ARMED, WATCHED, STRUCK)


def _remember(state: ProcessState) -> None:
    """Write down what this process watches, and which one starts it again."""
    try:
        daemons.write(STATE, os.getpid(), {**state, "parent": protection.parent()})
    except (
        LabError,
        OSError,
    ) as error:  # whoever arms it misses the file; one that runs again must go on
        _report([f"{STATE} cannot be written ({error})"])


def _forget_own_state() -> None:
    """Remove the state file of this process; another switch may be armed by now."""
    state = find()
    if state and state["pid"] == os.getpid():
        daemons.forget(STATE)


class Watcher:
    """Waits for a reason to restore the node. An error of its own is one: nobody would watch."""

    def __init__(self) -> None:
        self.harms: AnyWatch | None = None

    def wait(self, seconds: float, path: str) -> str | None:
        """Return why the node is to be restored, None where there is nothing to watch."""
        try:
            watched = harm.remembered()
            self.harms = HarmWatch(watched) if watched else None
            if self.harms and watched and watched.get("strikes"):
                self.harms = StrikingWatch(
                    self.harms,
                    restore=lambda: _restore_in_strike(path),
                    read_back=lambda: not _attempt(path).problems,
                )
            return _watching(seconds, self.harms)
        except Exception as error:  # whatever it is: fail safe
            return f"the dead man's switch cannot watch any more ({error!r})"

    def end(self) -> None:
        """End the checks that still run, after the node was restored: one may hang."""
        if self.harms:
            self.harms.end()


def _report(problems: Iterable[str]) -> None:
    """Say what is wrong, in the journal where systemd runs the switch."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write("".join(f"{problem}\n" for problem in problems))
        sys.stderr.flush()


def _end_listeners(before: Sequence[str]) -> None:
    try:
        daemons.stop_listeners(started_since(before))
    except Exception as error:  # the node is restored; that is what counts
        _report([f"a server did not end: {error}"])


class Attempt(NamedTuple):
    """One try to restore the node: whether there is a snapshot, whether something was set, what is wrong,
    and whether a part of the snapshot waits for hardware that is gone.
    """

    exists: bool
    changed: bool
    problems: list[str]
    waits: bool = False


def _attempt(path: str) -> Attempt:
    """Restore what can be restored. No error may end the switch, whatever it is."""
    try:
        restored = restore.restore(path, keep=True, patience=LOCK_S)
        return Attempt(restored["exists"], bool(restored["commands"]), [], bool(restored["kept"]))
    except restore.NotRestoredError as error:
        return Attempt(True, True, [str(error)])
    except Exception as error:
        problem = str(error) if isinstance(error, LabError) else f"{path}: {error!r:.300}"
    try:
        return Attempt(True, True, [problem, *restore.restore_parts(path)])
    except Exception as error:
        return Attempt(True, True, [problem, f"{error!r:.300}"])


def _restore(path: str, reason: str) -> None:
    """Restore the node until it is as it was and no module is about to change it.

    A module that was stopped in its change still has the lock: the node is restored without it, and
    again whenever something has changed. Where something cannot be restored it is tried again without
    end, less and less often.
    """
    pause = FIRST_PAUSE_S
    patience = LOCK_S
    while True:
        with node_lease.settings_held_if_free(patience) as alone:
            attempt = _attempt(path)
            if not attempt.exists:
                return  # a controller has read the node back
            if alone and not attempt.problems:
                if not attempt.waits:
                    fired_mark.keep(reason, path)
                return
        if attempt.problems:
            _report(attempt.problems)
            fired_mark.add_problems(reason, attempt.problems)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
            patience = LOCK_S
        else:  # waiting for the lock is the pause
            pause = FIRST_PAUSE_S
            patience = VERIFY_S if attempt.changed else min(2 * patience, LONGEST_VERIFY_S)


def _restore_in_strike(path: str) -> bool:
    """Restore the node while the campaign goes on; return False where the switch has to fire for it.

    As in :func:`_restore`, a module that was stopped in its change has the lock, and the node is restored
    without it, and again when the module has ended.
    """
    until = time.monotonic() + STRIKE_S
    patience = LOCK_S
    while time.monotonic() < until:
        with node_lease.settings_held_if_free(patience) as alone:
            attempt = _attempt(path)
            if attempt.problems:
                return False
            if alone:
                return True
        patience = VERIFY_S
    return False


def find() -> ProcessState | None:
    """Return what the switch that is armed remembers (``pid``, ``minutes``, ``path``), or None."""
    return daemons.read(STATE)


def before_armed() -> list[str]:
    """Return the state files of the servers and probes that ran before the switch was armed; where
    there is none, of those that run now.
    """
    state = find() or {}
    listeners: list[str] = state.get("before", daemons.listeners())
    return listeners


def started_since(before: Sequence[str]) -> list[str]:
    """Return the state files of the servers and probes that run and are none of those ``before``."""
    return [path for path in daemons.listeners() if path not in before]


def arm(minutes: float, path: str, watched: Watchlist | None = None) -> ProcessState | None:
    """Start the switch, instead of one that waits already, and return what :func:`find` then finds."""
    before = before_armed()
    disarm()
    script.write_program(PROGRAM, MAIN)
    harm.remember(watched)
    fired_mark.prepare()
    with open(ALIVE, "w"):
        pass
    argv = [*script.argv_of_zip(PROGRAM), str(minutes), path, *before]
    if script.by_systemd():
        run(protection.by_systemd(UNIT, argv))
        started = wait_until(lambda: find() is not None, _unit_runs)
    else:
        null = subprocess.DEVNULL
        process = start(argv, start_new_session=True, stdin=null, stdout=null, stderr=null)
        started = wait_until(lambda: find() is not None, lambda: process.poll() is None)
    if not started:
        daemons.forget(*FILES)  # one that starts too late ends without them
        raise LabError("it did not start", "dead man's switch", f"Try: {' '.join(argv)}")
    return find()


def expect_heartbeat(expected: bool) -> None:
    """Have the switch watch the controller's heartbeat, or no longer."""
    if expected:
        with open(HEARTBEAT, "a"):
            pass
    else:
        daemons.forget(HEARTBEAT)


def _unit_runs() -> bool:
    """Return whether systemd runs the switch, or starts it again at this moment."""
    answer = run(["systemctl", "show", "--property=ActiveState", "--value", UNIT], check=False)
    return answer.out.strip() in ("active", "activating")


def disarm() -> None:
    """End the switch and remove all it has on the node; first what would start it again."""
    if os.path.exists(STATE):
        if script.by_systemd():
            run(["systemctl", "stop", UNIT], check=False)
        daemons.stop(filter(None, [_parent()]))
        daemons.stop(filter(None, [find()]))
    daemons.forget(*FILES)


def _parent() -> ProcessState | None:
    """Return the process that starts the switch again, where it lives; the switch itself may not."""
    try:
        with open(STATE) as stream:
            parent: ProcessState | None = json.load(stream)["parent"]
        return parent if parent and daemons.lives(parent) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


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
    "started_since",
    "watch",
]
