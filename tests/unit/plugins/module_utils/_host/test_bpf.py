# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""BPF programs of devices: messages in the form in which Linux 6.18 sends them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._host import bpf, netlink
from ansible_collections.offload.lab.plugins.module_utils._host.bpf import Program


def test_programs_of_a_link():
    number = struct.pack("=I", 12)
    nested = netlink.attribute(2, b"\2") + netlink.attribute(4, number)
    nested += netlink.attribute(6, number) + netlink.attribute(5, bytes(4))
    answer = bytes(16) + netlink.attribute(3, b"eth0\0") + netlink.attribute(43, nested)
    assert bpf.xdp_of(answer) == [Program("xdp generic", 12)]


def test_the_program_of_a_filter():
    options = netlink.attribute(7, b"my_tc\0") + netlink.attribute(11, struct.pack("=I", 7))
    answer = bytes(20) + netlink.attribute(1, b"bpf\0") + netlink.attribute(2, options)
    # struct tcmsg has 20 bytes: FILTER.size
    assert bpf.FILTER.size == 20
    assert bpf.filter_of(answer, "tc ingress") == [Program("tc ingress", 7)]
    assert bpf.filter_of(bytes(20), "tc ingress") == []


@given(st.binary(max_size=200))
def test_any_answer_is_read(data):
    for program in [*bpf.xdp_of(data), *bpf.filter_of(data, "tc egress")]:
        assert program.number >= 0


def test_two_programs_at_one_hook(monkeypatch):
    found = [Program("tc ingress", 7), Program("tc ingress", 8), Program("xdp native", 9)]
    monkeypatch.setattr(bpf, "programs", lambda _device: found)
    monkeypatch.setattr(bpf, "info_of", lambda number: {"name": f"p{number}", "tag": "ab"})
    assert bpf.described("eth0") == {
        "tc ingress": {"id": 7, "name": "p7", "tag": "ab"},
        "tc ingress 2": {"id": 8, "name": "p8", "tag": "ab"},
        "xdp native": {"id": 9, "name": "p9", "tag": "ab"},
    }


def test_a_device_that_is_gone():
    assert bpf.described("no-such-dev") == {}


def test_an_architecture_that_is_not_known(monkeypatch):
    monkeypatch.setattr(bpf.platform, "machine", lambda: "sparc64")
    assert bpf.info_of(1) == {}
    with pytest.raises(OSError, match="not known"):
        bpf.call(bpf.QUERY, b"")
