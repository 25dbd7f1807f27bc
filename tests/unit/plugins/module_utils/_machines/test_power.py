# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import (
    CommandError,
    InputError,
)
from ansible_collections.offload.lab.plugins.module_utils._host import daemons
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._machines import qemu
from ansible_collections.offload.lab.plugins.module_utils._machines.machine import MARKER
from ansible_collections.offload.lab.plugins.module_utils._machines.machine_steps import written
from ansible_collections.offload.lab.plugins.module_utils._machines.qemu import (
    read_state,
    state_file,
)


def hangs(argv, **_options):
    raise CommandError("did not end within 30 s", argv)


@pytest.mark.parametrize(
    ("probe", "boots"),
    [
        (
            lambda argv, **_options: CommandResult(
                argv, 0, "[ 2.1] Kernel panic - not syncing: VFS", ""
            ),
            True,
        ),
        (lambda argv, **_options: CommandResult(argv, 1, "", "failed to initialize kvm"), False),
        (hangs, False),
    ],
)
def test_kvm_is_used_where_a_guest_boots_with_it(monkeypatch, tmp_path, probe, boots):
    monkeypatch.setattr(qemu, "KVM", str(tmp_path))
    monkeypatch.setattr(qemu, "run", probe)
    assert qemu.accelerator("auto", "/image") == ("kvm" if boots else "tcg")
    assert qemu.accelerator("tcg", "/image") == "tcg"
    if not boots:
        with pytest.raises(InputError, match="does not boot with KVM"):
            qemu.accelerator("kvm", "/image")


def test_a_folder_is_ours_by_its_marker_and_a_machine_lives_by_its_process(tmp_path):
    (tmp_path / "node1").mkdir()
    assert read_state("no-such-lab", str(tmp_path))["foreign"]
    (tmp_path / MARKER).touch()
    daemons.write(
        state_file(str(tmp_path), "node1"), os.getpid(), {"spec": {"name": "node1"}, "accel": "tcg"}
    )
    machine = read_state("no-such-lab", str(tmp_path))["machines"]["node1"]
    assert (
        machine["process"]["pid"] == os.getpid()
        and machine["spec"] == {"name": "node1"}
        and not machine["disk"]
    )
    state = json.loads((tmp_path / "node1/state.json").read_text())
    (tmp_path / "node1/state.json").write_text(
        json.dumps({**state, "started": 1})
    )  # the pid is somebody else's now
    machine = read_state("no-such-lab", str(tmp_path))["machines"]["node1"]
    assert machine["process"] is None and machine["accel"] == "tcg"


def test_what_is_secret_in_a_machine_is_for_root_alone():
    key = "/etc/ssh/ssh_host_ed25519_key"
    script = written({"/etc/hostname": "/here/hostname", key: "/here/host_key"}).splitlines()
    assert "set_inode_field /etc/hostname mode 0100644" in script
    assert f"set_inode_field {key} mode 0100600" in script
    assert script.index("rm /etc/hostname") < script.index("write /here/hostname /etc/hostname")
