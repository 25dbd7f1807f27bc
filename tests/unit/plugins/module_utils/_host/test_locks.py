# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import textwrap
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host import files, lease
from ansible_collections.offload.lab.tests.support import CHECKOUT

HOLD = """
import sys, time
from ansible_collections.offload.lab.plugins.module_utils._host import files, lease
files.STATE_FOLDER = sys.argv[1]
lease.LABS = sys.argv[1] + "/labs.lock"
lease.lock_labs()
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def _folder(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "STATE_FOLDER", str(tmp_path / "state"))
    monkeypatch.setattr(lease, "LABS", str(tmp_path / "state/labs.lock"))


def holder(tmp_path, seconds):
    """Start a process that holds the labs' lock for some time."""
    path = str(CHECKOUT / ".build/live")
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLD), str(tmp_path / "state"), str(seconds)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_the_lock_of_labs_is_waited_for(tmp_path):
    with holder(tmp_path, 1) as process:
        began = time.monotonic()
        lease.lock_labs(patience=30)
        assert time.monotonic() - began > 0.3
        process.wait()


def test_a_lock_that_is_not_given_back_is_named(tmp_path):
    with holder(tmp_path, 60) as process:
        with pytest.raises(lease.LabError, match="labs.lock: another process has held the lock"):
            lease.lock_labs(patience=0.1)
        process.kill()


def test_no_other_user_can_hold_the_lock_of_labs(tmp_path):
    with holder(tmp_path, 60) as process:
        assert os.stat(tmp_path / "state").st_mode & 0o777 == 0o700
        assert os.stat(tmp_path / "state/labs.lock").st_mode & 0o777 == 0o600
        process.kill()


def test_nothing_of_the_lock_is_left(tmp_path):
    with holder(tmp_path, 0.1) as process:
        process.wait()
    assert not (tmp_path / "state").exists()


def test_a_file_that_somebody_keeps_locked_ends_the_wait(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    with open(path) as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        with pytest.raises(lease.LabError, match="lslocks"), lease.locked(str(path), patience=0.1):
            pass
    with lease.locked(str(path), patience=0.1) as stream:
        assert stream.name == str(path)
