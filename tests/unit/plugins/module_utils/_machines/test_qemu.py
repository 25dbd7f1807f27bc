# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QEMU gives up its privileges where it can, and SSH knows the host key of machines."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._machines import qemu

SANDBOX = """-sandbox on[,obsolete=allow|deny][,elevateprivileges=allow|deny|children]
          [,spawn=allow|deny][,resourcecontrol=allow|deny]
                Enable seccomp mode 2 system call filter (default 'off').
"""
# What --help prints in QEMU 7.2 and 9.2.
QEMU_7 = f"""QEMU emulator version 7.2.22
-chroot dir     chroot to dir just before starting the VM
-runas user     change to user id user just before starting the VM
                user can be numeric uid:gid instead
{SANDBOX}"""
QEMU_8 = f"""{QEMU_7}-run-with [async-teardown=on|off]
                Set miscellaneous QEMU process lifecycle options:
-object user=nobody
"""
QEMU_9 = f"""{QEMU_7}-run-with [async-teardown=on|off][,chroot=dir][user=username|uid:gid]
                Set miscellaneous QEMU process lifecycle options:
"""
DENIED = ["-sandbox", "on,obsolete=deny,resourcecontrol=deny"]


@pytest.mark.parametrize(
    "usage, options",
    [
        (QEMU_7, [*DENIED, "-runas", "nobody"]),
        (QEMU_8, [*DENIED, "-runas", "nobody"]),
        (QEMU_9, [*DENIED, "-run-with", "user=nobody"]),
        (QEMU_9.replace(SANDBOX, ""), ["-run-with", "user=nobody"]),
        ("QEMU emulator version 1.0\n", []),
    ],
)
def test_privileges_go_as_far_as_this_qemu_can(usage, options):
    assert qemu.confined(usage) == options


def test_every_qemu_that_is_started_is_confined(monkeypatch, tmp_path):
    started = []

    def runs(argv, **_options):
        started.append(argv)
        return CommandResult(argv, 0, QEMU_7 if argv == qemu.HELP else "", "")

    monkeypatch.setattr(qemu, "run", runs)
    monkeypatch.setattr(qemu.daemons, "write", lambda *_state: None)
    monkeypatch.setattr(qemu, "KVM", str(tmp_path))
    (tmp_path / "node1").mkdir()
    (tmp_path / "node1/pid").write_text("7")
    machine = {"name": "node1", "image": "/i", "port": 22181, "cpus": 1, "memory": 512, "nics": []}
    qemu.start("lab", str(tmp_path), machine, "tcg")
    qemu.kvm_boots("/i")
    guests = [argv for argv in started if argv != qemu.HELP]
    assert len(guests) == 2
    assert [argv[-4:] for argv in guests] == [[*DENIED, "-runas", "nobody"]] * 2


def test_the_host_key_of_machines_is_known_before_the_first_connection(tmp_path):
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "host_key"], check=True
    )
    qemu.write_known_hosts(str(tmp_path))
    known_hosts = tmp_path / "known_hosts"
    key = (tmp_path / "host_key.pub").read_text().split()[1]
    for port in (22181, 22199):
        scan = subprocess.run(
            ["ssh-keygen", "-F", f"[127.0.0.1]:{port}", "-f", known_hosts],
            capture_output=True,
            check=True,
            text=True,
        )
        assert key in scan.stdout
    other = subprocess.run(["ssh-keygen", "-F", "127.0.0.1", "-f", known_hosts], check=False)
    assert other.returncode == 1
