# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the payload against a NIC that lies, and against one that does not."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time

import pytest

from ansible_collections.offload.lab.plugins.module_utils._payload import traffic
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.lying_nic import wire

SERVER, PORT = "192.0.2.2", "12868"


@contextlib.contextmanager
def served(nodes):
    """Run the server in the second node until the block ends."""
    inside = ["ip", "netns", "exec", nodes.spaces[1], sys.executable, traffic.__file__]
    with subprocess.Popen([*inside, "serve", SERVER, PORT]) as server:
        listening = ["ip", "netns", "exec", nodes.spaces[1], "ss", "-Hltn"]
        until = time.monotonic() + 30
        while PORT not in nodes.run(*listening):
            assert time.monotonic() < until
            time.sleep(0.05)
        yield
        server.kill()


def trouble(nodes, seconds=3):
    """Check once from the first node; return what is wrong."""
    inside = ["ip", "netns", "exec", nodes.spaces[0], sys.executable, traffic.__file__]
    found = nodes.run(*inside, "check", SERVER, PORT, str(seconds))
    assert json.loads(found)["error"] is None or "stalled" not in found
    return payload.trouble(payload.parse(found))


def test_a_nic_that_keeps_its_word_is_clean():
    with wire.Nodes() as nodes, served(nodes):
        assert [trouble(nodes) for _check in range(3)] == [None] * 3


@pytest.mark.parametrize(
    "fault, expected, cure",
    [
        (wire.flips_a_bit(1e-2), payload.WRONG, ["tx", "off"]),
        (wire.flips_a_bit(1e-3), payload.WRONG, ["tx", "off"]),
        (wire.flips_a_bit(1e-2, wire.super_packet), payload.WRONG, ["tso", "off"]),
        (wire.loses_last_odd_byte(1e-2), payload.WRONG, ["tx", "off"]),
        (wire.leaves_checksums(1e-2), payload.REFUSED, ["tx", "off"]),
        (wire.loses_super_packets(1e-2), payload.RETRANSMITTED, ["tso", "off"]),
        (wire.loses_super_packets(1.0), payload.RETRANSMITTED, ["tso", "off"]),
    ],
    ids=["flip", "seldom", "tso", "odd", "checksum", "lost", "all lost"],
)
def test_a_nic_that_lies_is_found_and_its_cure_is_clean(fault, expected, cure):
    with wire.Nodes(fault) as nodes, served(nodes):
        assert trouble(nodes) == expected
        nodes.ethtool(*cure)
        assert trouble(nodes) is None
