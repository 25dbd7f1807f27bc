# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One lab at a time is made or removed on a machine."""

from __future__ import annotations

import fcntl
import os

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
