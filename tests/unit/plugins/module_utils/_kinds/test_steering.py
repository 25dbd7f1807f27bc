# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, ParseError
from ansible_collections.offload.lab.plugins.module_utils._kinds import steering
from ansible_collections.offload.lab.plugins.module_utils._kinds.rps import RPS


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
    "cpus, said",
    [
        ("x", "not a mask"),
        ("", "not a mask"),
        ("0x1", "not a mask"),
        ("10", "has CPUs that this node lacks"),
    ],
)
def test_wrong_masks(cpus, said):
    with pytest.raises(InputError, match=said):
        steering.wanted_mask(cpus, "0-1,3\n")


def test_plan_writes_what_differs():
    queues = {"rx-0/rps_cpus": "00000000,0000000f", "rx-1/rps_cpus": "0", "rx-0/rps_flow_cnt": "0"}
    assert RPS.plan(queues, 15) == {"rx-1/rps_cpus": "f"}
    assert RPS.plan(queues, 0) == {"rx-0/rps_cpus": "0"}


def test_what_a_snapshot_restores_and_queues_that_are_gone():
    saved = {"rx-0/rps_cpus": "3", "rx-0/rps_flow_cnt": "0", "rx-1/rps_cpus": "3"}
    now = {"rx-0/rps_cpus": "0", "rx-0/rps_flow_cnt": "0"}
    writes = [
        (path, value) for path, value in RPS.restore_writes("eth0", saved, now) if "rx-0" in path
    ]
    assert writes == [("/sys/class/net/eth0/queues/rx-0/rps_cpus", "3")]
