# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as a user has it: built, installed from its tarball, and used from a folder of the
user's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.offload.lab.tests.installed.two_hosts import TwoHosts
from ansible_collections.offload.lab.tests.support import BIN, FOUR_FOLDERS, install_collection


@pytest.fixture(scope="session", name="collections")
def _collections(tmp_path_factory):
    """An empty path with nothing but the tarball installed in it."""
    return install_collection(tmp_path_factory.mktemp("collections"))


@pytest.fixture(scope="session", name="four_folders")
def _four_folders(collections, tmp_path_factory):
    """The same with only meta, plugins, roles and playbooks left, as some packages ship it."""
    path = tmp_path_factory.mktemp("four")
    for name in FOUR_FOLDERS:
        folder = Path("ansible_collections/offload/lab", name)
        shutil.copytree(collections / folder, path / folder)
    manifest = "ansible_collections/offload/lab/MANIFEST.json"
    shutil.copy(collections / manifest, path / manifest)
    return path


@pytest.fixture(scope="module", name="hosts")
def _hosts(request, podman_required, tmp_path_factory):
    """Two containers over SSH, of Debian 12 or of the release that the test is parametrised with."""
    two_hosts = TwoHosts(tmp_path_factory.mktemp("hosts"), getattr(request, "param", "bookworm"))
    try:
        two_hosts.up()
        yield two_hosts
    finally:
        two_hosts.down()


@pytest.fixture(name="home")
def _home(tmp_path):
    """The environment of a user whose home is a folder of the test, and who has set nothing."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANSIBLE_", "OFFLOAD_"))
    }
    environment.update(
        PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}",
        ANSIBLE_NOCOLOR="1",
        ANSIBLE_LOCALHOST_WARNING="false",
        HOME=str(tmp_path),
    )
    return environment


@pytest.fixture(name="play")
def _play(four_folders, home, tmp_path, monkeypatch):
    """Return what runs ``ansible-playbook`` in a folder of the user's, as ``(exit status,
    output)``; of the collection there are the four folders alone.
    """
    monkeypatch.chdir(tmp_path)
    environment = {**home, "ANSIBLE_COLLECTIONS_PATH": str(four_folders)}

    def play(playbook, *arguments, timeout=300):
        done = subprocess.run(
            ["ansible-playbook", f"offload.lab.{playbook}", *map(str, arguments)],
            env=environment,
            cwd=tmp_path,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
        return done.returncode, done.stdout

    return play
