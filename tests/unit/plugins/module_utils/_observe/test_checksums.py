# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import packet
from ansible_collections.offload.lab.plugins.module_utils._observe import packets
from ansible_collections.offload.lab.plugins.module_utils._observe.packets import Frame

from .._base.frames import ETHERNET, TCP_HEAD, ipv4, ipv6, sent, udp, vxlan

PORT = packet.VXLAN_PORTS[0]


def framed(frame):
    """Return a frame with right checksums, made as the lying NIC makes them."""
    raw = sent(frame)
    layers = packet.layers(raw)
    return packet.summed(packet.resized(raw, layers), layers)[packet.FRAME :]


def put(frame, offset, value):
    return frame[:offset] + struct.pack(">H", value) + frame[offset + 2 :]


def tunnelled(inner):
    """Return a frame in VXLAN, without an outer checksum."""
    raw = sent(ipv4(packet.PROTOCOL_UDP, vxlan(inner)))
    return packet.resized(raw, packet.layers(raw))[packet.FRAME :]


def data_of_tcp(ip, data):
    return framed(ip(6, TCP_HEAD + data)), 16


def data_of_udp(ip, data):
    return framed(ip(17, udp(data))), 6


@pytest.mark.parametrize("make_frame", [data_of_tcp, data_of_udp])
@pytest.mark.parametrize("ip, head", [(ipv4, 20), (ipv6, 40)])
@given(data=st.binary(min_size=1, max_size=300))
def test_right_wrong_and_unfilled_are_told_apart(make_frame, ip, head, data):
    frame, offset = make_frame(ip, data)
    padding = bytes(len(data) % 20)
    assert packets.states(frame + padding, PORT) == ["right"]
    flipped = frame[:-1] + bytes([frame[-1] ^ 4])
    assert packets.states(flipped, PORT) in (["wrong"], ["unfilled"])
    raw = packet.NO_OFFLOAD + frame
    ip_layer = packet.layers(raw).ip
    pseudo = packet.ones_sum(packet.pseudo_header(raw, ip_layer, len(raw) - ip_layer.payload))
    assert packets.states(put(frame, 14 + head + offset, pseudo), PORT) == ["unfilled"]


def test_a_header_of_ip_that_was_changed_is_wrong():
    frame = framed(ipv4(6, TCP_HEAD + b"abc"))
    assert packets.states(put(frame, 14 + 8, 0x1234), PORT) == ["wrong"]


def test_of_a_tunnel_both_packets_are_judged():
    inner = framed(ipv4(6, TCP_HEAD + b"abcd"))
    frame = tunnelled(inner)
    assert packets.states(frame, PORT) == [None, "right"]  # the outer one has none
    assert packets.states(frame[:-1] + b"?", PORT) == [None, "wrong"]
    assert packets.states(frame, 8472) == [None]  # for another port it is a datagram without one


def test_what_cannot_be_judged_is_left_out():
    frame = framed(ipv4(17, udp(b"part of a datagram")))
    fragment = put(put(frame, 14 + 6, 0x2000), 14 + 10, 0)
    assert packets.states(fragment, PORT) == [None]
    assert packets.states(frame[:-1], PORT) == [None]
    assert packets.states(bytes(12) + b"\x08\x06" + bytes(28), PORT) == []


def test_what_the_device_vouched_for_is_counted_apart():
    right = framed(ipv4(6, TCP_HEAD + b"abc"))
    wrong = right[:-1] + b"?"
    frames = [Frame(right, True), Frame(right, False), Frame(wrong, True), Frame(wrong, False)]
    expected = {"right": 2, "vouched": 1, "unfilled": 0, "wrong": 1}
    assert packets.counted(frames, PORT) == expected
    # What a device says of the packet in a tunnel is not known.
    in_tunnel = Frame(tunnelled(right)[:-1] + b"?", True)
    expected = {"right": 0, "vouched": 0, "unfilled": 0, "wrong": 1}
    assert packets.counted([in_tunnel], PORT) == expected


@given(st.binary(max_size=200))
def test_any_bytes_are_judged_without_an_error(raw):
    packets.counted([Frame(raw, True), Frame(ETHERNET + b"\x08\x00" + raw, False)], PORT)
