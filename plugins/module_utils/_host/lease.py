# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks, and a lease on a folder: a small file that says who has it, for how long, and is renewed
while its holder lives.

The host name and process number of a container mean nothing in the next one. So a lease is judged
by its process only where the kernel and the process namespace are the same, and by its time
everywhere else.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import time
from typing import Any, Dict, Iterator, TextIO, TypedDict

from .._base.errors import LabError
from . import files
from .files import make_results_folder
from .processes import started_at
from .waiting import PATIENCE, wait_until

LABS = files.STATE_FOLDER + "/labs.lock"


def wait_for(descriptor: int, path: str, patience: float = PATIENCE) -> None:
    """Lock an open file or folder, whose ``path`` is for the message; raise LabError where another
    process keeps the lock.
    """

    def locked() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    if not wait_until(locked, patience=patience):
        raise LabError(
            f"another process has held the lock for {patience:g} s",
            path,
            "See which process holds it: lslocks",
        )


def _release_labs(descriptor: int) -> None:
    """Remove the lock's file, and its folder when nothing else is in it."""
    with contextlib.suppress(OSError):
        os.unlink(LABS)
        os.rmdir(os.path.dirname(LABS))
    os.close(descriptor)


def lock_labs(patience: float = PATIENCE) -> None:
    """Wait until no other lab is made or removed; the lock ends with this process.

    The file is in a folder of root's, so no other user can hold the lock.
    """
    while True:
        files.make_state_folder()
        descriptor = _not_a_link(LABS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            wait_for(descriptor, LABS, patience)
        except LabError:
            os.close(descriptor)
            raise
        if _is_at(LABS, descriptor):
            atexit.register(_release_labs, descriptor)
            return
        os.close(descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    """Return whether an open file is still the one at ``path``: another may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _not_a_link(path: str, flags: int, mode: int = 0o640) -> int:
    """Open a lock, which is made if it is missing, but never through a link that somebody else made."""
    return os.open(path, flags | os.O_NOFOLLOW, mode)


@contextlib.contextmanager
def locked(path: str, patience: float = PATIENCE) -> Iterator[TextIO]:
    """Give the file at ``path``, made if it is missing, to this process alone.

    After waiting for the lock, the file may be gone: then it is opened again. Whoever may read the
    file could keep the lock, so the wait has an end: LabError.
    """
    while True:
        with open(path, "a+", encoding="utf-8", opener=_not_a_link) as stream:
            wait_for(stream.fileno(), path, patience)
            if _is_at(path, stream.fileno()):
                yield stream
                return


SPARE = 30  # seconds that a lease is longer than the longest time between two of its renewals
LONGEST = 15 * 60.0  # seconds that slow renewals make a lease last at most
WHO = ("host", "pid", "started", "kernel")
# Who a controller is (WHO), and of its lease "until", "lease" and "pause" in seconds, and "renewed": the boot and
# the monotonic time of the last renewal
Holder = Dict[str, Any]


class LeaseAnswer(TypedDict):
    """The answer to a controller that asks for a lease: whether it got the lease, who has it, and
    whether that controller lives.
    """

    taken: bool
    holder: Holder
    alive: bool | None


def kernel() -> list[str | int]:
    """Return what shows whether a process number of the lease means the same process here."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            boot = stream.read().strip()
    except OSError:
        boot = ""
    return [boot, os.stat("/proc/self/ns/pid").st_ino]


def same(holder: Holder | None, owner: Holder) -> bool:
    """Return whether two descriptions are of one controller."""
    return all(holder.get(key) == owner.get(key) for key in WHO) if holder else False


def alive(holder: Holder) -> bool | None:
    """Return whether a holder lives; None where its process cannot be seen from here."""
    if holder.get("kernel") != kernel():
        return None
    return started_at(holder["pid"]) == holder["started"]


def _read(stream: TextIO) -> Holder | None:
    stream.seek(0)
    try:
        holder = json.loads(stream.read())
        return holder if isinstance(holder.get("pid"), int) else None
    except (ValueError, AttributeError):
        return None  # torn by a crash: who wrote it is dead


def _longest_pause(holder: Holder, now: float) -> float:
    """Return the longest time between two renewals: on a slow machine the tasks between trials take
    minutes.

    A wall clock may jump, and goes on while a machine is suspended. So within one boot the monotonic
    clock counts.
    """
    boot, renewed = holder.get("renewed", (None, 0.0))
    pause = now - holder.get("until", now) + holder.get("lease", 0)
    if boot == kernel()[0]:
        pause = time.monotonic() - renewed
    return float(min(LONGEST - SPARE, max(holder.get("pause", 0), pause)))


def take(
    path: str, owner: Holder, seconds: float, now: float | None = None, silent: Holder | None = None
) -> LeaseAnswer:
    """Take or renew the lease for ``seconds``, longer if its holder is slow, and return who has it.

    ``silent`` is a holder that the caller has watched for long enough: if it has not renewed its
    lease since, it loses it.
    """
    now = time.time() if now is None else now
    make_results_folder(os.path.dirname(os.path.abspath(path)))
    with locked(path) as stream:
        holder = _read(stream)
        lives = alive(holder) if holder else False
        ours = same(holder, owner)
        lost = lives is False or (lives is None and holder == silent)
        if holder and not ours and not lost:
            return {"taken": False, "holder": holder, "alive": lives}
        pause = _longest_pause(holder, now) if holder and ours else 0
        seconds = max(seconds, pause + SPARE)
        renewed = [kernel()[0], time.monotonic()]
        mine = dict(owner, until=now + seconds, lease=seconds, pause=pause, renewed=renewed)
        stream.truncate(0)
        stream.write(json.dumps(mine) + "\n")
        return {"taken": True, "holder": mine, "alive": True}


def give_back(path: str, owner: Holder) -> bool:
    """Give the lease back if it is ours; the file is removed. Return whether it was."""
    if not os.path.exists(path):
        return False
    with locked(path) as stream:
        holder = _read(stream)
        ours = same(holder, owner)
        # None: another released it a moment ago, and opening it has made it again
        if ours or holder is None:
            os.unlink(path)
    return ours
