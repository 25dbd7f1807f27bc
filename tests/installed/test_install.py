# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands with which README installs the collection, as they stand, from an empty folder."""

from __future__ import annotations

import os
import subprocess

import pytest

from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT

BLOCK = (CHECKOUT / "README.md").read_text().split("## Use it on two hosts\n\n")[1].split("\n\n")[0]
COMMANDS = [line.strip().partition("  #")[0].strip() for line in BLOCK.splitlines()]


@pytest.fixture(name="user")
def _user(tmp_path):
    """Return what runs a command as a user whose home is an empty folder."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    environment = {"HOME": str(tmp_path), "PATH": path, "ANSIBLE_LOCALHOST_WARNING": "false"}

    def run(command):
        done = subprocess.run(
            command,
            shell=True,
            check=False,
            env=environment,
            cwd=tmp_path,
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


def test_the_commands_of_readme_install_it(user, tmp_path):
    """What it depends on comes from Galaxy, which tests do not ask; it is in site-packages."""
    clone, install, copy, preflight = COMMANDS[:4]
    user(clone.partition("&&")[0].replace("<this repository>", str(CHECKOUT)))
    user(f"{install} --no-deps")
    user(copy)
    assert (tmp_path / "my_hosts/hosts.yml").is_file()
    user(f"{preflight} --syntax-check")
