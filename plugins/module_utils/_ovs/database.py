# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading Open vSwitch's database."""

from __future__ import annotations

import fcntl
import json
import os

from .._base.errors import CommandError, LabError
from .._host.runner import run
from . import buffers
from .ovs_state import TABLES, OvsState, empty, state_of
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
        return buffers.sizes(pid("ovs-vswitchd"))
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
