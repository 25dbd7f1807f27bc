# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._nodes.node import mac_of, port_of
from ansible_collections.offload.lab.plugins.module_utils._nodes.underlay import underlay_lines

NODE = {"name": "a-node1", "addresses": ["198.18.0.1/24"], "mtu": 9000}
MADE = (
    "link add name node1 up mtu 9000 master br0 type veth peer name underlay0 mtu 9000 address "
    f"{mac_of('a-node1')} netns a-node1"
)
UP = {"ifindex": 1, "peer": None, "mtu": 65536, "up": True, "master": None, "addresses": []}


def seen(**changes):
    """Return what there is of a node that needs nothing, with changes to its device."""
    device = {
        "ifindex": 2,
        "peer": 3,
        "mtu": 9000,
        "up": True,
        "master": None,
        "addresses": ["198.18.0.1/24"],
    }
    return {"a-node1": {"lo": UP, "underlay0": dict(device, **changes)}}


def ports(**changes):
    """Return the devices of a fabric that needs nothing, with changes to the node's port."""
    port = {"ifindex": 3, "peer": 2, "mtu": 9000, "up": True, "master": "br0", "addresses": []}
    return {"br0": UP, "node1": dict(port, **changes)}


# From the existing state to the lines: (name, ports, links, node, (cuts, ports_cut, lines, last)).
CASES = [
    (
        "nothing is there",
        {},
        {},
        NODE,
        (
            [],
            [],
            [
                "link add name br0 type bridge stp_state 0 mcast_snooping 0",
                "link set dev br0 up",
                MADE,
            ],
            [
                "link set dev lo up",
                "address add 198.18.0.1/24 dev underlay0",
                "link set dev underlay0 up",
            ],
        ),
    ),
    ("all is there", ports(), seen(), NODE, ([], [], [], [])),
    (
        "the bridge is down",
        dict(ports(), br0=dict(UP, up=False)),
        seen(),
        NODE,
        ([], [], ["link set dev br0 up"], []),
    ),
    (
        "another MTU",
        ports(),
        seen(),
        dict(NODE, mtu=1500),
        ([], [], ["link set dev node1 mtu 1500"], ["link set dev underlay0 mtu 1500"]),
    ),
    (
        "another address",
        ports(),
        seen(),
        dict(NODE, addresses=["198.18.0.9/24"]),
        (
            [],
            [],
            [],
            ["address del 198.18.0.1/24 dev underlay0", "address add 198.18.0.9/24 dev underlay0"],
        ),
    ),
    (
        "an IPv6 address",
        ports(),
        seen(),
        dict(NODE, addresses=["198.18.0.1/24", "2001:2::1/64"]),
        ([], [], [], ["address add 2001:2::1/64 dev underlay0 nodad"]),
    ),
    (
        "the devices are down",
        ports(up=False),
        seen(up=False),
        NODE,
        ([], [], ["link set dev node1 up"], ["link set dev underlay0 up"]),
    ),
    (
        "the port is not on the bridge",
        ports(master=None),
        seen(),
        NODE,
        ([], [], ["link set dev node1 master br0"], []),
    ),
    (
        "the port has gone",
        {"br0": UP},
        {"a-node1": {"lo": UP}},
        NODE,
        ([], [], [MADE], ["address add 198.18.0.1/24 dev underlay0", "link set dev underlay0 up"]),
    ),
    (
        "two ends of different veths",
        ports(peer=7),
        seen(peer=8),
        NODE,
        (
            ["link del dev underlay0"],
            ["link del dev node1"],
            [MADE],
            ["address add 198.18.0.1/24 dev underlay0", "link set dev underlay0 up"],
        ),
    ),
]


TAPS = dict(NODE, nic="honest")
TAP_MADE = [
    "tuntap add dev node1 mode tap vnet_hdr",
    "link set dev node1 up mtu 9000 master br0",
]
TAP_OF_NODE = [
    "tuntap add dev underlay0 mode tap vnet_hdr",
    f"link set dev underlay0 address {mac_of('a-node1')} mtu 9000",
    "address add 198.18.0.1/24 dev underlay0",
    "link set dev underlay0 up",
]
CASES += [
    (
        "a tap from nothing",
        {"br0": UP},
        {"a-node1": {"lo": UP}},
        TAPS,
        ([], [], TAP_MADE, TAP_OF_NODE),
    ),
    ("all is there, and a tap", ports(peer=None), seen(peer=None), TAPS, ([], [], [], [])),
    (
        "a tap in place of a veth",
        ports(),
        seen(),
        TAPS,
        (["link del dev underlay0"], ["link del dev node1"], TAP_MADE, TAP_OF_NODE),
    ),
    (
        "a veth in place of a tap",
        ports(peer=None),
        seen(peer=None),
        NODE,
        (
            ["link del dev underlay0"],
            ["link del dev node1"],
            [MADE],
            ["address add 198.18.0.1/24 dev underlay0", "link set dev underlay0 up"],
        ),
    ),
    (
        "a tap whose MTU changes",
        ports(peer=None, mtu=1500),
        seen(peer=None, mtu=1500),
        TAPS,
        ([], [], ["link set dev node1 mtu 9000"], ["link set dev underlay0 mtu 9000"]),
    ),
]


def test_one_more_device():
    node = dict(NODE, more=[{"name": "uplink0", "addresses": []}])
    cuts, ports_cut, lines, last, _wires = underlay_lines([node], ports(), seen(), port_of)
    assert (cuts["a-node1"], ports_cut, last["a-node1"]) == ([], [], ["link set dev uplink0 up"])
    assert lines == [
        "link add name node1-u0 up mtu 9000 master br0 type veth peer name uplink0 mtu 9000 address "
        f"{mac_of('a-node1uplink0')} netns a-node1"
    ]


def test_a_device_that_is_not_wanted_goes():
    there = seen()
    there["a-node1"]["underlay3"] = dict(there["a-node1"]["underlay0"], ifindex=9, peer=10)
    assert underlay_lines([NODE], ports(), there, port_of)[0] == {
        "a-node1": ["link del dev underlay3"]
    }


@pytest.mark.parametrize(
    ("there", "links", "node", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_lines(there, links, node, expected):
    cuts, ports_cut, lines, last, _wires = underlay_lines([node], there, links, port_of)
    assert (cuts.get("a-node1", []), ports_cut, lines, last["a-node1"]) == expected
