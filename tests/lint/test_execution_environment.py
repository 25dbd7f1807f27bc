# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-builder makes the context of an execution environment, without a network."""

from __future__ import annotations

import subprocess
import sys

from ansible_collections.offload.lab.tests.support import BIN, CHECKOUT


def test_ansible_builder_makes_a_context(tmp_path):
    definition = CHECKOUT / "awx/execution-environment.yml"
    done = subprocess.run(
        [BIN / "ansible-builder", "create", "-f", definition, "-c", tmp_path],
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for ours, theirs in (
        ("meta/ee-requirements.txt", "requirements.txt"),
        ("meta/ee-bindep.txt", "bindep.txt"),
        ("awx/collections/requirements.yml", "requirements.yml"),
        ("requirements/ee.txt", "locks/ee.txt"),
    ):
        assert (tmp_path / "_build" / theirs).read_text() == (CHECKOUT / ours).read_text()
    containerfile = (tmp_path / "Containerfile").read_text()
    for named in (
        "requirements.txt",
        "bindep.txt",
        "requirements.yml",
        "ansible-galaxy collection install",
    ):
        assert named in containerfile


def test_ansible_builder_finds_what_an_installed_collection_needs():
    """In an image that has the collection, ansible-builder looks from its root."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ansible_builder._target_scripts.introspect",
            "introspect",
            str(CHECKOUT / ".build/live"),
        ],
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "scipy" in done.stdout
    assert "openssh-clients [platform:rpm]" in done.stdout


def test_a_base_image_without_its_digest_is_refused(tmp_path):
    """Before anything is built; there is no engine here that could be asked."""
    done = subprocess.run(
        ["sh", "tools/image.sh", BIN],
        cwd=CHECKOUT,
        env={"PATH": "/usr/bin:/bin", "BASE": "library/fedora:44", "BUILDER": "false"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Give it by its digest" in done.stderr
