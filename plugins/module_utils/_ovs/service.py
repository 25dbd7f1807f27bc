# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which daemons of Open vSwitch run on this host, and which datapath its kernel allows."""

from __future__ import annotations

import os

from .._base.errors import CommandError, InputError
from .._host.runner import run
from . import database
from .switch_plan import OVS_CTL, SwitchSeen

UNITS = ("openvswitch-switch", "openvswitch")  # Debian's package, and Red Hat's
UNIT_DIRECTORIES = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def read() -> SwitchSeen:
    """Return what there is of Open vSwitch."""
    db = database.runs("ovsdb-server")
    return {
        "db": db,
        "vswitchd": database.runs("ovs-vswitchd"),
        "ovs": database.read() if db else database.read_file(),
    }


def kernel_datapath() -> bool:
    """Return whether the kernel has the openvswitch module, or can load it."""
    if os.path.isdir("/sys/module/openvswitch"):
        return True
    try:
        return run(["modprobe", "--dry-run", "--quiet", "openvswitch"], check=False).rc == 0
    except CommandError:
        return False


def unit_of(manager: str) -> str | None:
    """Return the systemd unit of Open vSwitch, or None where ovs-ctl starts it.

    ``manager`` may be auto.
    """
    units = [unit for unit in UNITS if _has_unit(unit)]
    by_systemd = bool(units) and os.path.isdir("/run/systemd/system")
    if manager == "ovs-ctl" or (manager == "auto" and not by_systemd):
        return None
    return units[0] if units else UNITS[0]


def _has_unit(unit: str) -> bool:
    paths = [os.path.join(directory, unit + ".service") for directory in UNIT_DIRECTORIES]
    return any(map(os.path.exists, paths))


def check_installed() -> None:
    """Raise InputError when Open vSwitch is not installed."""
    if not os.path.exists(OVS_CTL):
        raise InputError(
            "Open vSwitch is not installed",
            OVS_CTL,
            "Install its package, or let the role switch do it: offload_lab_install_packages: true.",
        )
