# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbooks refuse before they make anything. Real machines are made by tests/machines."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ansible_collections.offload.lab.tests.machines.guests import INVENTORY
from ansible_collections.offload.lab.tests.support import BIN, run

NO_FOLDER = "/proc/version/images"  # nothing can be made there
FOLDER = "TASK [offload.lab.machines : Make the folder of the images]"


@pytest.fixture
def refused(tmp_path):
    """Return a function that runs the playbook with options that stop it before an image is made.
    It returns what the playbook says.
    """
    programs = _all_programs_but_qemu(tmp_path)
    qemu = programs / "qemu-system-x86_64"

    def play(has_qemu=True, **more):
        if has_qemu:
            qemu.symlink_to("/bin/true")
        variables = {"offload_lab_machine_images": NO_FOLDER, **more}
        argv = ["ansible-playbook", "-i", INVENTORY, "playbooks/machines.yml", "-e"]
        path = f"{BIN}{os.pathsep}{programs}"
        return run(
            [*argv, json.dumps(variables)], rc=2, PATH=path, OFFLOAD_LAB_NAME="systest-machines"
        )

    return play


def _all_programs_but_qemu(folder):
    """Make a folder with links to the programs of this machine, and return it."""
    programs = folder / "programs"
    programs.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "qemu-system-x86_64":
            (programs / program.name).symlink_to(program)
    return programs


def test_without_a_kernel_that_of_the_release_is_taken(root_required, refused):
    output = refused()
    assert FOLDER in output and NO_FOLDER in output, output


def test_a_wrong_kernel_is_named(root_required, refused):
    output = refused(offload_lab_machine_kernel="linux 6.1")
    assert "node1: linux 6.1 is not a kernel" in output and FOLDER not in output, output


def test_without_qemu_no_image_is_made(root_required, refused):
    output = refused(has_qemu=False)
    assert "qemu-system-x86_64 is not on this machine" in output and FOLDER not in output, output


def test_an_unknown_study_is_not_imported():
    argv = ["ansible-playbook", "playbooks/import_study.yml", "-e", "offload_lab_study=somebodys"]
    output = " ".join(run(argv, rc=2).split())
    assert "offload_lab_study is 'somebodys'" in output
    assert "one of ovs_vxlan_offload, vxlan_linux_bridge" in output
