# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another user of a host cannot write to the lab's files whatever root's umask is, and cannot keep a
lock that the lab waits for without end.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
import subprocess
import sys

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._host import files, lease, script
from ansible_collections.offload.lab.plugins.module_utils._load import spool
from ansible_collections.offload.lab.plugins.module_utils._persist import host
from ansible_collections.offload.lab.plugins.module_utils._restore import after_boot, snapshot
from ansible_collections.offload.lab.plugins.plugin_utils._store import manifest

KEEP = """
import fcntl, os, sys, time
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
try:
    descriptor = os.open(sys.argv[1], os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("held", flush=True)
except OSError:
    print("refused", flush=True)
time.sleep(60)
"""


@pytest.fixture(name="folders")
def _folders(tmp_path, monkeypatch):
    """The lab's folders below one of the test, with a umask that takes nothing away."""
    monkeypatch.setattr(files, "STATE_FOLDER", str(tmp_path / "run/offload-lab"), raising=False)
    monkeypatch.setattr(files, "KEPT_FOLDER", str(tmp_path / "lib/offload-lab"), raising=False)
    monkeypatch.setattr(lease, "LABS", str(tmp_path / "run/offload-lab/labs.lock"), raising=False)
    for name in ("run", "lib"):
        (tmp_path / name).mkdir(mode=0o755)
    # Below /tmp: workers of pytest -n have a folder more.
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    before = os.umask(0)
    yield tmp_path
    os.umask(before)


def open_to_others(folder):
    """Return what others may write to."""
    paths = [path for path in folder.rglob("*") if not path.is_symlink()]
    assert paths
    return [path for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o022]


def test_without_a_umask_others_may_write_to_nothing(folders, monkeypatch):
    kept = str(folders / "lib/offload-lab")
    spool.Chunk(kept + "/spool", "a", "b")
    for folder in ("lib/offload-lab", "lib/offload-lab/spool"):
        assert stat.S_IMODE((folders / folder).stat().st_mode) == 0o700
    snapshot.write(kept + "/snapshot.json", {"schema": 1, "devices": [], "links": [], "other": {}})
    script.write_program(kept + "/program.zip", "pass\n")
    files.write(str(folders / "run/offload-lab/deep/state.json"), "{}")
    host.write_text(str(folders / "etc/new/folder/x.service"), "[Unit]\n")
    units = str(folders / "units")
    monkeypatch.setattr(after_boot, "PROGRAM", kept + "/after_boot.zip")
    monkeypatch.setattr(after_boot, "UNIT", units + "/a.service")
    monkeypatch.setattr(after_boot, "LINK", units + "/multi-user.target.wants/a.service")
    os.mkdir(units, 0o755)
    after_boot.plan("pass\n")
    assert open_to_others(folders) == []
    assert stat.S_IMODE((folders / "run/offload-lab").stat().st_mode) == 0o700


@contextlib.contextmanager
def kept_by_nobody(path):
    """Let an unprivileged user lock a file or folder where it may open it."""
    user = str(pwd.getpwnam("nobody").pw_uid)
    argv = [sys.executable, "-I", "-c", KEEP, str(path), user]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def test_nobody_cannot_keep_labs_from_being_made(root_required, folders):
    with kept_by_nobody("/run"), kept_by_nobody(folders / "run") as answer:
        assert answer == "held"
        lease.lock_labs(patience=0.5)
        for path in (lease.LABS, os.path.dirname(lease.LABS)):
            with kept_by_nobody(path) as inside:
                assert inside == "refused"


def test_who_keeps_a_results_folder_locked_is_reported(root_required, folders, monkeypatch):
    results = folders / "results"
    results.mkdir(mode=0o755)
    monkeypatch.setattr(lease.wait_for, "__defaults__", (0.3,))
    with kept_by_nobody(results) as answer:
        assert answer == "held"
        with pytest.raises(LabError, match="lslocks"):
            manifest.keep(str(results), "a", "node1", "before", {})
    manifest.keep(str(results), "a", "node1", "before", {})
