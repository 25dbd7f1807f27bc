# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a reboot leaves of the lab goes when the node boots: the bridge in Open vSwitch's database,
and the snapshot.

The reboot removed namespaces, settings and processes. A unit of systemd, which the lab writes
when it makes the bridge, runs once at the next boot and removes the rest and itself. The unit needs
no call of systemctl: systemd reads it when it starts.
"""

from __future__ import annotations

import contextlib
import os

from .._base.quoting import exec_start
from .._host import daemons, files, script
from .._host.runner import apply
from .._ovs import database
from .._ovs.switch_plan import plan_absent, service_of
from . import snapshot

PROGRAM = "/var/lib/offload-lab/after_boot.zip"
UNITS = "/etc/systemd/system"
UNIT = UNITS + "/offload-lab-after-boot.service"
LINK = UNITS + "/multi-user.target.wants/offload-lab-after-boot.service"
MAIN = "from {0}._restore import after_boot\nafter_boot.end({1!r}, {2!r})\n"
# Before SSH: no controller recreates the lab while the old one is removed.
TEXT = """# Written by offload.lab (playbook lab.yml) for the next boot; playbook teardown.yml takes it away.
[Unit]
Description=Remove what a reboot leaves of the lab of offload.lab
After=ovsdb-server.service ovs-vswitchd.service openvswitch-switch.service openvswitch.service
Before=ssh.service sshd.service

[Service]
Type=oneshot
TimeoutStartSec=120
{start}
[Install]
WantedBy=multi-user.target
"""


def main_for(bridge: str, manager: str) -> str | None:
    """Return the program that removes the bridge, or None on a node that systemd does not boot."""
    return MAIN.format(script.PACKAGE, bridge, manager) if script.by_systemd() else None


def planned() -> str | None:
    """Return the program that the next boot runs, or None."""
    return script.main_of(PROGRAM) if os.path.exists(UNIT) and os.path.lexists(LINK) else None


def plan(main: str) -> None:
    """Have the next boot run a program of :func:`main_for`."""
    script.write_program(PROGRAM, main)
    files.write(UNIT, TEXT.format(start=exec_start(script.argv_of_zip(PROGRAM))))
    files.make_folders(os.path.dirname(LINK))
    if not os.path.lexists(LINK):
        os.symlink(UNIT, LINK)


def forget() -> None:
    """Have the next boot do nothing."""
    for path in (LINK, UNIT):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    daemons.forget(PROGRAM)


def end(bridge: str, manager: str) -> None:
    """Remove the bridge, then the snapshot, which keeps options of its tunnels, then what made this
    run.

    Raises :class:`LabError` where the bridge has ports of others; then all of it stays for the next
    boot.
    """
    apply(plan_absent(database.switch_seen(), bridge, service_of(database.unit_of(manager))))
    snapshot.remove(snapshot.PATH)
    forget()
