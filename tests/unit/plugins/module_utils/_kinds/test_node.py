# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._kinds.change import NodeReader
from ansible_collections.offload.lab.plugins.module_utils._kinds.iproute2 import QDISC


def test_a_program_that_is_not_installed_is_a_reason():
    out, reason = NodeReader().read_output(["no-such-tc", "-j", "qdisc", "show"], None)
    assert out == ""
    assert reason.startswith("no-such-tc could not be started")
    assert QDISC.state(None, reason) == {"supported": False, "reason": reason}


def test_a_command_that_fails_says_why_and_runs_once():
    node = NodeReader()
    output = node.read_output(["ls", "/no/such/folder"], None)
    assert "No such file or directory" in output[1]
    assert node.read_output(["ls", "/no/such/folder"], None) is output
