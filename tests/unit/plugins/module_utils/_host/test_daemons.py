# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Daemons are known by pid and start time, waited for until they end, and stopped for good."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import daemons, waiting

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"


@pytest.fixture(name="daemon")
def _daemon():
    """Return what starts a process that goes on until the test ends."""
    started = []

    def start(code="import time; print(flush=True); time.sleep(60)"):
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(name="path")
def _path(tmp_path):
    return str(tmp_path / "run" / "daemon.json")


def test_what_is_written_is_read_while_the_process_lives(daemon, path):
    process = daemon()
    daemons.write(path, process.pid, {"token": "secret"}, mode=0o600)
    state = daemons.read(path)
    assert (state["pid"], state["token"], os.stat(path).st_mode & 0o777) == (
        process.pid,
        "secret",
        0o600,
    )
    daemons.stop([state])
    assert process.wait() == -15 and daemons.read(path) is None
    daemons.forget(path)
    assert not os.path.exists(os.path.dirname(path))


def test_a_pid_that_is_somebody_elses_by_now_is_not_ours(daemon, path):
    process = daemon()
    daemons.write(path, process.pid, {})
    with open(path) as stream:
        state = json.load(stream)
    with open(path, "w") as stream:
        json.dump(dict(state, started=state["started"] - 1), stream)
    assert daemons.read(path) is None
    daemons.stop([dict(state, started=state["started"] - 1)])
    assert process.poll() is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "1", "{}", '{"pid": 1}', '{"pid": "x", "started": 1}']
)
def test_a_file_that_says_nothing_is_no_daemon(path, text):
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as stream:
        stream.write(text)
    assert daemons.read(path) is None


def test_a_stubborn_one_is_killed(daemon, path, monkeypatch):
    monkeypatch.setattr(daemons, "GRACE", 0.1)
    process = daemon(STUBBORN)
    daemons.write(path, process.pid, {})
    daemons.stop([daemons.read(path)], group=True)
    assert process.wait() == -9


def test_one_that_does_not_end_is_an_error(daemon, path, monkeypatch):
    monkeypatch.setattr(daemons, "GRACE", 0.05)
    monkeypatch.setattr(daemons, "PATIENCE", 0.05)
    monkeypatch.setattr(daemons.os, "kill", lambda pid, number: None)
    process = daemon()
    daemons.write(path, process.pid, {})
    with pytest.raises(LabError, match=f"process {process.pid}: did not end"):
        daemons.stop([daemons.read(path)])


def test_others_keep_their_folder(path, tmp_path):
    daemons.write(path, os.getpid(), {"path": "of something else"})
    (tmp_path / "run/other").write_text("")
    daemons.forget(path, path)
    assert os.listdir(tmp_path / "run") == ["other"]


def test_what_is_slow_but_lives_is_waited_for(monkeypatch):
    """It takes longer than the 10 s after which "it did not start" was said."""
    clock = [0.0]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(
        waiting.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds)
    )
    assert waiting.wait_until(lambda: clock[0] > 100, alive=lambda: True)
    assert 100 < clock[0] < 101


def test_what_has_ended_is_not_waited_for():
    assert not waiting.wait_until(lambda: False, alive=lambda: False)


def test_what_was_done_before_it_ended_counts():
    states = iter([True, False])
    done = iter([False, True])
    assert waiting.wait_until(lambda: next(done), alive=lambda: next(states))


def test_patience_ends():
    assert not waiting.wait_until(lambda: False, patience=0.05)


def test_a_detached_process_keeps_only_what_it_is_given():
    read_end, write_end = os.pipe()
    other, closed = os.pipe()

    def work():
        os.write(write_end, " ".join(os.listdir("/proc/self/fd")).encode())

    pid = daemons.detach(work, [write_end])
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        files = set(map(int, stream.read().split()))
    assert {0, 1, 2, write_end} <= files
    assert not {read_end, other, closed} & files
    assert waiting.wait_until(lambda: daemons.started_at(pid) is None, patience=10)
    os.close(other)
    os.close(closed)
