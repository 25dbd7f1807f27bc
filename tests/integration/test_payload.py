# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of the payload against a NIC that lies, and against one that does not."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.instruments.lying_nic.nodes import (
    VXLAN_SERVER,
    Nodes,
    checked,
    served,
)


def test_a_nic_that_keeps_its_word_is_clean():
    with Nodes() as nodes, served(nodes):
        assert [payload.trouble(checked(nodes)) for _check in range(3)] == [None] * 3


@pytest.mark.parametrize(
    "fault, expected, cure",
    [
        ("bit_flipped:0.01:tx", payload.WRONG, ["tx", "off"]),
        ("bit_flipped:0.001:tx", payload.WRONG, ["tx", "off"]),
        ("bit_flipped:0.01:tso", payload.WRONG, ["tso", "off"]),
        ("last_byte_zeroed:0.01:odd+tx", payload.WRONG, ["tx", "off"]),
        ("checksum_unfilled:0.01:tx", payload.REFUSED, ["tx", "off"]),
        ("dropped:0.01:tso", payload.RETRANSMITTED, ["tso", "off"]),
        ("dropped:1:tso", payload.RETRANSMITTED, ["tso", "off"]),
        ("truncated:0.01:uso", payload.WRONG, ["tx-udp-segmentation", "off"]),
    ],
)
def test_a_nic_that_lies_is_found_and_its_cure_is_clean(fault, expected, cure):
    with Nodes(fault) as nodes, served(nodes):
        assert payload.trouble(checked(nodes)) == expected
        nodes.ethtool(*cure)
        assert payload.trouble(checked(nodes)) is None


def test_a_nic_that_lies_in_tunnels_only():
    with Nodes("checksum_unfilled:0.01:tunnel+tx", tunnel=True) as nodes:
        with served(nodes):
            assert payload.trouble(checked(nodes)) is None
        with served(nodes, VXLAN_SERVER):
            assert payload.trouble(checked(nodes, 3, VXLAN_SERVER)) == payload.REFUSED
            nodes.ethtool("tx", "off")
            assert payload.trouble(checked(nodes, 3, VXLAN_SERVER)) is None


def test_a_path_that_loses_large_packets_is_told_from_an_offload():
    """Behind the far end's filter packets above 1,400 bytes are gone, and no ICMP says so."""
    rules = "add table inet ol; add chain inet ol in { type filter hook prerouting priority 0; }"
    with Nodes(name="ol-hole") as nodes, served(nodes):
        nodes.inside(1, "nft", f"{rules}; add rule inet ol in meta length > 1400 drop")
        found = checked(nodes)
        assert payload.trouble(found) == payload.TOO_LARGE
        assert found["sizes"]["forward"] == {"mtu": 9000, "largest": 1400, "said": False}
        assert found["sizes"]["reverse"]["largest"] == 9000
        nodes.inside(1, "nft", "delete table inet ol")
        assert payload.trouble(checked(nodes)) is None
