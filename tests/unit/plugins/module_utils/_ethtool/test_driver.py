# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._ethtool.settings import (
    failure_reason,
    offload_log_lines,
    parse_driver,
    parse_statistics,
    parse_tunnels,
)
from ansible_collections.offload.lab.tests.unit.corpus import corpus_dir

TUNNELS = """Tunnel information for eth0:
  UDP port table 0:
    Size: 7
    Types: vxlan
    No entries
  UDP port table 1:
    Size: 4
    Types: geneve, vxlan-gpe
    Entries (2):
        port 1230, vxlan-gpe
        port 6081, geneve
  UDP port table 2:
    Size: 1
    Types: none (static entries)
    Entries (1):
        port 4789, vxlan
"""


def test_tunnels():
    assert parse_tunnels(TUNNELS) == {
        "eth0": [
            {"size": 7, "types": ["vxlan"], "entries": []},
            {
                "size": 4,
                "types": ["geneve", "vxlan-gpe"],
                "entries": [{"port": 1230, "type": "vxlan-gpe"}, {"port": 6081, "type": "geneve"}],
            },
            {"size": 1, "types": [], "entries": [{"port": 4789, "type": "vxlan"}]},
        ]
    }


@pytest.mark.parametrize(
    "name,expected",
    [
        (
            "bnxt_en.txt",
            {
                "driver": "bnxt_en",
                "firmware-version": "220.0.57.0/pkg 22.00.07.60",
                "expansion-rom-version": "",
                "bus-info": "0000:ca:00.0",
                "supports-priv-flags": False,
            },
        ),
        (
            "insights_virtio.txt",
            {"driver": "virtio_net", "firmware-version": "", "supports-statistics": False},
        ),
        (
            "nodeexporter_eth0.txt",
            {"driver": "e1000e", "version": "5.11.0-22-generic", "supports-test": True},
        ),
        (
            "ohai_mlx5.txt",
            {"driver": "mlx5_core", "version": "5.0-0", "firmware-version": "14.23.8012"},
        ),
        (
            "phihos_ixgbe_heredoc.txt",
            {"firmware-version": "0x80001733, 1.3105.0", "expansion-rom-version": ""},
        ),
    ],
)
def test_recorded_drivers(name, expected):
    driver = parse_driver((corpus_dir() / "ethtool_i" / name).read_text(encoding="utf-8"))
    assert {key: driver[key] for key in expected} == expected


@pytest.mark.parametrize(
    "name,expected",
    [
        ("be2net_style_rxq_colon.txt", {"rxq0: rx_pkts": 5000000, "rxq1: rx_drops_no_frags": 5000}),
        ("bnxt_en.txt", {"[0]: rx_ucast_packets": 276347403, "[1]: rx_ucast_packets": 292321566}),
        ("i40e_00.txt", {"rx_packets": 258269468302, "tx-0.packets": 9652980690}),
        (
            "nodeexporter_e1000e.txt",
            {"port.rx_dropped": 12028, "duplicate metric": 1, "duplicate_metric": 2},
        ),
    ],
)
def test_recorded_statistics(name, expected):
    counters = parse_statistics((corpus_dir() / "ethtool_S" / name).read_text(encoding="utf-8"))
    assert {key: counters[key] for key in expected} == expected


def test_every_recorded_counter_is_taken():
    for path in sorted((corpus_dir() / "ethtool_S").iterdir()):
        rows = [
            line
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.rpartition(": ")[2].isdigit()
        ]
        assert (
            len(parse_statistics("\n".join(rows)))
            == len({row.rpartition(":")[0].strip() for row in rows})
            > 0
        )


@pytest.mark.parametrize(
    "err,out,reason",
    [
        ("netlink error: Operation not supported\n", "", "Operation not supported"),
        (
            "netlink error: device does not report tunnel offload info\nnetlink error: Operation not supported\n",
            "",
            "Operation not supported",
        ),
        (
            "netlink error: requested channel count exceeds maximum (offset 40)\nnetlink error: Invalid argument\n",
            "",
            "requested channel count exceeds maximum (offset 40); Invalid argument",
        ),
        ("no stats available\n", "", "no stats available"),
        (
            "",
            "Channel parameters for eth0:\nCannot get device channel parameters\n: Operation not supported\n",
            "Operation not supported",
        ),
        ("", "", "no reason given"),
    ],
)
def test_failure_reason(err, out, reason):
    assert failure_reason(err, out) == reason


def test_kernel_log():
    lines = [
        "[ 6829.318535] be2net 0000:05:00.0: Enabled VxLAN offloads for UDP port 4789",
        "[   12.000000] vxlan0: entered promiscuous mode",
        "[   13.000000] eth0: offload of nothing",
        "[   14.000000] mlx4_en: eth0: VXLAN port 4789 added",
    ]
    assert offload_log_lines("\n".join(lines)) == [lines[0], lines[3]]


@given(
    st.lists(
        st.one_of(
            st.sampled_from(TUNNELS.split("\n")),
            st.text(),
            st.builds("{0}: {1}".format, st.text(), st.integers()),
            st.builds("driver: {0}".format, st.text()),
        ),
        max_size=25,
    ).map("\n".join)
)
def test_any_text_gives_values(text):
    assert all(isinstance(value, int) for value in parse_statistics(text).values())
    assert all(isinstance(value, (str, bool)) for value in parse_driver(text).values())
    for tables in parse_tunnels(text).values():
        assert all(set(table) == {"size", "types", "entries"} for table in tables)
    assert isinstance(failure_reason(text, text), str)
    assert set(offload_log_lines(text)) <= set(text.split("\n"))
