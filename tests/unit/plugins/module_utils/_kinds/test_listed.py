# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds.kinds import DEVICE_KINDS
from ansible_collections.offload.lab.plugins.module_utils._kinds.rss import (
    check_flow_types,
)

CHANNELS = {
    "supported": True,
    "current": {"rx": None, "combined": 2},
    "maximum": {"rx": None, "combined": 8},
}
RINGS = {
    "supported": True,
    "current": {"rx": 256, "tx-push": False, "tcp-data-split": "auto"},
    "maximum": {"rx": 4096},
}
COALESCE = {"supported": True, "current": {"adaptive-rx": True, "rx-usecs": 3}}
HASH = {
    "supported": True,
    "current": {"udp4": "sd", "tcp6": None},
    "reasons": {"tcp6": "Invalid argument"},
}
NOTHING = {"supported": False, "reason": "Operation not supported"}


def plan_setting(kind, settings, state, device, report_fixed=False):
    return DEVICE_KINDS[kind].plan({kind: settings}, state, device, report_fixed)


@pytest.mark.parametrize(
    "kind,settings,state,steps",
    [
        ("channels", {"combined": 4}, CHANNELS, [["ethtool", "-L", "d", "combined", "4"]]),
        ("channels", {"combined": "2"}, CHANNELS, []),
        (
            "rings",
            {"rx": 4096, "tx_push": "on"},
            RINGS,
            [["ethtool", "-G", "d", "rx", "4096", "tx-push", "on"]],
        ),
        ("rings", {"tcp-data-split": "auto"}, RINGS, []),
        (
            "rings",
            {"tcp-data-split": True},
            RINGS,
            [["ethtool", "-G", "d", "tcp-data-split", "on"]],
        ),
        (
            "coalesce",
            {"adaptive-rx": False, "rx-usecs": 0},
            COALESCE,
            [["ethtool", "-C", "d", "adaptive-rx", "off", "rx-usecs", "0"]],
        ),
        (
            "rx_flow_hash",
            {"udp4": "nfds"},
            HASH,
            [["ethtool", "-N", "d", "rx-flow-hash", "udp4", "sdfn"]],
        ),
        ("rx_flow_hash", {"udp4": "ds"}, HASH, []),
    ],
)
def test_steps(kind, settings, state, steps):
    assert (
        DEVICE_KINDS[kind].steps(plan_setting(kind, settings, state, "d")["change"], "d") == steps
    )


@pytest.mark.parametrize(
    "kind,settings,state,message",
    [
        ("channels", {"combined": 9}, CHANNELS, "d, channels combined 9: not between 0 and 8"),
        ("channels", {"combined": -1}, CHANNELS, "combined -1: not between"),
        ("channels", {"combined": "4; reboot"}, CHANNELS, "not a whole number"),
        ("channels", {"combined": True}, CHANNELS, "not a whole number"),
        ("channels", {"combinde": 4}, CHANNELS, "Did you mean combined?"),
        ("channels", {"rx": 1}, CHANNELS, "channels 'rx' cannot be set here (n/a)"),
        ("rings", {"rx": 1}, NOTHING, "rings 'rx' cannot be set here (Operation not supported)"),
        ("rings", {"tx-push": "perhaps"}, RINGS, "tx-push 'perhaps': neither on nor off"),
        ("rx_flow_hash", {"udp4": "sdx"}, HASH, "'sdx' is not a set of hash fields"),
        (
            "rx_flow_hash",
            {"tcp6": "sd"},
            HASH,
            "rx_flow_hash 'tcp6' cannot be set here (Invalid argument)",
        ),
    ],
)
def test_wrong_values(kind, settings, state, message):
    with pytest.raises(InputError) as caught:
        plan_setting(kind, settings, state, "d")
    assert message in str(caught.value)


def test_what_cannot_be_set_is_reported_on_demand():
    plan = plan_setting("channels", {"rx": 1, "combined": 4}, CHANNELS, "d", report_fixed=True)
    assert plan == {
        "requested": {"combined": 4},
        "change": {"combined": 4},
        "fixed": {"rx": {"asked": 1, "reason": "n/a"}},
    }
    assert plan_setting("rings", {"rx": 1}, NOTHING, "d", report_fixed=True) == {
        "requested": {},
        "change": {},
        "fixed": {"rx": {"asked": 1, "reason": "Operation not supported"}},
    }


@pytest.mark.parametrize("flow_type", ["-K", "udp4 sd", "", "UDP4", "udp4\n"])
def test_wrong_flow_types(flow_type):
    with pytest.raises(InputError, match="not a flow type"):
        check_flow_types([flow_type], "d")


def test_prediction_and_judgement():
    plan = plan_setting("rings", {"rx": 1000}, RINGS, "d")
    predicted = DEVICE_KINDS["rings"].predict(RINGS, plan["change"])
    assert DEVICE_KINDS["rings"].judge(plan, RINGS, predicted, False) == ({}, {})
    rounded = dict(RINGS, current=dict(RINGS["current"], rx=1024, **{"tx-push": True}))
    assert DEVICE_KINDS["rings"].judge(plan, RINGS, rounded, False) == (
        {"rx": {"asked": 1000, "active": 1024}},
        {"tx-push": {"before": False, "after": True}},
    )
    assert DEVICE_KINDS["rings"].predict(NOTHING, {}) == NOTHING
