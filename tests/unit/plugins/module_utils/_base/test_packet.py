# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base import packet

from .frames import ETHERNET, FRAMES, TCP_HEAD, ipv4, is_right, sent, udp, vxlan


@pytest.mark.parametrize("name", FRAMES)
@given(content=st.binary(min_size=1, max_size=700), size=st.integers(1, 300))
def test_segments_have_the_content_and_right_checksums(name, content, size):
    frame, kind = FRAMES[name]
    parts = packet.segments(sent(frame(content), kind, size))
    behind = packet.layers(parts[0]).payload
    assert b"".join(part[behind:] for part in parts) == content
    assert all(map(is_right, parts))
    assert {part[: packet.FRAME] for part in parts} == {packet.NO_OFFLOAD}
    assert [len(part) - behind for part in parts[:-1]] == [size] * (len(parts) - 1)


def test_segments_of_tcp_count_on_and_the_last_has_the_flags():
    parts = packet.segments(sent(ipv4(6, TCP_HEAD + b"abcdef"), packet.TCP4, 2))
    tcp = packet.layers(parts[0]).ip.payload
    assert [part[tcp + 4 : tcp + 8][-1] for part in parts] == [77, 79, 81]
    assert [part[tcp + 13] for part in parts] == [0x90, 0x10, 0x18]
    idents = [packet.word(part, packet.layers(part).ip.start + 4) for part in parts]
    assert idents == [7, 8, 9]


def test_a_tunnel_is_seen_with_its_inner_packet():
    inner = ETHERNET + ipv4(6, TCP_HEAD + b"x")
    raw = sent(ipv4(17, vxlan(inner)))
    layers = packet.layers(raw)
    assert layers.tunnel.start == packet.FRAME + 14
    assert raw[layers.payload :] == b"x"
    flannel = packet.layers(sent(ipv4(17, udp(bytes(8) + inner, 8472))))
    assert flannel == layers
    ports = ipv4(17, udp(bytes(8) + inner, 4799))
    assert packet.layers(sent(ports)).tunnel is None


def test_a_later_fragment_has_no_ports():
    frame = bytearray(ipv4(17, b"content of the datagram"))
    frame[8:10] = b"\x00\xb9"  # behind the type: offset 185
    layers = packet.layers(sent(bytes(frame)))
    assert (layers.ip.protocol, layers.payload) == (0, layers.ip.payload)
    assert packet.checksum_place(layers.ip) is None


@pytest.mark.parametrize("raw", [b"", bytes(24), sent(b"\x08\x06" + bytes(28)), sent(b"\x08\x00")])
def test_what_is_not_ip_passes(raw):
    assert packet.layers(raw) is None
    assert packet.segments(raw) == [raw]


@given(st.binary(max_size=200))
def test_any_frame_is_read_without_an_error(frame):
    raw = sent(frame)
    layers = packet.layers(raw)
    if layers and len(raw) > layers.payload:
        assert packet.segments(raw)
