# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lease on a folder: a small file that says who has it, for how long, and is renewed while its
holder lives.

The host name and process number of a container mean nothing in the next one. So a lease is judged
by its process only where the kernel and the process namespace are the same, and by its time
everywhere else.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import Any, Dict, Iterator, TextIO, TypedDict

from .processes import started_at

SPARE = 30  # seconds that a lease is longer than the longest time between two of its renewals
WHO = ("host", "pid", "started", "kernel")
Holder = Dict[
    str, Any
]  # who a controller is (WHO), and of its lease "until", "lease" and "pause" in seconds


class Answer(TypedDict):
    """The answer to whoever asks for a lease: whether it has it, who does, and whether that one
    lives.
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
    """Return whether a holder lives: True or False where its process can be looked at, None where
    it cannot.
    """
    if holder.get("kernel") != kernel():
        return None
    return started_at(holder["pid"]) == holder["started"]


def _is_at(path: str, stream: TextIO) -> bool:
    """Return whether an open file is still the one at ``path``: another one may be given back at
    any time.
    """
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    """Give the lease's file, to ourselves.

    After waiting, the file may be gone: then it is opened again.
    """
    while True:
        with open(path, "a+", encoding="utf-8") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            if _is_at(path, stream):
                yield stream
                return


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
    """
    return max(holder.get("pause", 0), now - holder.get("until", now) + holder.get("lease", 0))


def take(
    path: str, owner: Holder, seconds: float, now: float | None = None, silent: Holder | None = None
) -> Answer:
    """Take or renew the lease for ``seconds``, longer if its holder is slow; return ``{"taken",
    "holder", "alive"}``.

    ``holder`` and ``alive`` are of who has it. ``silent`` is a holder that the caller has watched
    for long enough: if it still has not renewed its lease, it loses it.
    """
    now = time.time() if now is None else now
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with _opened(path) as stream:
        holder = _read(stream)
        lives = alive(holder) if holder else False
        if (
            holder
            and not same(holder, owner)
            and lives is not False
            and (lives or holder != silent)
        ):
            return {"taken": False, "holder": holder, "alive": lives}
        pause = _longest_pause(holder, now) if holder and same(holder, owner) else 0
        seconds = max(seconds, pause + SPARE)
        mine = dict(owner, until=now + seconds, lease=seconds, pause=pause)
        stream.truncate(0)
        stream.write(json.dumps(mine) + "\n")
        return {"taken": True, "holder": mine, "alive": True}


def give_back(path: str, owner: Holder) -> bool:
    """Give the lease back if it is ours; the file is removed. Return whether it was."""
    if not os.path.exists(path):
        return False
    with _opened(path) as stream:
        holder = _read(stream)
        ours = same(holder, owner)
        if (
            ours or holder is None
        ):  # none: released by another a moment ago, and created again by opening it
            os.unlink(path)
    return ours
