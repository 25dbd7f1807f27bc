# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbooks refuse before they make anything. Real machines are made by tests/machines."""

from __future__ import annotations

import json

from ansible_collections.offload.lab.tests.machines.guests import INVENTORY
from ansible_collections.offload.lab.tests.support import run

NO_FOLDER = "/proc/version/images"  # nothing can be made there
FOLDER = "TASK [offload.lab.machines : Make the folder of the images]"


def refused(**more):
    """Run the playbook with options that stop it before an image is made, and return what it says."""
    variables = {"offload_lab_machine_images": NO_FOLDER, **more}
    argv = ["ansible-playbook", "-i", INVENTORY, "playbooks/machines.yml", "-e"]
    return run([*argv, json.dumps(variables)], rc=2, OFFLOAD_LAB_NAME="systest-machines")


def test_without_a_kernel_that_of_the_release_is_taken(root_required):
    said = refused()
    assert FOLDER in said and NO_FOLDER in said, said


def test_a_wrong_kernel_is_named(root_required):
    said = refused(offload_lab_machine_kernel="linux 6.1")
    assert "node1: linux 6.1 is not a kernel" in said and FOLDER not in said, said


def test_an_unknown_study_is_not_imported():
    argv = ["ansible-playbook", "playbooks/import_study.yml", "-e", "offload_lab_study=somebodys"]
    said = " ".join(run(argv, rc=2).split())
    assert "offload_lab_study is 'somebodys'" in said
    assert "one of ovs_vxlan_offload, vxlan_linux_bridge" in said
