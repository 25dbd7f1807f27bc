# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address of a bridge's own device."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._ovs import ovs_state
from ansible_collections.offload.lab.plugins.module_utils._ovs.switch_plan import (
    MARK,
    NOTHING,
    plan,
    seen,
)

OURS = "192.168.40.1/24"
WANTED = {"address": OURS, "tag": 20, "up": True}


def state(ids, tag):
    port = {"external_ids": ids, "tag": tag}
    return {**ovs_state.empty(), "ports": {"br-int": port}}


def words(steps):
    return [" ".join(step.argv[2:]) if step.stdin is None else step.stdin for step in steps]


def test_an_address_is_given():
    first, second = words(plan("br-int", NOTHING, WANTED))
    assert first == (
        f'set Port br-int tag=20 -- set Port br-int external_ids:{MARK}="192.168.40.1/24"'
    )
    assert second == "address replace 192.168.40.1/24 dev br-int\nlink set br-int up\n"


def test_what_is_there_is_left():
    now = seen(state({MARK: OURS}, 20), "br-int", ["fe80::1/64", OURS], True)
    assert now == WANTED and plan("br-int", now, WANTED) == []


def test_it_is_taken_away():
    first, second = words(plan("br-int", WANTED, NOTHING))
    assert first == f"clear Port br-int tag -- remove Port br-int external_ids {MARK}"
    assert second == f"address del {OURS} dev br-int\nlink set br-int down\n"


def test_another_address_takes_its_place():
    other = {**WANTED, "address": "192.168.40.7/24"}
    assert words(plan("br-int", other, WANTED))[1].splitlines()[:2] == [
        "address del 192.168.40.7/24 dev br-int",
        f"address replace {OURS} dev br-int",
    ]


@pytest.mark.parametrize("addresses", [[], ["10.0.0.1/8"]])
def test_what_somebody_else_gave_it_is_not_ours(addresses):
    now = seen(state({}, 7), "br-int", addresses, True)
    assert now == NOTHING and plan("br-int", now, NOTHING) == []


def test_after_a_reboot_the_address_is_given_again():
    now = seen(state({MARK: OURS}, 20), "br-int", [], False)
    assert words(plan("br-int", now, WANTED))[1].startswith(f"address replace {OURS}")
