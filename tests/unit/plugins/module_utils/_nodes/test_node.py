# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._nodes.lab_hosts import lab_hosts
from ansible_collections.offload.lab.plugins.module_utils._nodes.node import (
    enter,
    lab_of,
    mac_of,
    natural,
    port_of,
    validate,
)


def node(name="a-node1", addresses=(), mtu=9000):
    return {"name": name, "addresses": list(addresses), "mtu": mtu}


def test_validate_normalises_addresses():
    nodes_checked = validate("a", [node(addresses=["198.18.0.1/24", "2001:0db8:0::1/64"])])
    assert nodes_checked == [
        dict(node(addresses=["198.18.0.1/24", "2001:db8::1/64"]), more=[], nic="")
    ]


def test_a_network_card_in_user_space():
    assert validate("a", [dict(node(), nic="dropped:1:tso")])[0]["nic"] == "dropped:1:tso"
    hosts = lab_hosts("a", 2, 9000, "198.18.0.0/24", nic="honest")
    assert hosts["node1"]["offload_lab_node"]["nic"] == "honest"
    assert "nic" not in hosts["node2"]["offload_lab_node"]
    with pytest.raises(InputError, match="is no fault"):
        lab_hosts("a", 2, 9000, "198.18.0.0/24", nic="oops")


def test_more_devices():
    more = [
        {"name": "underlay1", "addresses": ["198.18.1.1/24"]},
        {"name": "uplink0", "addresses": []},
    ]
    assert validate("a", [dict(node(), more=list(reversed(more)))])[0]["more"] == more
    for wrong, message in (
        ([{"name": "eth0"}], "'eth0' is not a name"),
        (more + more[:1], "is listed twice"),
        ([dict(more[0], addresses=["198.18.0.1/24"])], "is already given"),
    ):
        with pytest.raises(InputError, match=message):
            validate("a", [dict(node(addresses=["198.18.0.1/24"]), more=wrong)])


# What is refused: (lab, nodes, a part of the message).
BAD = [
    ("", [], "'' is not a name for a lab"),
    ("-a", [], "'-a' is not a name for a lab"),
    ("a b", [], "'a b' is not a name for a lab"),
    ("a/../b", [], "is not a name for a lab"),
    ("a" * 41, [], "is not a name for a lab"),
    ("a", [node("node1")], "'node1' is not a name for a node of the lab 'a'"),
    ("a", [node("b-node1")], "'b-node1' is not a name for a node of the lab 'a'"),
    ("a", [node("a-b-node1")], "'a-b-node1' is not a name for a node of the lab 'a'"),
    ("a", [node("a-")], "'a-' is not a name"),
    ("a", [node("a-fabric")], "'a-fabric' is not a name"),
    ("a", [node("a-lo")], "'a-lo' is not a name"),
    ("a", [node("a-br0")], "'a-br0' is not a name"),
    ("a", [node("a-x;reboot")], "is not a name"),
    ("a", [node("a-node1\n")], "is not a name"),
    ("a", [node("a-sixteen_letters_")], "is not a name"),
    ("a", [node(), node()], "the node 'a-node1' is listed twice"),
    ("a", [dict(node(), nic="oops")], "NIC 'oops': 'oops' is no fault"),
    (
        "a",
        [dict(node(mtu=65522), nic="honest")],
        "a-node1: MTU of a tap 65522: not between 68 and 65521",
    ),
    ("a", [dict(node(), nic="dropped:2")], "NIC 'dropped:2': '2' is no rate"),
    ("a", [node(mtu=67)], "a-node1: MTU 67: not between 68 and 65535"),
    ("a", [node(mtu=65536)], "a-node1: MTU 65536: not between 68 and 65535"),
    (
        "a",
        [node(mtu=1279, addresses=["2001:db8::1/64"])],
        "a-node1: the MTU 1279 is too small for IPv6",
    ),
    (
        "a",
        [node(addresses=["198.18.0.1"])],
        "a-node1 '198.18.0.1': not an IP address with its prefix length",
    ),
    ("a", [node(addresses=["198.18.0.256/24"])], "a-node1 '198.18.0.256/24': not an IP address"),
    (
        "a",
        [node(addresses=["fd00::1%x\nlink del dev eth0/64"])],
        "not an IP address with its prefix length",
    ),
    (
        "a",
        [node(addresses=["198.18.0.1/24", "198.18.0.1/16"])],
        "the address 198.18.0.1 is already given to a-node1",
    ),
    (
        "a",
        [node(addresses=["198.18.0.1/24"]), node("a-node2", ["198.18.0.1/24"])],
        "a-node2: the address 198.18.0.1 is already given to a-node1",
    ),
]


@pytest.mark.parametrize(("lab", "nodes", "message"), BAD)
def test_bad_input(lab, nodes, message):
    with pytest.raises(InputError) as caught:
        validate(lab, nodes)
    assert message in str(caught.value)


def test_a_lab_is_all_before_the_last_hyphen():
    assert (lab_of("a-b-node1"), port_of("a-b-node1")) == ("a-b", "node1")


def test_mac_addresses_are_local_and_stay():
    assert mac_of("lab-node1") == "02:f1:e7:c8:6b:35"
    assert len({mac_of(f"lab-node{number}") for number in range(254)}) == 254


def test_nodes_sort_by_number():
    assert sorted(["a-node10", "a-node9", "a-node1"], key=natural) == [
        "a-node1",
        "a-node9",
        "a-node10",
    ]


def test_enter_names_the_three_namespaces():
    assert enter("a-node1", ["id"]) == [
        "nsenter",
        "--net=/run/netns/a-node1",
        "--mount=/run/offload-lab/a-node1/mnt",
        "--uts=/run/offload-lab/a-node1/uts",
        "--",
        "id",
    ]


def test_hosts_of_a_lab():
    hosts = lab_hosts("demo", 2, 1500, "198.18.0.0/24")
    assert list(hosts) == ["node1", "node2"]
    assert hosts["node2"] == {
        "ansible_connection": "offload.lab.namespace",
        "ansible_host": "demo-node2",
        "ansible_python_interpreter": "/usr/bin/python3",
        "offload_lab_index": 2,
        "offload_lab_underlay_device": "underlay0",
        "offload_lab_underlay_address": "198.18.0.2",
        "offload_lab_underlay_prefix": 24,
        "offload_lab_underlay_mtu": 1500,
        "offload_lab_node": {
            "name": "demo-node2",
            "mtu": 1500,
            "addresses": ["198.18.0.2/24"],
            "more": [],
        },
    }


def test_ports_have_networks_of_their_own():
    host = lab_hosts("demo", 2, 9000, "198.18.0.0/24", ports=3, uplink=True)["node2"]
    assert host["offload_lab_more_ports"] == [
        {"device": "underlay1", "address": "198.18.1.2"},
        {"device": "underlay2", "address": "198.18.2.2"},
    ]
    assert [device["name"] for device in host["offload_lab_node"]["more"]] == [
        "underlay1",
        "underlay2",
        "uplink0",
    ]
    assert host["offload_lab_node"]["more"][1]["addresses"] == ["198.18.2.2/24"]
    with pytest.raises(InputError, match="10 ports"):
        lab_hosts("demo", 2, 9000, "198.18.0.0/24", ports=10)


def test_hosts_over_ipv6():
    host = lab_hosts("demo", 12, 1500, "2001:2::/64")["node12"]
    assert (host["offload_lab_underlay_address"], host["offload_lab_underlay_prefix"]) == (
        "2001:2::c",
        64,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 0}, "nodes: 0 nodes are not in the range 1 to 254"),
        ({"nodes": 255}, "nodes: 255 nodes are not in the range 1 to 254"),
        ({"nodes": 3, "underlay": "198.18.0.0/30"}, "3 nodes are not in the range 1 to 2"),
        ({"underlay": "198.18.0.1/24"}, "underlay: '198.18.0.1/24' is not a network"),
        ({"underlay": "everywhere"}, "underlay: 'everywhere' is not a network"),
        ({"name": "no blanks"}, "'no blanks' is not a name for a lab"),
        ({"mtu": 10}, "MTU 10: not between"),
    ],
)
def test_hosts_that_cannot_be(options, message):
    with pytest.raises(InputError) as caught:
        lab_hosts(
            **dict({"name": "lab", "nodes": 2, "mtu": 9000, "underlay": "198.18.0.0/24"}, **options)
        )
    assert message in str(caught.value)
