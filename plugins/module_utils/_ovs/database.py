# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading Open vSwitch's database, which of its daemons run on this host, and which datapath its kernel
allows.
"""

from __future__ import annotations

import fcntl
import json
import os

from .._base.errors import CommandError, InputError, LabError
from .._host.runner import run
from . import packet_sockets
from .ovs_state import TABLES, OvsState, empty, state_of
from .switch_plan import OVS_CTL, SwitchSeen
from .tables import parse_query, parse_tables

RUN = "/run/openvswitch"
DATABASE = "/etc/openvswitch/conf.db"
READ = ["ovs-vsctl", "--timeout=10", "--format=json"] + " -- ".join(
    "list " + table for table in TABLES
).split()


def runs(daemon: str) -> bool:
    """Return whether a daemon runs: then it holds the lock of its pid file."""
    try:
        with open(os.path.join(RUN, daemon + ".pid")) as stream:
            fcntl.lockf(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def pid(daemon: str) -> int:
    """Return the process number of a daemon that runs."""
    with open(os.path.join(RUN, daemon + ".pid")) as stream:
        return int(stream.read())


def port_buffers() -> dict[str, int]:
    """Return ``{device: receive buffer in bytes}`` of the userspace datapath; empty where that is
    not known.
    """
    if not runs("ovs-vswitchd"):
        return {}
    try:
        return packet_sockets.sizes(pid("ovs-vswitchd"))
    except (LabError, OSError, ValueError):
        return {}


def read(missing_ok: bool = False) -> OvsState:
    """Return the state of the database.

    With ``missing_ok`` a host without Open vSwitch has an empty one.
    """
    try:
        return state_of(parse_tables(run(READ).out), vswitchd=runs("ovs-vswitchd"))
    except CommandError as error:
        if missing_ok:
            return empty()
        raise CommandError(
            f"Open vSwitch does not answer ({(error.err or error.what).strip()})",
            READ[:1],
            error.rc,
            error.err,
            "Install and start it: role offload.lab.switch.",
        )


def read_file() -> OvsState:
    """Return the state of the database while ovsdb-server does not run."""
    if not os.path.exists(DATABASE):
        return empty()
    selects = [{"op": "select", "table": table, "where": []} for table in TABLES]
    query = json.dumps(["Open_vSwitch"] + selects)
    return state_of(
        parse_query(run(["ovsdb-tool", "query", DATABASE, query]).out),
        running=False,
        vswitchd=False,
    )


UNITS = ("openvswitch-switch", "openvswitch")  # Debian's package, and Red Hat's
UNIT_DIRECTORIES = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def switch_seen() -> SwitchSeen:
    """Return what there is of Open vSwitch."""
    db = runs("ovsdb-server")
    return {
        "db": db,
        "vswitchd": runs("ovs-vswitchd"),
        "ovs": read() if db else read_file(),
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
