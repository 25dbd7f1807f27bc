# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks: a file for one process at a time, and one lab at a time that is made or removed."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
from typing import Iterator, TextIO

from .._base.errors import LabError
from . import files
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
