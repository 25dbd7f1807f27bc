# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands with which README installs the collection, from an empty folder.

Two parts of them ask a network that tests do not: pip's, and the dependencies that Galaxy has. Both
are in the environment of the tests.
"""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.offload.lab.tests.support import CHECKOUT

BLOCK = (CHECKOUT / "README.md").read_text().split("## Use it on two hosts\n\n")[1].split("\n\n")[0]
REPOSITORY = "https://github.com/offload-lab/offload.lab"
COMMANDS = [line.strip().partition("  #")[0].strip() for line in BLOCK.splitlines()]


@pytest.fixture(name="user")
def _user(home, tmp_path):
    """Return what runs a line of README as a user whose home is an empty folder."""

    def run(line):
        done = subprocess.run(
            ["sh", "-c", line], env=home, cwd=tmp_path, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"

    return run


def test_the_commands_of_readme_install_it(user, tmp_path):
    clone, install, copy, preflight = COMMANDS[:4]
    user(clone.partition("&&")[0].replace(REPOSITORY, str(CHECKOUT)))
    user(f"{install} --no-deps")
    user(copy)
    assert (tmp_path / "my_hosts/hosts.yml").is_file()
    user(f"{preflight} --syntax-check")
