# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dead man's switch as far as it needs no node; what it restores is tested on devices."""
from __future__ import annotations

import os

from ansible_collections.offload.lab.plugins.module_utils._restore import dead_man


def test_it_says_that_it_watches_before_it_waits(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(dead_man, "STATE", str(tmp_path / "run/state.json"))
    monkeypatch.setattr(dead_man, "_watching", lambda seconds: seen.append((seconds, dead_man.find())))
    dead_man.watch(0.5, "/var/lib/snapshot.json")
    [(seconds, state)] = seen
    assert (seconds, state["pid"], state["minutes"], state["path"]) == (
        30, os.getpid(), 0.5, "/var/lib/snapshot.json")
