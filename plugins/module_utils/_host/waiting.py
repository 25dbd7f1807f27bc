# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for something to happen. An emulated CPU may need a hundred times as long as a real one: bounds are wide."""
from __future__ import annotations

import time
from typing import Callable

PATIENCE = 120.0  # seconds


def wait_until(done: Callable[[], bool], alive: Callable[[], bool] | None = None, patience: float = PATIENCE) -> bool:
    """Wait until ``done`` and return True; False when what is waited for is not ``alive`` or takes too long."""
    limit, pause = time.monotonic() + patience, 0.005
    while True:
        running = alive is None or alive()  # asked first: it may be done and end in between
        if done():
            return True
        if not running or time.monotonic() > limit:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.25)
