# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the demo runs: in a user namespace, as root, or not at all with the words to type."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def bare(folder, uid, *tools):
    """Make a PATH with these tools of this machine alone; ``id`` says ``uid``."""
    for tool in ("sh", "dirname", "sed", *tools):
        os.symlink(shutil.which(tool), folder / tool)
    program(folder, "id", f"echo {uid}")


def script(folder, name, *arguments):
    return subprocess.run(
        ["sh", str(ROOT / "tools" / name), *arguments],
        env={"PATH": str(folder)},
        text=True,
        capture_output=True,
        check=False,
    )


def test_root_needs_no_user_namespace(tmp_path):
    bare(tmp_path, 0)
    done = script(tmp_path, "without_root.sh", "/bin/echo", "done")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_system_without_user_namespaces_says_so_and_takes_sudo(tmp_path):
    bare(tmp_path, 1000)
    program(tmp_path, "unshare", "exit 1")
    program(tmp_path, "sudo", 'echo sudo "$@"')
    done = script(tmp_path, "without_root.sh", "/bin/echo", "done")
    assert done.stderr == (
        "Without root it does not run here: this system has no user namespaces for users.\n"
    )
    assert done.stdout.startswith("sudo ") and done.stdout.endswith("/bin/echo done\n")


@pytest.mark.parametrize("system", ["Darwin", "FreeBSD"])
def test_another_system_is_told_what_to_type(tmp_path, system):
    bare(tmp_path, 501, "cat")
    program(tmp_path, "uname", f"echo {system}")
    done = script(tmp_path, "linux.sh")
    assert done.returncode == 1
    assert "limactl start" in done.stderr and "make -C lab demo" in done.stderr


def test_linux_is_not_told_anything(tmp_path):
    bare(tmp_path, 1000)
    program(tmp_path, "uname", "echo Linux")
    done = script(tmp_path, "linux.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
