# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds.iproute2 import BIG_TCP
from ansible_collections.offload.lab.plugins.module_utils._kinds.listed import rows_of

ROW = {
    "ifname": "eth0",
    "gso_max_size": 65536,
    "gso_max_segs": 65535,
    "tso_max_size": 131072,
    "gro_max_size": 65536,
}
NEWER = {**ROW, "gso_ipv4_max_size": 65536, "gro_ipv4_max_size": 65536}


def state(row):
    return BIG_TCP.state(rows_of(json.dumps([row]))[0], None)


def plan(settings, row=None, report_fixed=False):
    return BIG_TCP.plan({"big_tcp": settings}, state(row or NEWER), "eth0", report_fixed)


def test_one_command_sets_what_differs_in_the_order_of_the_kernel():
    change = plan({"gso_ipv4_max_size": 100000, "gso_max_size": 131072, "gro_max_size": 65536})[
        "change"
    ]
    assert BIG_TCP.steps(change, "eth0") == [
        [
            "ip",
            "link",
            "set",
            "dev",
            "eth0",
            "gso_max_size",
            "131072",
            "gso_ipv4_max_size",
            "100000",
        ]
    ]


def test_what_an_older_ip_does_not_list_cannot_be_set():
    planned = plan({"gro_ipv4_max_size": 100000}, ROW, report_fixed=True)
    reason = "this host's ip or kernel does not list it"
    assert planned["fixed"] == {"gro_ipv4_max_size": {"asked": 100000, "reason": reason}}
    with pytest.raises(InputError, match="does not list it"):
        plan({"gro_ipv4_max_size": 100000}, ROW)


def test_a_device_that_ip_does_not_list_has_none():
    state_of_device = BIG_TCP.state(None, None)
    assert not state_of_device["supported"]
    assert "does not list the sizes" in state_of_device["reason"]


@pytest.mark.parametrize("size", [131073, -1, "large"])
def test_what_the_device_cannot_take_is_refused(size):
    with pytest.raises(InputError, match="gso_max_size"):
        plan({"gso_max_size": size})


def test_a_snapshot_keeps_what_is_listed_alone():
    assert BIG_TCP.kept(BIG_TCP.described(state(ROW))) == {
        "gso_max_size": 65536,
        "gro_max_size": 65536,
    }


@given(st.one_of(st.text(), st.recursive(st.none() | st.text(), st.lists).map(json.dumps)))
def test_any_text_is_a_listing(text):
    assert isinstance(rows_of(text), list)
