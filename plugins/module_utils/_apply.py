# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running the steps of a plan."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._errors import CommandError
from ansible_collections.offload.lab.plugins.module_utils._netns import inside
from ansible_collections.offload.lab.plugins.module_utils._runner import run

TIMEOUT = 120  # seconds; ovs-vsctl gives up by itself before


def _complaint(result, stdin):
    """Return a message that quotes the line of a batch, which ip gives by its number only."""
    message = " ".join(result.err.split())
    number, lines = message.rsplit(":", 1)[-1], (stdin or "").splitlines()
    if number.isdigit() and 0 < int(number) <= len(lines):
        return "{0!r} failed: {1}".format(lines[int(number) - 1], message.partition(" Command failed")[0])
    return "failed with exit status {0}: {1}".format(result.rc, message)


def apply(steps):
    """Run the steps in their order, those with -netns inside that namespace; the first failure ends it."""
    for step in steps:
        argv, netns = step["argv"], None
        if argv[1:2] == ["-netns"]:
            netns, argv = argv[2], argv[:1] + argv[3:]
        with inside(netns):
            result = run(argv, step["stdin"], timeout=TIMEOUT, check=False)
        if result.rc != 0:
            raise CommandError(_complaint(result, step["stdin"]), step["argv"], result.rc, result.err)
        if argv[0] == "ovs-vsctl" and "Error detected" in result.err:
            # ovs-vsctl exits with 0 when the database took the change and ovs-vswitchd could not follow.
            raise CommandError(result.err.strip().splitlines()[0].replace("ovs-vsctl: ", ""), argv[:1],
                               to_do="See ovs-vswitchd.log on the node.")
