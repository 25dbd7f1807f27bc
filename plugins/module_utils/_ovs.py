# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading Open vSwitch's database and changing it, through ovs-vsctl."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._errors import CommandError
from ansible_collections.offload.lab.plugins.module_utils._ovs_state import TABLES, TIMEOUT, empty, state_of
from ansible_collections.offload.lab.plugins.module_utils._runner import run

READ = ["ovs-vsctl", "--timeout=10", "--format=json"] + " -- ".join("list " + table for table in TABLES).split()


def read(missing_ok=False):
    """Return the state of the database. With ``missing_ok`` a host without Open vSwitch has an empty one."""
    try:
        return state_of(run(READ).out)
    except CommandError as error:
        if missing_ok:
            return empty()
        raise CommandError("Open vSwitch does not answer ({0})".format((error.err or error.what).strip()), READ[:1],
                           error.rc, error.err, "Install and start it: role offload.lab.switch.")


def apply(steps):
    """Run the steps of a plan. What Open vSwitch says about a port is an error, though ovs-vsctl exits with 0."""
    for step in steps:
        result = run(step["argv"], step["stdin"], timeout=TIMEOUT + 10)
        if "Error detected" in result.err:
            raise CommandError(result.err.strip().splitlines()[0].replace("ovs-vsctl: ", ""), step["argv"][:1],
                               to_do="See ovs-vswitchd.log on the node.")
