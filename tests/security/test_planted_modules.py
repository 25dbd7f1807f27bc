# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A local user of a node plants modules of all names where others can write; root imports none."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import LabError
from ansible_collections.offload.lab.plugins.module_utils._engines.sockets.sockets import Sockets
from ansible_collections.offload.lab.plugins.module_utils._host import files, runner, script
from ansible_collections.offload.lab.tests.support import CHECKOUT, run

PLANTED = CHECKOUT / "tests/security/planted.py"
# Folders, processes and devices of its own: what is planted reaches nobody else on this machine.
INSIDE = """
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount -t tmpfs -o mode=0755 tmpfs /run
ip link set lo up
exec "$@"
"""
UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def attacked(part, **variables):
    """Return what a part answered, and which planted modules it imported."""
    argv = [*UNSHARE, "sh", "-ec", INSIDE, "sh", sys.executable, "-B", PLANTED, part]
    return json.loads(run(argv, PYTHONPATH=str(CHECKOUT / ".build/live"), **variables))


@pytest.mark.parametrize("part", ["engines", "switch", "probe"])
def test_no_planted_module_is_imported(part, root_required):
    answer = attacked(part)
    assert answer["canaries"] == []
    assert not any(answer["answer"] or [])


def test_a_process_that_outlives_its_module_forgets_the_archive(root_required):
    answer = attacked("outlived")
    assert answer["canaries"] == []
    assert answer["answer"]
    assert {os.path.dirname(path) for path in answer["answer"]} == {os.path.dirname(os.__file__)}


# Prints the search path, and the variables of Python that it has obeyed.
SHOW = "import json, sys; print(json.dumps([sys.path, sys.flags.no_site, sys.flags.isolated]))"


def test_a_script_sees_the_standard_library_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with script.held(SHOW, 197) as inherited:
        assert os.readlink("/proc/self/fd/197").startswith("/memfd:offload-lab")
        out = runner.run(script.argv(197), pass_fds=inherited).out
    path, no_site, isolated = json.loads(out)
    assert (no_site, isolated) == (1, 1)
    assert path and not any(folder.startswith(("/tmp", "/proc")) for folder in path)
    assert all(os.path.isabs(folder) for folder in path)


def test_nobody_can_change_a_script_that_is_held():
    with script.held(Sockets().text(), 197), pytest.raises(PermissionError):
        os.write(197, b"import os")


def test_without_a_memfd_the_script_is_in_our_own_folder(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(files, "STATE_FOLDER", str(tmp_path / "state"))
    with script.held(Sockets().text(), 197):
        assert os.readlink("/proc/self/fd/197").startswith(str(tmp_path / "state"))
        assert Path("/proc/self/fd/197").read_text() == Sockets().text()


def test_processes_start_in_the_root_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert runner.run(["pwd"]).out == "/\n"


def test_the_state_folder_is_for_root_alone(tmp_path):
    folder = tmp_path / "state"
    files.make_state_folder(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)  # of an older version
    files.make_state_folder(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_state_folder_of_somebody_else_is_refused(tmp_path, root_required):
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(LabError, match="is not a folder"):
        files.make_state_folder(str(link))
    os.chown(target, 65534, 65534)
    with pytest.raises(LabError, match="belongs to user 65534"):
        files.make_state_folder(str(target))
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_a_state_file_makes_its_folder_private(root_required):
    """Through the function that all state files go through, in a /run of its own."""
    code = (
        "import os; from ansible_collections.offload.lab.plugins.module_utils._host import daemons;"
        "daemons.write(daemons.FOLDER + '/x.json', os.getpid(), {});"
        "print(oct(os.stat(daemons.FOLDER).st_mode & 0o7777))"
    )
    argv = [*UNSHARE, "sh", "-ec", INSIDE, "sh", sys.executable, "-c", code]
    shown = subprocess.run(
        argv,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / ".build/live")},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert shown == "0o700\n"
