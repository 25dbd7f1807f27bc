# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a node's settings: a module that changes them during a campaign holds it, and whoever
restores them.

The folder of the switch's files is locked. It is there while a switch is armed or has fired, and a lock
on it writes nothing: a full or read-only file system has no effect.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Iterator

from .._base.errors import LabError
from .._host import daemons
from .._host.waiting import PATIENCE, wait_until


class BusyError(LabError):
    """Another process has the lock."""


def _attempt() -> int | None:
    """Return the open folder with the lock on it, None where another process has it."""
    descriptor = os.open(daemons.FOLDER, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(daemons.FOLDER)):
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


@contextlib.contextmanager
def held(patience: float = PATIENCE) -> Iterator[int | None]:
    """Hold the lock; the value is its open file, None where no switch is armed and none has fired.

    Raises :class:`BusyError` where another process has it for ``patience`` seconds.
    """
    locks: list[int] = []

    def locked() -> bool:
        descriptor = _attempt()
        locks.extend([] if descriptor is None else [descriptor])
        return descriptor is not None

    try:
        if not wait_until(locked, patience=patience):
            raise BusyError(
                f"a process has been changing or restoring this node's settings for {patience:g} s",
                daemons.FOLDER,
                "See which process has the lock (lslocks), end it, then run restore.yml.",
            )
    except (FileNotFoundError, NotADirectoryError):
        pass
    try:
        yield locks[0] if locks else None
    finally:
        for descriptor in locks:
            os.close(descriptor)


@contextlib.contextmanager
def held_if_free(patience: float) -> Iterator[bool]:
    """Hold the lock, or go on without it after ``patience`` seconds; the value says whether it is held.

    A process that hangs must not keep the switch from restoring.
    """
    with contextlib.ExitStack() as stack:
        alone = True
        try:
            stack.enter_context(held(patience))
        except (BusyError, OSError):
            alone = False
        yield alone
