# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's heartbeat ends with its playbook."""

from __future__ import annotations

import subprocess
import threading

import pytest

from ansible_collections.offload.lab.plugins.action.dead_man_switch import ActionModule


@pytest.mark.parametrize("noticed", [True, False])
def test_it_ends_with_a_playbook_that_is_killed(monkeypatch, noticed):
    """Whether or not the process that started the playbook has noticed its end."""
    beats = []
    beaten = threading.Event()

    def beat(_command):
        beats.append(len(beats))
        beaten.set()
        return {"rc": 0}

    action = ActionModule.__new__(ActionModule)
    monkeypatch.setattr(action, "_low_level_execute_command", beat, raising=False)
    with subprocess.Popen(["sleep", "600"]) as playbook:
        heart = threading.Thread(target=action._beat, args=(0.05, playbook.pid), daemon=True)
        heart.start()
        assert beaten.wait(30) and heart.is_alive()
        playbook.kill()
        if noticed:
            playbook.wait()
        heart.join(30)
        assert not heart.is_alive()
