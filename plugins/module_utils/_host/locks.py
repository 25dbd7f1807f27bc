# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks: a file for one process at a time, and one lab at a time that is made or removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Iterator, TextIO

from .._base.errors import LabError
from .waiting import PATIENCE, wait_until


def lock_labs(patience: float = PATIENCE) -> None:
    """Wait until no other lab is made or removed; the lock ends with this process."""
    folder = os.open("/run", os.O_RDONLY)

    def locked() -> bool:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    if not wait_until(locked, patience=patience):
        raise LabError(
            f"another process has held the lock for {patience:g} s",
            "/run",
            "See which process holds it: lslocks",
        )


def _is_at(path: str, stream: TextIO) -> bool:
    """Return whether an open file is still the one at ``path``: another may have removed it."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _not_a_link(path: str, flags: int) -> int:
    """Open a lock, which is made if it is missing, but never through a link that somebody else made."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o640)


@contextlib.contextmanager
def locked(path: str) -> Iterator[TextIO]:
    """Give the file at ``path``, made if it is missing, to this process alone.

    After waiting for the lock, the file may be gone: then it is opened again.
    """
    while True:
        with open(path, "a+", encoding="utf-8", opener=_not_a_link) as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            if _is_at(path, stream):
                yield stream
                return
