# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._observe import packets as observe_packets

MACS = b"\x02" * 12
IPV4 = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1500, 0, 0, 64, 17, 0, b"\x01" * 4, b"\x02" * 4)
IPV6 = struct.pack("!IHBB16s16s", 6 << 28, 1500, 17, 64, b"\x01" * 16, b"\x02" * 16)
VXLAN = struct.pack("!B3xI", 8, 10 << 8)


def udp(port=4789, csum=0):
    return struct.pack("!HHHH", 50000, port, 1480, csum)


@pytest.mark.parametrize(
    "head",
    [
        MACS + b"\x08\x00" + IPV4 + udp() + VXLAN,
        MACS + b"\x81\x00\x00\x05\x08\x00" + IPV4 + udp() + VXLAN,
        MACS + b"\x86\xdd" + IPV6 + udp() + VXLAN,
    ],
)
def test_vni_is_read_over_ipv4_ipv6_and_vlan(head):
    packet = observe_packets.read_packet(head, 1514, observe_packets.OUTGOING, 0)
    assert (packet.vni, packet.udp_port, packet.outer_csum, packet.outgoing) == (
        10,
        4789,
        False,
        True,
    )


def test_outer_checksum_is_seen():
    head = MACS + b"\x08\x00" + IPV4 + udp(csum=0x1234) + VXLAN
    assert observe_packets.read_packet(head, 1514, 0, 0).outer_csum is True


def test_other_ports_are_no_tunnel():
    packet = observe_packets.read_packet(
        MACS + b"\x08\x00" + IPV4 + udp(port=53) + VXLAN, 1514, 0, 0
    )
    assert (packet.vni, packet.udp_port) == (None, 53)


def test_shares_are_of_bytes():
    packets = [
        observe_packets.read_packet(b"", 14 + size, observe_packets.OUTGOING, status)
        for size, status in ((60000, observe_packets.STATUS_CSUM_NOT_READY), (1500, 0), (500, 0))
    ]
    summary = observe_packets.summarise(packets, 1500)
    assert summary["out"]["super_share"] == pytest.approx(60000 / 62000)
    assert summary["out"]["csum_not_ready_share"] == pytest.approx(60000 / 62000)
    assert summary["out"]["longest"] == 60000
    assert summary["in"]["super_share"] is None


def test_an_empty_sample_says_nothing():
    assert observe_packets.summarise([], 1500)["vxlan_share"] is None


@given(st.binary(max_size=128), st.integers(0, 70000), st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_any_bytes_are_read(head, length, kind, status):
    packet = observe_packets.read_packet(head, length, kind, status)
    assert packet.length == max(0, length - 14)
    assert packet.vni is None or 0 <= packet.vni < 2**32
