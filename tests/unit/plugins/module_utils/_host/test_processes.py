# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import processes
from ansible_collections.offload.lab.plugins.module_utils._host.processes import (
    end_processes,
    namespaces_of,
    processes_in,
)

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
SPARE = {1}  # an inode that no namespace has: what is in it, the test says


@pytest.fixture(name="child")
def _child(monkeypatch):
    """Return what starts a process that counts as the only one in the namespace."""
    children = []

    def start(code):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        children.append(process)
        process.stdout.readline()
        return process

    monkeypatch.setattr(
        processes,
        "processes_in",
        lambda inodes: [child.pid for child in children if child.poll() is None],
    )
    yield start
    for process in children:
        process.kill()
        process.wait()
        process.stdout.close()


def test_this_process_is_in_its_namespaces():
    inodes = namespaces_of(os.getpid())
    assert len(inodes) == 3
    assert os.getpid() in processes_in(inodes)


def test_nobody_is_in_no_namespace():
    assert processes_in(set()) == []
    assert processes_in(SPARE) == []


def test_a_process_that_has_gone_is_in_none():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert namespaces_of(process.pid) == set()


def test_a_process_ends_with_sigterm(child):
    process = child("import time; print(flush=True); time.sleep(60)")
    end_processes(SPARE, grace=20)
    assert process.wait() == -15


def test_a_stubborn_process_is_killed(child):
    process = child(STUBBORN)
    start = time.monotonic()
    end_processes(SPARE, grace=0.1)
    assert process.wait() == -9
    assert time.monotonic() - start >= 0.1


def test_a_process_that_does_not_end_is_an_error(child, monkeypatch):
    process = child(STUBBORN)
    monkeypatch.setattr(processes, "signal_all", lambda pids, number: None)
    with pytest.raises(LabError, match=f"the processes {process.pid} did not end"):
        end_processes(SPARE, grace=0.05, patience=0.05)


def test_our_own_namespaces_are_spared(monkeypatch):
    pids_asked = []
    monkeypatch.setattr(processes, "processes_in", lambda inodes: pids_asked.append(inodes) or [])
    end_processes(namespaces_of(os.getpid()) | SPARE)
    assert pids_asked == [SPARE]
