# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One controller a campaign: a second one is refused, and the lock of a dead one ends after about a
minute.

A campaign is many tasks, each in a worker process of its own, so no open file can be the lock. It
is a lease (``_host/lease.py``) in the name of the controller's main process, renewed while trials
are measured. A controller that cannot see the holder's process, in another container, watches the
lease: a living holder renews it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NamedTuple

from ...module_utils._base.errors import InputError, LabError
from ...module_utils._host import lease, store
from ...module_utils._host.processes import started_at
from ...module_utils._host.waiting import in_thread, wake_main_thread

SECONDS = store.LEASE  # that a lease is valid
RENEWAL = 15.0  # seconds between two renewals
GLANCE = 1.0  # seconds between two looks at the controller of this process
LOOK = 5.0  # seconds between two looks at another's lease


class Clock(NamedTuple):
    """The time of day, a time that only passes, and how to wait."""

    now: Callable[[], float] = time.time
    passed: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


REAL = Clock()
Holder = lease.Holder
Take = Callable[
    [Holder | None], lease.LeaseAnswer
]  # with the holder that was watched, or None, as lease.take returns


def controller() -> Holder:
    """Return the identity of the main process of ansible-playbook, whose worker this is."""
    pid = os.getppid()
    started = started_at(pid)
    if pid == 1 or started is None:
        raise LabError(
            "the controller of this task is gone",
            None,
            "Run the campaign again: it goes on from here.",
        )
    return {
        "host": socket.gethostname(),
        "pid": pid,
        "started": started,
        "kernel": lease.kernel(),
        "job": os.environ.get("JOB_ID"),
    }


def _named(holder: Holder) -> str:
    job = f"AWX job {holder['job']}, " if holder.get("job") else ""
    return f"{job}process {holder['pid']} on {holder.get('host')}"


def _clock_text(seconds: float) -> str:
    return time.strftime("%H:%M:%S UTC", time.gmtime(seconds))


def refusal(holder: Holder, path: str) -> LabError:
    """Return the error for a controller that finds the campaign locked."""
    return LabError(
        f"another controller measures this campaign: {_named(holder)}; its lease lasts until "
        f"{_clock_text(holder.get('until', 0))}, and is renewed while it runs",
        path,
        "Wait for it, or end it.",
    )


def _taken(
    path: str, owner: Holder, seconds: float, now: float | None = None, silent: Holder | None = None
) -> lease.LeaseAnswer:
    try:
        return lease.take(path, owner, seconds, now, silent)
    except OSError as error:
        raise InputError(
            f"the campaign cannot be locked ({error.strerror})",
            path,
            "Set offload_lab_results_dir to a folder you may write to.",
        )


def acquire(path: str, owner: Holder, now: float | None = None) -> None:
    """Take or renew the lock of a campaign; raise LabError if another controller has it."""
    answer = _taken(path, owner, SECONDS, now)
    if not answer["taken"]:
        raise refusal(answer["holder"], path)


def acquire_patiently(path: str, owner: Holder, say: Callable[[str], None]) -> None:
    """Take the lock of a campaign; a controller that cannot be seen is watched until its lease is
    over.
    """
    wait_for(lambda silent: _taken(path, owner, SECONDS, silent=silent), path, say)


def patience(holder: Holder, now: float) -> float:
    """Return for how many seconds a silent holder is watched before its lease is taken for over.

    Clocks of two machines may differ, so a time that is past is not enough: a holder that lives
    renews it meanwhile.
    """
    return float(min(holder.get("lease", SECONDS), max(2 * RENEWAL, holder.get("until", 0) - now)))


def wait_for(take: Take, path: str, say: Callable[[str], None], clock: Clock = REAL) -> None:
    """Take the lock by ``take``; watch another's that cannot be judged until it is renewed
    (LabError) or over.
    """
    answer = take(None)
    holder = answer["holder"]
    if answer["taken"]:
        return
    if answer["alive"]:
        raise refusal(holder, path)
    end = clock.passed() + patience(holder, clock.now())
    say(
        f"The campaign is locked by {_named(holder)}, which cannot be seen from here. "
        f"If it has not renewed its lease by {_clock_text(clock.now() + end - clock.passed())}, this run goes on."
    )
    while clock.passed() < end:
        clock.sleep(min(LOOK, max(0.0, end - clock.passed())))
        answer = take(None)
        if answer["taken"]:
            return
        if answer["holder"] != holder:
            raise refusal(answer["holder"], path)
    answer = take(holder)
    if not answer["taken"]:
        raise refusal(answer["holder"], path)


def release(path: str, owner: Holder) -> None:
    """Give the lock back if it is ours."""
    with contextlib.suppress(OSError):
        lease.give_back(path, owner)


@contextlib.contextmanager
def kept(
    path: str | None, owner: Holder, seconds: float = SECONDS, renewal: float = RENEWAL
) -> Iterator[None]:
    """Renew the lock while trials are measured, and give it back when this process is asked to end.

    A controller that is killed leaves its workers behind: this one then asks itself to end.
    """
    if not path:
        yield
        return
    over = threading.Event()
    busy = threading.Lock()

    def renew() -> None:
        due = time.monotonic() + renewal
        while not over.wait(min(renewal, GLANCE)):
            if lease.alive(owner) is False:
                wake_main_thread(signal.SIGTERM)
                return
            if time.monotonic() < due:
                continue
            due = time.monotonic() + renewal
            with busy, contextlib.suppress(OSError):
                if not over.is_set():
                    lease.take(path, owner, seconds)

    def ended(number: int, frame: FrameType | None) -> None:
        over.set()
        with busy:
            release(path, owner)
        signal.signal(number, before)
        if callable(before):
            before(number, frame)
        os.kill(os.getpid(), number)

    before = signal.signal(signal.SIGTERM, ended)
    thread = in_thread(renew)
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGTERM, before)
