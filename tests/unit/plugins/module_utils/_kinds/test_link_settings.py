# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

"""Pause frames, Energy-Efficient Ethernet and private flags; the outputs come from mailing lists
and manuals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._kinds.ethtool_lists import (
    EEE,
    PAUSE,
    PRIVATE_FLAGS,
    parse_eee,
    parse_pause,
    parse_private_flags,
)

PAUSES = """Pause parameters for eth0:
Autonegotiate:\ton
RX:\t\toff
TX:\t\toff
RX negotiated: on
TX negotiated: on

Pause parameters for eth1:
Autonegotiate:\toff
RX:\t\ton
TX:\t\ton
"""
EEES = """EEE settings for eno1:
\tEEE status: enabled - active
\tTx LPI: 17 (us)
\tSupported EEE link modes:  100baseT/Full
\t                           1000baseT/Full
\tAdvertised EEE link modes:  100baseT/Full
\tLink partner advertised EEE link modes:  Not reported

EEE Settings for eth1:
   EEE status: disabled
   Tx LPI: disabled

EEE settings for end1:
        EEE status: not supported

EEE settings for lan1:
     EEE status: disabled
     Tx LPI: 30 (us)
"""
FLAGS = """Private flags for ens1f0:
disable-fw-lldp  : off
rx_cqe_moder     : on
vf-true-promisc-support: off
Private flags for ens1f1:
rx_cqe_moder     : off
"""


def test_pause_frames_are_read():
    assert parse_pause(PAUSES) == {
        "eth0": {"autoneg": True, "rx": False, "tx": False},
        "eth1": {"autoneg": False, "rx": True, "tx": True},
    }


def test_energy_efficient_ethernet_is_read():
    assert parse_eee(EEES) == {
        "eno1": {"eee": True, "tx-lpi": True, "tx-timer": 17},
        "eth1": {"eee": False, "tx-lpi": False, "tx-timer": None},
        "end1": {},
        "lan1": {"eee": False, "tx-lpi": True, "tx-timer": 30},
    }


def test_private_flags_are_read():
    assert parse_private_flags(FLAGS) == {
        "ens1f0": {
            "disable-fw-lldp": False,
            "rx_cqe_moder": True,
            "vf-true-promisc-support": False,
        },
        "ens1f1": {"rx_cqe_moder": False},
    }


@given(st.text())
def test_any_text_is_a_listing(text):
    for title in ("Pause parameters for d:", "EEE settings for d:", "Private flags for d:"):
        for parse in (parse_pause, parse_eee, parse_private_flags):
            for values in parse(f"{title}\n{text}").values():
                assert all(isinstance(value, (bool, int, type(None))) for value in values.values())


@pytest.mark.parametrize(
    "kind, listing, settings, argv",
    [
        (PAUSE, parse_pause(PAUSES)["eth0"], {"rx": True, "tx": False}, "ethtool -A d rx on"),
        (
            EEE,
            parse_eee(EEES)["eno1"],
            {"eee": "off", "tx_lpi": False, "tx-timer": 20},
            "ethtool --set-eee d eee off tx-lpi off tx-timer 20",
        ),
        (
            PRIVATE_FLAGS,
            parse_private_flags(FLAGS)["ens1f0"],
            {"rx_cqe_moder": "off", "disable-fw-lldp": False},
            "ethtool --set-priv-flags d rx_cqe_moder off",
        ),
    ],
)
def test_what_differs_is_one_command(kind, listing, settings, argv):
    state = kind.state(listing, None)
    plan = kind.plan({kind.group: settings}, state, "d", False)
    assert [" ".join(argv_words) for argv_words in kind.steps(plan["change"], "d")] == [argv]
    after = kind.predict(state, plan["change"])
    assert kind.judge(plan, state, after, False) == ({}, {})
    assert kind.plan({kind.group: settings}, after, "d", False)["change"] == {}
    kept = kind.kept(kind.described(state))
    back = kind.plan({kind.group: kept}, after, "d", True)
    assert kind.predict(after, back["change"])["current"] == state["current"]


def test_a_timer_that_is_not_listed_cannot_be_set():
    state = EEE.state(parse_eee(EEES)["eth1"], None)
    planned = EEE.plan({"eee": {"tx-timer": 20}}, state, "d", True)
    assert planned["fixed"]["tx-timer"]["reason"] == "tx-lpi is off"


def test_what_a_device_lacks_and_names_that_it_does_not_have():
    assert EEE.state(parse_eee(EEES)["end1"], None) == {
        "supported": False,
        "reason": "Operation not supported",
    }
    state = PRIVATE_FLAGS.state(parse_private_flags(FLAGS)["ens1f0"], None)
    with pytest.raises(InputError, match="Did you mean rx_cqe_moder"):
        PRIVATE_FLAGS.plan({"private_flags": {"rx-cqe-moder": True}}, state, "d", False)
