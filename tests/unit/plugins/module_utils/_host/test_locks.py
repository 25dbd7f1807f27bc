# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host import locks


def test_the_lock_is_waited_for(monkeypatch):
    class Taken:
        LOCK_EX = LOCK_NB = 0

        @staticmethod
        def flock(place, operation):
            raise BlockingIOError

    monkeypatch.setattr(locks, "fcntl", Taken)
    with pytest.raises(locks.LabError, match="another process has held the lock for 0.1 s"):
        locks.lock_labs(patience=0.1)
