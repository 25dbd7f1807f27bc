# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds.iproute2 import (
    BY_HANDLE,
    QDISC,
    parse_roots,
)

OTHERS = [
    {"kind": "pfifo_fast", "handle": "0:", "dev": "eth0", "parent": "ff7:1"},
    {"kind": "clsact", "handle": "ffff:", "dev": "eth0", "parent": "ffff:fff1"},
]


def state(kind, handle):
    row = {"kind": kind, "handle": handle, "dev": "eth0", "root": True}
    return QDISC.state(parse_roots(json.dumps([*OTHERS, row])).get("eth0"), None)


def steps(settings, kind="mq", handle="0:"):
    change = QDISC.plan({"qdisc": {"root": settings}}, state(kind, handle), "eth0", False)["change"]
    return [" ".join(argv) for argv in QDISC.steps(change, "eth0")]


def test_there_and_back():
    assert steps("fq") == ["tc qdisc replace dev eth0 root handle ff1: fq"]
    assert steps("fq", "fq", "ff1:") == []
    assert steps("fq_codel", "fq", "ff1:") == [
        "tc qdisc replace dev eth0 root handle ff2: fq_codel"
    ]
    assert steps("default", "fq", "ff1:") == ["tc qdisc del dev eth0 root"]
    assert steps("default") == []


@pytest.mark.parametrize("kind, handle", [("htb", "1:"), ("fq", "8001:"), ("htb", "ff1:")])
def test_what_somebody_has_set_is_left_alone(kind, handle):
    state_now = state(kind, handle)
    assert not state_now["supported"]
    assert f"somebody has set {kind} {handle}" in state_now["reason"]
    assert QDISC.kept(QDISC.described(state_now)) == {}
    with pytest.raises(InputError, match="somebody has set"):
        QDISC.plan({"qdisc": {"root": "fq"}}, state_now, "eth0", False)


@pytest.mark.parametrize("name", ["htb", "fq; reboot", "", True])
def test_wrong_names(name):
    with pytest.raises(InputError, match="root"):
        steps(name)
    with pytest.raises(ValueError):
        QDISC.value(name)


def test_each_name_has_a_handle_that_the_kernel_does_not_choose():
    assert len(set(BY_HANDLE.values())) == len(BY_HANDLE)
    assert all(0 < int(handle[:-1], 16) < 0x8000 for handle in BY_HANDLE)


@given(st.one_of(st.text(), st.recursive(st.none() | st.text(), st.lists).map(json.dumps)))
def test_any_text_is_a_listing(text):
    assert isinstance(parse_roots(text), dict)
