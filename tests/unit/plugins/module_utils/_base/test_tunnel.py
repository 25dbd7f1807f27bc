# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SYN segments of a tenant as tcpdump recorded them on the uplink of a lab, from the userspace datapath
of Open vSwitch 3.1.0, and other forms of their headers.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import network, packet
from ansible_collections.offload.lab.plugins.module_utils._base.packet import tunnel_at
from ansible_collections.offload.lab.plugins.module_utils._observe import packets

from .frames import ETHERNET, TCP_HEAD, ipv4, sent, udp

RECORDED = {
    "geneve": bytes.fromhex(
        "bad059b0284e9ebeb962994208004500006e000040004011ae55c6130001c6130002a41717c1005a00000000"
        "655800000a000204c0a80a020204c0a80a0108004500003c9d714000400607f7c0a80a01c0a80a029c013a11"
        "e647adaa00000000a002f3a2f2e90000020422ce0402080a7767cd95000000000103030a"
    ),
    "gre": bytes.fromhex(
        "bad059b0284e9ebeb962994208004500006600004000402fae3fc6130001c6130002200065580000000a0204"
        "c0a80a020204c0a80a0108004500003cc8a940004006dcbec0a80a01c0a80a02af193a11d198fbac00000000"
        "a002f3a2ff800000020422ce0402080a29c2c238000000000103030a"
    ),
    "geneve, checksum, VLAN and IPv6 inside": bytes.fromhex(
        "bad059b0284e9ebeb9629942080045000086000040004011ae3dc6130001c6130002bed917c10072ac040000"
        "655800000a000204c0a80a020204c0a80a018100006486dd600b790400280640fd0000100000000000000000"
        "00000001fd000010000000000000000000000002e9b13a1257e6347b00000000a002f31654af0000020422ba"
        "0402080ae4835463000000000103030a"
    ),
    "gre, checksum, VLAN and IPv6 inside": bytes.fromhex(
        "bad059b0284e9ebeb962994208004500008200004000402fae23c6130001c6130002a000655834a700000000"
        "000a0204c0a80a020204c0a80a018100006486dd6008be1400280640fd000010000000000000000000000001"
        "fd000010000000000000000000000002d2713a12d8a6827d00000000a002f316279e0000020422ba0402080a"
        "7fdd2e98000000000103030a"
    ),
}
VNI = 10
TCP_AND_OPTIONS = 40  # bytes of a SYN


@pytest.mark.parametrize("name", RECORDED)
def test_the_segment_is_found_in_its_tunnel(name):
    frame = RECORDED[name]
    raw = packet.NO_OFFLOAD + frame
    layers = packet.layers(raw)
    outer = layers.tunnel
    tunnel = tunnel_at(raw, outer.protocol, outer.payload)
    assert (tunnel.name, tunnel.vni, tunnel.checksum) == (
        name.split(",")[0],
        VNI,
        "checksum" in name,
    )
    assert (layers.ip.version, layers.ip.protocol) == (6 if "IPv6" in name else 4, 6)
    assert len(raw) - layers.ip.payload == TCP_AND_OPTIONS


@pytest.mark.parametrize("name", RECORDED)
def test_it_takes_the_bytes_that_the_lab_leaves_for_it(name):
    """For GRE there is room for a checksum, whether there is one or not."""
    frame = RECORDED[name]
    inner = TCP_AND_OPTIONS + (40 if "IPv6" in name else 20)
    overhead = network.OVERHEAD[name.split(",")[0]][4] + (network.VLAN_TAG if "VLAN" in name else 0)
    spare = 4 if name == "gre" else 0
    assert len(frame) - packet.ETHERNET - inner == overhead - spare


@pytest.mark.parametrize("name", RECORDED)
def test_a_sample_sees_its_vni_and_its_outer_checksum(name):
    sampled = packets.read_packet(RECORDED[name], len(RECORDED[name]), packets.OUTGOING, 0)
    assert (sampled.vni, sampled.outer_csum) == (VNI, "checksum" in name)
    assert packets.summarise([sampled], 1500)["vxlan_share"] == 1.0


@pytest.mark.parametrize("name", RECORDED)
def test_its_checksums_are_made_again(name):
    frame = RECORDED[name]
    assert set(packets.states(frame, network.VXLAN_PORT)) <= {"right", None}
    assert packets.states(frame, network.VXLAN_PORT)[-1] == "right"
    turned = frame[:-1] + bytes([frame[-1] ^ 1])
    assert packets.states(turned, network.VXLAN_PORT)[-1] == "wrong"


def test_options_of_geneve_and_a_sequence_number_of_gre_are_passed_over():
    inner = ETHERNET + ipv4(6, TCP_HEAD + b"x")
    options = struct.pack("!BBHI", 2, 0, 0x6558, VNI << 8) + bytes(8)
    over_udp = sent(ipv4(17, udp(options + inner, network.GENEVE_PORT)))
    numbered = struct.pack("!HHII", 0x3000, 0x6558, VNI, 77)
    for raw in (over_udp, sent(ipv4(47, numbered + inner))):
        layers = packet.layers(raw)
        assert layers.tunnel is not None and raw[layers.payload :] == b"x"


@pytest.mark.parametrize(
    "header",
    [
        struct.pack("!HH", 0x0000, 0x0800),  # carries IP without Ethernet
        struct.pack("!HHI", 0x2001, 0x880B, VNI),  # of PPTP
        b"\x20",
    ],
)
def test_other_gre_has_no_frame(header):
    raw = sent(ipv4(47, header + ETHERNET + ipv4(6, TCP_HEAD)))
    tunnel = tunnel_at(raw, 47, packet.FRAME + packet.ETHERNET + 20)
    assert tunnel is None or tunnel.frame is None
    assert packet.layers(raw).tunnel is None


@given(st.binary(max_size=60), st.sampled_from([6, 17, 47]), st.integers(0, 70))
def test_any_bytes_are_read(raw, protocol, payload):
    tunnel = tunnel_at(raw, protocol, payload)
    assert tunnel is None or tunnel.vni is None or 0 <= tunnel.vni < 2**32
