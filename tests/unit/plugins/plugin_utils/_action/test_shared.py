# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the workers of one task tell each other."""

from __future__ import annotations

import threading
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.plugin_utils._action import shared_results


def test_a_worker_waits_until_all_others_have_ended(tmp_path):
    first, second = (shared_results.SharedResults(str(tmp_path), "task") for _ in "ab")
    first.publish("node/1", {"failed": True, "msg": "gone"})

    def later():
        time.sleep(0.1)
        second.publish("node2", {"devices": {"eth0": {}}, "changed": True})

    thread = threading.Thread(target=later)
    thread.start()
    assert first.wait_for(["node/1", "node2"]) == {
        "node/1": None,
        "node2": {"devices": {"eth0": {}}},
    }
    thread.join()


def test_another_task_has_other_results(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_results, "PATIENCE", 0.05)
    shared_results.SharedResults(str(tmp_path), "first").publish("node2", {"devices": {}})
    with pytest.raises(LabError, match="node2: it has not set the profile within"):
        shared_results.SharedResults(str(tmp_path), "second").wait_for(["node2"])


def test_a_worker_whose_controller_is_gone_ends(tmp_path):
    results = shared_results.SharedResults(str(tmp_path), "task")
    results.controller = -1  # no process has it, not even one that init started
    with pytest.raises(LabError, match="the controller of this task is gone"):
        results.wait_for(["node2"])
