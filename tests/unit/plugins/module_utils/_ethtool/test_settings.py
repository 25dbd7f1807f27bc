# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._ethtool.settings import (
    parse_channels,
    parse_coalesce,
    parse_rings,
)
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir


def recorded(folder, name):
    return (corpus_dir() / folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name,device,maximum,current",
    [
        (
            "arthur2018_eth0_a.txt",
            "eth0",
            {"rx": 0, "tx": 0, "other": 0, "combined": 8},
            {"rx": 0, "tx": 0, "other": 0, "combined": 4},
        ),
        ("arthur2018_eth0_b.txt", "eth0", {}, {}),
        (
            "arthur2022_eth0.txt",
            "eth0",
            {"rx": 0, "tx": 0, "other": 0, "combined": 40},
            {"rx": 0, "tx": 0, "other": 0, "combined": 40},
        ),
        (
            "ohai_eth0_uneven_tabs.txt",
            "eth0",
            {"rx": 16, "tx": 16, "other": 0, "combined": 32},
            {"rx": 0, "tx": 0, "other": 0, "combined": 16},
        ),
        (
            "phihos_eno1_na.txt",
            "eno1",
            {"rx": None, "tx": None, "other": 1, "combined": 63},
            {"rx": None, "tx": None, "other": 1, "combined": 8},
        ),
    ],
)
def test_recorded_channels(name, device, maximum, current):
    assert parse_channels(recorded("ethtool_l", name)) == {
        device: {"maximum": maximum, "current": current}
    }


@pytest.mark.parametrize(
    "name,device,maximum,current",
    [
        (
            "arthur2022impl_eth0.txt",
            "eth0",
            {"rx": 8192, "rx-mini": 0, "rx-jumbo": 0, "tx": 8192},
            {"rx": 1024, "rx-mini": 0, "rx-jumbo": 0, "tx": 1024},
        ),
        ("insights_bond_nosuchdevice.txt", "bond0.102@bond0", {}, {}),
        (
            "insights_ens3_virtio_na.txt",
            "ens3",
            {"rx": 256, "rx-mini": None, "rx-jumbo": None, "tx": 256},
            {"rx": 256, "rx-mini": None, "rx-jumbo": None, "tx": 256},
        ),
        (
            "insights_eth2_blank_mid.txt",
            "eth2",
            {"rx": 2047, "rx-mini": 0, "rx-jumbo": 0, "tx": 511},
            {"rx": 200, "rx-mini": 0, "rx-jumbo": 0, "tx": 511},
        ),
        (
            "insights_pri_newfields.txt",
            "pri",
            {"rx": 4096, "rx-mini": 2048, "rx-jumbo": 4096, "tx": 4096},
            {
                "rx": 1024,
                "rx-mini": 128,
                "rx-jumbo": 512,
                "tx": 512,
                "rx-buf-len": None,
                "cqe-size": None,
                "tx-push": False,
                "tcp-data-split": None,
            },
        ),
        (
            "kubeovn_eno1_leading_space.txt",
            "eno1",
            {"rx": 4096, "rx-mini": 0, "rx-jumbo": 0, "tx": 4096},
            {"rx": 255, "rx-mini": 0, "rx-jumbo": 0},
        ),
        (
            "phihos_eno1_ethtool6x.txt",
            "eno1",
            {"rx": 4096, "rx-mini": None, "rx-jumbo": None, "tx": 4096, "tx-push-buf-len": None},
            {
                "rx": 256,
                "rx-mini": None,
                "rx-jumbo": None,
                "tx": 256,
                "rx-buf-len": None,
                "cqe-size": None,
                "tx-push": False,
                "rx-push": None,
                "tx-push-buf-len": None,
                "tcp-data-split": None,
            },
        ),
    ],
)
def test_recorded_rings(name, device, maximum, current):
    rings = parse_rings(recorded("ethtool_g", name))[device]
    assert (rings["maximum"], {key: rings["current"][key] for key in current}) == (maximum, current)


@pytest.mark.parametrize(
    "name,device,expected",
    [
        (
            "arthur2018_eth0.txt",
            "eth0",
            {"adaptive-rx": False, "adaptive-tx": False, "pkt-rate-high": 0},
        ),
        (
            "arthur2022_eth0.txt",
            "eth0",
            {"adaptive-rx": True, "adaptive-tx": True, "rx-usecs": 8, "tx-frames-high": 0},
        ),
        ("bobtfish_ubuntulucid.txt", "eth0", {"rx-usecs": 0, "rx-frames-low": 0}),
        (
            "ohai_eth0.txt",
            "eth0",
            {"adaptive-rx": True, "adaptive-tx": False, "rx-usecs": 33, "rx-frames": 88},
        ),
        (
            "phihos_eno1_missing_colon.txt",
            "eno1",
            {
                "adaptive-rx": None,
                "rx-usecs": 3,
                "tx-usecs": None,
                "cqe-mode-rx": None,
                "cqe-mode-tx": None,
                "tx-aggr-max-frames": None,
                "tx-aggr-time-usecs": None,
            },
        ),
    ],
)
def test_recorded_coalescing(name, device, expected):
    coalescing = parse_coalesce(recorded("ethtool_c", name))[device]
    assert {key: coalescing[key] for key in expected} == expected


def test_recorded_failure_of_coalescing():
    assert parse_coalesce(recorded("ethtool_c", "insights_cannot_get.txt")) == {"usb0": {}}


def test_several_devices_in_one_listing():
    text = (
        "Ring parameters for a:\nCurrent hardware settings:\nRX: 1\n\nChannel parameters for a:\nRX: 9\n"
        "Ring parameters for b:\nRX: 7\nCurrent hardware settings:\nRX: 2\n"
    )
    assert parse_rings(text) == {
        "a": {"maximum": {}, "current": {"rx": 1}},
        "b": {"maximum": {}, "current": {"rx": 2}},
    }


LINES = st.one_of(
    st.builds(
        "{0} parameters for {1}:".format,
        st.sampled_from(["Channel", "Ring", "Coalesce"]),
        st.sampled_from(["eth0", "eth1.5"]),
    ),
    st.sampled_from(
        ["Pre-set maximums:", "Current hardware settings:", "", "Adaptive RX: on  TX: n/a"]
    ),
    st.builds(
        "{0}{1}{2}".format,
        st.sampled_from(["RX", "tx-usecs", "TX Push"]),
        st.sampled_from([":\t", "\t", ": "]),
        st.one_of(
            st.integers().map(str), st.sampled_from(["n/a", "on", "1_0", "9" * 5000, "auto"])
        ),
    ),
    st.text(),
)


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_any_text_gives_plain_values(text):
    for device in list(parse_channels(text).values()) + list(parse_rings(text).values()):
        assert set(device) == {"maximum", "current"}
        for section in device.values():
            assert all(
                value is None or isinstance(value, (bool, int)) or value == "auto"
                for value in section.values()
            )
    for values in parse_coalesce(text).values():
        assert all(
            value is None or isinstance(value, (bool, int)) or value == "auto"
            for value in values.values()
        )
