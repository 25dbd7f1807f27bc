# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may change a node: one campaign at a time, whatever its results folder or its controller (the
node's lease), and one process at a time (the lock of its settings).

The lease is a file that says who has the node. Its modification time is not a time of day: it is what the
node's boot clock showed at the last sign of life. So a renewal writes nothing, and no clock can jump. A
lease lasts until the dead man's switch is disarmed; without one, for its minutes.

A module that changes settings during a campaign holds the lock, and whoever restores them. The folder of
the switch's files is locked. It is there while a switch is armed or has fired, and a lock on it writes
nothing: a full or read-only file system has no effect.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import Iterator, TypedDict, cast

from .._base.errors import LabError
from .._host import daemons, files
from .._host.waiting import PATIENCE, wait_until

STATE = "/run/offload-lab/dead_man_switch.json"  # of the switch, while it is armed
LEASE = "/run/offload-lab/campaign.json"
LEAST_MINUTES = 15.0
LONGEST_TEXT = 200  # characters of a name in a message


class Lease(TypedDict):
    """Who has a node."""

    id: str  # of the campaign and its results folder
    campaign: str
    results: str  # the results folder on the controller, or in the store
    controller: str
    user: str
    minutes: float  # without a sign of life, where no switch is armed


def read() -> Lease | None:
    """Return the lease, which may be over; None where nobody has the node."""
    try:
        with open(LEASE) as stream:
            lease = json.load(stream)
        complete = isinstance(lease, dict) and Lease.__annotations__.keys() <= lease.keys()
        return cast(Lease, lease) if complete else None
    except (OSError, ValueError, RecursionError):
        return None


def age() -> float:
    """Return the seconds since the last sign of life; a negative number means another boot."""
    try:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - os.stat(LEASE).st_mtime
    except OSError:
        return -1.0


def current() -> Lease | None:
    """Return the lease that is not over; None where the node is free."""
    lease = read()
    if lease is None:
        return None
    lasts = daemons.read(STATE) is not None or 0 <= age() <= 60 * lease["minutes"]
    return lease if lasts else None


def _refusal(lease: Lease) -> LabError:
    shown = {key: str(value)[:LONGEST_TEXT] for key, value in lease.items()}
    return LabError(
        f"campaign {shown['campaign']} of {shown['user']} on {shown['controller']} has this node "
        f"(results in {shown['results']}); its last sign of life was {max(0.0, age()):.0f} s ago",
        LEASE,
        "Wait until it has ended, or end it: restore.yml. If its controller is dead, the node restores "
        f"itself and is free within {lease['minutes']:.0f} minutes.",
    )


def claim(lease: Lease) -> bool:
    """Take the node; return whether it was this campaign's already. Raises :class:`LabError` where
    another campaign has it.

    The caller holds the lock of the node's settings.
    """
    holder = current()
    check_free(lease["id"])
    files.write(LEASE, json.dumps(lease), 0o600)
    renew()
    return holder is not None


def renew() -> None:
    """Have the lease last from now on; nothing happens where there is none."""
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    with contextlib.suppress(OSError):
        os.utime(LEASE, ns=(now, now))


def check_free(lease_id: str | None) -> None:
    """Raise :class:`LabError` where another campaign than ``lease_id`` has the node; None is none."""
    holder = current()
    if holder is not None and holder["id"] != lease_id:
        raise _refusal(holder)


def check(lease_id: str | None) -> None:
    """Raise :class:`LabError` where the campaign ``lease_id`` does not have the node any more.

    A controller that slept must not change a node that was given to another campaign since.
    """
    if not lease_id:
        return
    holder = read()
    if holder is None:
        raise LabError(
            "this campaign no longer has the node: it was rebooted, or somebody has restored it",
            LEASE,
            "Run the campaign again: it goes on from here.",
        )
    if holder["id"] != lease_id:
        raise _refusal(holder)


def release(lease_id: str | None = None) -> None:
    """Give the node back; None: whoever has it."""
    holder = read()
    if lease_id is None or (holder is not None and holder["id"] == lease_id):
        daemons.forget(LEASE)


def leftovers() -> list[str]:
    """Return the files of the lease that are on the node."""
    return [LEASE] if os.path.exists(LEASE) else []


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
def settings_held(patience: float = PATIENCE) -> Iterator[int | None]:
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
def settings_held_if_free(patience: float) -> Iterator[bool]:
    """Hold the lock, or go on without it after ``patience`` seconds; the value says whether it is held.

    A process that hangs must not keep the switch from restoring.
    """
    with contextlib.ExitStack() as stack:
        alone = True
        try:
            stack.enter_context(settings_held(patience))
        except (BusyError, OSError):
            alone = False
        yield alone
