# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import in_netns
from ansible_collections.offload.lab.plugins.module_utils._ethtool import read as ethtool_read
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._kinds import info

UNSUPPORTED = {"supported": False, "reason": "Operation not supported"}
REFUSED = (1, "", "netlink error: Operation not supported\n")
DRIVER = "driver: veth\nversion: 1.0\nsupports-statistics: yes\n"
FEATURES = """
Features for veth0:
tcp-segmentation-offload: on
\ttx-tcp-segmentation: off [requested on]
\ttx-tcp6-segmentation: on [fixed]

Features for veth1:
generic-receive-offload: on
"""
CHANNELS = """
Channel parameters for veth1:
Pre-set maximums:
RX:\t2
Current hardware settings:
RX:\t1
"""
TUNNELS = "Tunnel information for veth1:\n  UDP port table 0:\n    Size: 4\n    Types: vxlan\n    No entries\n"
ANSWERS = {
    "ip -o link show": (
        0,
        "1: veth0@veth1: <UP> mtu 1500\n2: veth1@veth0: <UP>\n9: gone: <UP> mtu 1500\n",
        "",
    ),
    "ethtool -k *": (0, FEATURES, ""),
    "ethtool -k gone": (1, "", "netlink error: No such device\n"),
    "ethtool -l *": (0, CHANNELS, ""),
    "ethtool -g *": (0, "", ""),
    "ethtool -c *": (0, "", ""),
    "ethtool --show-tunnels *": (0, TUNNELS, ""),
    "ethtool -i veth0": (0, DRIVER, ""),
    "ethtool -i veth1": (1, "", "Cannot get driver information: Operation not supported\n"),
    "ethtool -S veth0": (0, "NIC statistics:\n     peer_ifindex: 2\n", ""),
    "ethtool -S veth1": (1, "", "no stats available\n"),
    "ethtool -x veth0": (
        0,
        "RX flow hash indirection table for veth0 with 2 RX ring(s):\n    0:      0     1\n",
        "",
    ),
    "ethtool -x veth1": (1, "", "Cannot get RX ring count: Operation not supported\n"),
    "ethtool -n veth0 rx-flow-hash udp4": (
        0,
        "UDP over IPV4 flows use these fields for computing Hash flow key:\nIP SA\nIP DA\n",
        "",
    ),
    "ethtool -n veth0 rx-flow-hash tcp6": (
        1,
        "",
        "Cannot get RX network flow hashing options: Invalid argument\n",
    ),
    "ethtool -n veth1 rx-flow-hash udp4": REFUSED,
    "ethtool -n veth1 rx-flow-hash tcp6": REFUSED,
    "dmesg": (0, "[1] be2net: Enabled VxLAN offloads for UDP port 4789\n[2] eth0: up\n", ""),
}


@pytest.fixture
def commands(monkeypatch):
    """Answer the commands, and keep them in a list."""
    commands_run = []

    def run(argv, netns=None, check=True):
        commands_run.append(" ".join(in_netns(argv, netns)))
        rc, out, err = ANSWERS[" ".join(argv)]
        return CommandResult(argv, rc, out, err)

    monkeypatch.setattr(ethtool_read, "run", run)
    monkeypatch.setattr(info, "check_netns", lambda netns: None)
    monkeypatch.setattr(info, "require", lambda needed: None)
    return commands_run


def read(**params):
    defaults = {
        "devices": None,
        "netns": None,
        "gather": [kind for kind in info.KINDS if kind != "others"],
        "flow_types": ["udp4", "tcp6"],
    }
    return info.read(dict(defaults, **params))


def test_everything_of_all_devices(commands):
    devices = read()
    assert list(devices) == ["veth0", "veth1"]
    veth0 = devices["veth0"]
    veth1 = devices["veth1"]
    assert veth0["features"]["tx-tcp-segmentation"] == {
        "active": False,
        "fixed": False,
        "requested": True,
    }
    assert veth0["features_wanted"] == {"tx-tcp-segmentation": True}
    assert veth0["groups"] == {
        "tcp-segmentation-offload": ["tx-tcp-segmentation", "tx-tcp6-segmentation"]
    }
    assert veth1["channels"] == {"supported": True, "current": {"rx": 1}, "maximum": {"rx": 2}}
    assert (
        veth0["channels"] == veth0["rings"] == veth1["coalesce"] == veth0["tunnels"] == UNSUPPORTED
    )
    assert veth1["tunnels"] == {
        "supported": True,
        "tables": [{"size": 4, "types": ["vxlan"], "entries": []}],
    }
    assert veth0["driver"] == {
        "supported": True,
        "driver": "veth",
        "version": "1.0",
        "supports-statistics": True,
    }
    assert veth1["driver"] == UNSUPPORTED
    assert veth0["statistics"] == {"supported": True, "counters": {"peer_ifindex": 2}}
    assert veth1["statistics"] == {"supported": False, "reason": "no stats available"}
    assert veth0["rss"] == {
        "supported": True,
        "rings": 2,
        "indirection": [0, 1],
        "key": None,
        "functions": {},
    }
    assert veth1["rss"] == UNSUPPORTED
    assert veth0["rx_flow_hash"] == {
        "supported": True,
        "current": {"udp4": "sd", "tcp6": None},
        "reasons": {"tcp6": "Invalid argument"},
    }
    assert veth1["rx_flow_hash"] == UNSUPPORTED


def test_what_can_be_restored(commands):
    assert [info.restore_item(device) for device in read(netns="tenant1").values()] == [
        {
            "name": "veth0",
            "netns": "tenant1",
            "features_wanted": {"tx-tcp-segmentation": True},
            "rx_flow_hash": {"udp4": "sd"},
        },
        {
            "name": "veth1",
            "netns": "tenant1",
            "features_wanted": {"generic-receive-offload": True},
            "channels": {"rx": 1},
        },
    ]


def test_features_of_all_named_devices_cost_one_process(commands):
    assert list(read(devices=["veth1", "veth0"], netns="tenant1", gather=["features"])) == [
        "tenant1/veth1",
        "tenant1/veth0",
    ]
    assert commands == ["ip netns exec tenant1 ethtool -k *"]


def test_a_named_device_must_be_there(commands):
    with pytest.raises(InputError, match="^gone: there is no such network device"):
        read(devices=["veth0", "gone"])


@pytest.mark.parametrize(
    "params,message",
    [
        ({"devices": ["-k"]}, "not a usable name for a device"),
        ({"netns": "../x"}, "not a usable name for a network namespace"),
        ({"flow_types": ["udp4 context 1"]}, "not a flow type"),
    ],
)
def test_wrong_input_runs_nothing(commands, params, message):
    with pytest.raises(InputError, match=message):
        read(**params)
    assert commands == []


def test_kernel_log(commands):
    assert ethtool_read.read_kernel_log() == {
        "supported": True,
        "lines": ["[1] be2net: Enabled VxLAN offloads for UDP port 4789"],
    }


def test_a_namespace_that_is_not_there():
    with pytest.raises(InputError, match="^ethtool-absent: there is no such network namespace"):
        ethtool_read.check_netns("ethtool-absent")
