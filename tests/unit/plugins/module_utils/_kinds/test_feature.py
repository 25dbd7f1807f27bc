# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._ethtool.features import parse_features
from ansible_collections.offload.lab.plugins.module_utils._kinds.feature import (
    feature_steps,
    judge_features,
    plan_features,
    plan_wanted,
    predict_features,
    refused_bits,
)


def features(*rows):
    return parse_features("\n".join(("Features for d:",) + rows))["d"]


DEVICE = features(
    "tx-checksumming: on",
    "\ttx-checksum-ipv4: off [fixed]",
    "\ttx-checksum-ip-generic: on",
    "tcp-segmentation-offload: on",
    "\ttx-tcp-segmentation: off [requested on]",
    "\ttx-tcp6-segmentation: on [fixed]",
    "scatter-gather: on",
    "\ttx-scatter-gather: on [fixed]",
    "\ttx-scatter-gather-fraglist: off [fixed]",
    "generic-receive-offload: off",
    "tx-udp_tnl-segmentation: off [fixed]",
    "rx-gro-list: on [requested off]",
)

# What is asked, and the change and the fixed bits that it leads to.
PLANS = [
    ("nothing to do", {"tx-checksum-ip-generic": True}, {}, {}),
    ("one bit", {"gro": True}, {"generic-receive-offload": True}, {}),
    ("text for a boolean", {"gro": "on"}, {"generic-receive-offload": True}, {}),
    ("fixed and already so", {"tx-udp_tnl-segmentation": False}, {}, {}),
    (
        "a group off, fixed bits are off already",
        {"tx": False},
        {"tx-checksum-ip-generic": False},
        {},
    ),
    (
        "a group on, its fixed bits are reported",
        {"tx": True},
        {},
        {"tx-checksum-ipv4": (True, False)},
    ),
    (
        "a group off, a fixed bit stays on",
        {"tso": False},
        {"tx-tcp-segmentation": False},
        {"tx-tcp6-segmentation": (False, True)},
    ),
    ("a wanted bit that cannot be active needs no step", {"tx-tcp-segmentation": True}, {}, {}),
    (
        "a wanted bit is changed although the active one is right",
        {"tx-tcp-segmentation": False},
        {"tx-tcp-segmentation": False},
        {},
    ),
    (
        "an unwanted bit that is active is wanted again",
        {"rx-gro-list": True},
        {"rx-gro-list": True},
        {},
    ),
    (
        "a group that is on, all fixed",
        {"sg": True},
        {},
        {"tx-scatter-gather-fraglist": (True, False)},
    ),
    ("a single bit over its group", {"tx": False, "tx-checksum-ip-generic": True}, {}, {}),
]


@pytest.mark.parametrize(
    "settings,change,fixed", [case[1:] for case in PLANS], ids=[case[0] for case in PLANS]
)
@pytest.mark.parametrize("report_fixed", [False, True])
def test_plans(settings, change, fixed, report_fixed):
    plan = plan_features(settings, DEVICE, "d", report_fixed)
    assert plan["change"] == change
    assert {bit: (state["asked"], state["active"]) for bit, state in plan["fixed"].items()} == fixed
    assert set(change) <= set(plan["requested"])


@pytest.mark.parametrize(
    "settings,bit",
    [
        ({"tx-udp_tnl-segmentation": True}, "tx-udp_tnl-segmentation"),
        ({"tx-checksum-ipv4": True}, "tx-checksum-ipv4"),
        ({"sg": False}, "tx-scatter-gather"),
        ({"scatter-gather": False}, "tx-scatter-gather"),
        ({"gro": True, "tx-tcp6-segmentation": False}, "tx-tcp6-segmentation"),
    ],
)
def test_a_fixed_feature_is_an_error_or_reported(settings, bit):
    name = [name for name in settings if name != "gro"][0]
    turned = "on" if settings[name] else "off"
    with pytest.raises(
        InputError, match=f"d: the feature '{name}' is fixed and cannot be turned {turned}"
    ):
        plan_features(settings, DEVICE, "d")
    plan = plan_features(settings, DEVICE, "d", report_fixed=True)
    assert bit in plan["fixed"]
    assert bit not in plan["change"]


@pytest.mark.parametrize(
    "settings,change",
    [
        ({"tx-tcp-segmentation": True, "rx-gro-list": True}, {"rx-gro-list": True}),
        ({"tx-checksumming": False, "tx-checksum-ip-generic": True}, {}),
        (
            {"tx-checksum-ip-generic": False, "generic-receive-offload": False},
            {"tx-checksum-ip-generic": False},
        ),
    ],
)
def test_exact_bits(settings, change):
    assert plan_wanted(settings, DEVICE, "d")["change"] == change


def test_exact_bits_are_rows_and_no_aliases():
    with pytest.raises(InputError, match="no feature 'gro'"):
        plan_wanted({"gro": True}, DEVICE, "d")
    with pytest.raises(InputError, match="'tx-udp_tnl-segmentation' is fixed"):
        plan_wanted({"tx-udp_tnl-segmentation": True}, DEVICE, "d")
    assert plan_wanted({"tx-udp_tnl-segmentation": True}, DEVICE, "d", True)["fixed"]


def test_one_call_changes_all_bits():
    assert feature_steps({"tx-tcp-segmentation": True, "generic-receive-offload": False}, "d") == [
        ["ethtool", "-K", "d", "tx-tcp-segmentation", "on", "gro", "off"]
    ]
    assert feature_steps({}, "d") == []


def test_prediction_leaves_the_original_alone():
    after = predict_features(DEVICE, {"rx-gro-list": False, "generic-receive-offload": True})
    assert after["rx-gro-list"] == {"active": False, "fixed": False, "requested": None}
    assert after["generic-receive-offload"]["active"]
    assert DEVICE["rx-gro-list"] == {"active": True, "fixed": False, "requested": False}


def test_what_was_not_honoured_and_what_came_along():
    before = features("\ttx-checksum-ip-generic: on", "tx-tcp-segmentation: on", "rx-gro-list: off")
    after = features(
        "\ttx-checksum-ip-generic: off",
        "tx-tcp-segmentation: off [requested on]",
        "rx-gro-list: off [requested on]",
    )
    plan = plan_features({"tx-checksum-ip-generic": False, "rx-gro-list": True}, before, "d")
    assert judge_features(plan, before, after) == (
        {"rx-gro-list": {"asked": True, "active": False, "requested": True}},
        {"tx-tcp-segmentation": {"before": True, "after": False}},
    )
    not_honoured, _side_effects = judge_features(plan, before, after, exact=True)
    assert not_honoured == {}


# Rows after `tso on`, and the bits that the device does not take.
REFUSALS = [
    ("all bits act", ["on", "on"], []),
    ("one bit stays off", ["on", "off [requested on]"], ["tx-tcp-ecn-segmentation"]),
    ("no bit acts: they need another feature", ["off [requested on]", "off [requested on]"], []),
    ("the kernel does not keep the request", ["on", "off"], []),
]


@pytest.mark.parametrize(("_case", "states", "refused"), REFUSALS)
def test_a_bit_that_the_device_does_not_take_is_not_part_of_its_group(_case, states, refused):
    before = features(
        "tcp-segmentation-offload: off",
        "\ttx-tcp-segmentation: off",
        "\ttx-tcp-ecn-segmentation: off",
    )
    after = features(
        "tcp-segmentation-offload: on",
        f"\ttx-tcp-segmentation: {states[0]}",
        f"\ttx-tcp-ecn-segmentation: {states[1]}",
    )
    plan = plan_features({"tso": True}, before, "d")
    assert list(refused_bits(plan, after)) == refused
