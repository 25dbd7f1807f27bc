# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import subprocess

import pytest

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError, LabError
from ansible_collections.offload.lab.plugins.module_utils._probe_process import started_at
from ansible_collections.offload.lab.plugins.plugin_utils import _campaign_lock as lock


def owner(pid, **more):
    return dict({"host": "here", "pid": pid, "started": started_at(pid), "kernel": lock._kernel()}, **more)


@pytest.fixture
def other():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "results" / "lock")


def test_the_holder_renews_it(path):
    lock.acquire(path, owner(os.getpid()), 10, now=1000)
    lock.acquire(path, owner(os.getpid()), 10, now=2000)
    with open(path, encoding="utf-8") as stream:
        assert json.loads(stream.read())["until"] == 2010 + lock.GRACE


def test_a_second_controller_is_refused_however_old_the_lock(path, other):
    lock.acquire(path, owner(other.pid), 10, now=1000)
    with pytest.raises(LabError, match=f"another controller measures this campaign: process {other.pid} on here"):
        lock.acquire(path, owner(os.getpid()), 10, now=1000 + 10 ** 6)


def test_a_dead_one_holds_nothing(path, other):
    lock.acquire(path, owner(other.pid), 10)
    other.kill()
    other.wait()
    lock.acquire(path, owner(os.getpid()), 10)


def test_a_pid_that_is_somebody_elses_by_now_holds_nothing(path, other):
    lock.acquire(path, owner(other.pid, started=1), 10)
    lock.acquire(path, owner(os.getpid()), 10)


def test_a_lock_of_another_machine_runs_out(path):
    lock.acquire(path, owner(os.getpid(), kernel=["elsewhere", 1]), 60, now=1000)
    with pytest.raises(LabError, match="another controller"):
        lock.acquire(path, owner(os.getpid()), 10, now=1000 + 60 + lock.GRACE - 1)
    lock.acquire(path, owner(os.getpid()), 10, now=1000 + 60 + lock.GRACE + 1)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"pid": "x"}', "\0"])
def test_a_torn_lock_holds_nothing(path, content):
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(content)
    lock.acquire(path, owner(os.getpid()), 10)


def test_only_the_holder_gives_it_back(path, other):
    lock.acquire(path, owner(other.pid), 10)
    lock.release(path, owner(os.getpid()))
    assert os.path.exists(path)
    lock.release(path, owner(other.pid))
    assert not os.path.exists(path)
    lock.release(path, owner(other.pid))


def test_the_controller_is_the_parent_of_this_process():
    assert lock.controller()["pid"] == os.getppid()


def test_a_folder_that_cannot_be_written_is_one_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be locked"):
        lock.acquire(str(tmp_path / "file" / "lock"), owner(os.getpid()), 10)
