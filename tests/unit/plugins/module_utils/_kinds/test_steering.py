# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, ParseError
from ansible_collections.offload.lab.plugins.module_utils._kinds import steering
from ansible_collections.offload.lab.plugins.module_utils._kinds.steering import RPS


@pytest.mark.parametrize(
    "text, expected", [("0\n", {0}), ("0-3", {0, 1, 2, 3}), ("0-1,4,6-7\n", {0, 1, 4, 6, 7})]
)
def test_cpus(text, expected):
    assert steering.parse_cpus(text) == expected


@pytest.mark.parametrize(
    "text, expected", [("0", 0), ("f", 15), ("00000000,0000000F", 15), ("1,00000000", 2**32)]
)
def test_masks(text, expected):
    assert steering.parse_mask(text) == expected


@given(st.integers(0, 2**1024 - 1))
def test_a_mask_is_read_as_it_was_written(value):
    assert steering.parse_mask(steering.format_mask(value)) == value


@given(st.text())
def test_any_text_is_a_value_or_our_error(text):
    for parse in (steering.parse_cpus, steering.parse_mask):
        try:
            parse(text)
        except ParseError as error:
            assert "line 1: not a" in str(error)


@pytest.mark.parametrize(
    "cpus, expected", [("off", 0), ("False", 0), ("all", 0b1011), ("3", 3), ("0", 0)]
)
def test_wanted(cpus, expected):
    assert steering.wanted_mask(cpus, "0-1,3\n") == expected


@pytest.mark.parametrize(
    "cpus, message",
    [
        ("x", "not a mask"),
        ("", "not a mask"),
        ("0x1", "not a mask"),
        ("10", "has CPUs that this node lacks"),
    ],
)
def test_wrong_masks(cpus, message):
    with pytest.raises(InputError, match=message):
        steering.wanted_mask(cpus, "0-1,3\n")


STATE = RPS.state(
    {
        "queues/rx-0/rps_cpus": "00000000,0000000f",
        "queues/rx-1/rps_cpus": "0",
        "queues/rx-0/rps_flow_cnt": "0",
        "queues/tx-0/xps_cpus": "1",
    },
    None,
)


@pytest.fixture(autouse=True)
def four_cpus(tmp_path, monkeypatch):
    online = tmp_path / "online"
    online.write_text("0-3\n")
    monkeypatch.setattr(steering, "ONLINE", str(online))


def plan(settings, report_fixed=False, state=None):
    return RPS.plan({"rps": settings}, state or STATE, "eth0", report_fixed)


def test_queues_and_their_masks_are_read():
    assert STATE == {"supported": True, "current": {"rx-0": "f", "rx-1": "0"}}


@pytest.mark.parametrize(
    "settings, change",
    [
        ({"cpus": "all"}, {"rx-1": "f"}),
        ({"cpus": "off"}, {"rx-0": "0"}),
        ({"cpus": "F"}, {"rx-1": "f"}),
        ({"cpus": "off", "rx-1": "2"}, {"rx-0": "0", "rx-1": "2"}),
        ({"rx-0": "00000000,0000000f"}, {}),
    ],
)
def test_plan_changes_what_differs(settings, change):
    assert plan(settings)["change"] == change


def test_a_queue_that_is_gone_is_reported_and_comes_back_later():
    planned = plan({"rx-0": "3", "rx-7": "3"}, report_fixed=True)
    assert planned["change"] == {"rx-0": "3"}
    assert planned["fixed"] == {"rx-7": {"asked": "3", "reason": "there is no such queue"}}
    with pytest.raises(InputError, match="rx-7.*no such queue"):
        plan({"rx-7": "3"})


def test_a_device_without_queues_is_unsupported():
    nothing = RPS.state({"threaded": "0"}, None)
    assert nothing == {"supported": False, "reason": "it has no queues that rps can steer"}
    assert plan({"cpus": "all"}, True, nothing)["fixed"] == {
        "cpus": {"asked": "all", "reason": "it has no queues that rps can steer"}
    }


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"queues": "all"}, "'queues' is not a setting of rps.*cpus"),
        ({"rx-0": "x"}, "rx-0: not a mask of CPUs"),
        ({"cpus": "10"}, "has CPUs that this node lacks"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(InputError, match=message):
        plan(settings)


def test_what_is_not_as_asked_is_said_once_for_all_queues():
    missed, others = RPS.judge(plan({"cpus": "3"}), STATE, STATE, False)
    assert missed == {"cpus": {"asked": "3", "active": "f", "queues": ["rx-0", "rx-1"]}}
    assert others == {}


def test_files_that_are_written_now_and_at_boot():
    assert RPS.writes({"rx-1": "f"}, "eth0") == [("/sys/class/net/eth0/queues/rx-1/rps_cpus", "f")]
    assert RPS.shell({"rx-0": "1", "rx-1": "2"}, "eth0") == [
        "echo 1 >/sys/class/net/eth0/queues/rx-0/rps_cpus",
        "echo 2 >/sys/class/net/eth0/queues/rx-1/rps_cpus",
    ]
