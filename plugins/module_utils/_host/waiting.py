# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for something to happen, here or in a thread.

An emulated CPU may be a hundred times slower than a real one: bounds are wide.
"""

from __future__ import annotations

import signal
import threading
import time
from typing import Any, Callable

PATIENCE = 120.0  # seconds


def wait_until(
    done: Callable[[], bool], alive: Callable[[], bool] | None = None, patience: float = PATIENCE
) -> bool:
    """Wait until ``done`` and return True; False when what is waited for is not ``alive`` or takes
    too long.
    """
    limit = time.monotonic() + patience
    pause = 0.005
    while True:
        running = alive is None or alive()  # asked first: it may be done and end in between
        if done():
            return True
        if not running or time.monotonic() > limit:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.25)


def in_thread(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    """Start a thread that does ``work``.

    No signal goes to it: the main thread, which handles them, would sleep on.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return thread


def wake_main_thread(number: int) -> None:
    """Send a signal to the main thread of this process."""
    signal.pthread_kill(threading.main_thread().ident or 0, number)
