# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Echo requests and their answers as bytes; the integration target dead_man_switch sends them."""

from __future__ import annotations

import socket

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._host import echo

V4 = socket.AF_INET
V6 = socket.AF_INET6
IP_HEADER = bytes([0x45]) + bytes(19)


def answer(family, identifier, kind=None):
    packet = bytearray(echo.request(family, identifier))
    packet[0] = echo.ANSWER[family] if kind is None else kind
    return (IP_HEADER if family == V4 else b"") + bytes(packet)


def test_the_checksum_is_that_of_rfc_1071():
    assert echo.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D


@given(st.integers(0, 0xFFFF))
def test_a_request_sums_to_zero_and_its_answer_is_known(identifier):
    assert echo.checksum(echo.request(V4, identifier)) == 0
    for family in (V4, V6):
        assert echo.answers(family, answer(family, identifier), identifier)
        assert not echo.answers(family, answer(family, identifier), identifier ^ 1)
        assert not echo.answers(family, answer(family, identifier, kind=3), identifier)


@given(st.sampled_from([V4, V6]), st.binary(max_size=64))
def test_no_packet_crashes_it(family, packet):
    assert echo.answers(family, packet, 7) in (True, False)


def test_nobody_answers_where_there_is_no_namespace():
    assert echo.ask([echo.Target("ol-none", "192.0.2.1")], 0.1) == set()
