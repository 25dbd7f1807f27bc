# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node between others: its values in the inventory, and the commands that make it."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._base.steps import Step
from ansible_collections.offload.lab.plugins.module_utils._nodes.lab_hosts import lab_hosts
from ansible_collections.offload.lab.plugins.module_utils._nodes.node import (
    layout_of,
    port_of,
    validate,
)
from ansible_collections.offload.lab.plugins.module_utils._nodes.node_steps import (
    bridge_lines,
    forward_steps,
    plan_present,
)
from ansible_collections.offload.lab.plugins.module_utils._nodes.underlay import (
    cut_steps,
    underlay_lines,
)

NOTHING = {
    "claims": [],
    "homes": [],
    "netns": [],
    "nodes": {},
    "ports": {},
    "mountpoints": {},
}


def nodes_of(forwarder, nodes=2):
    hosts = lab_hosts("a", nodes, 1500, "198.18.0.0/24", forwarder=forwarder)
    return validate("a", [host["offload_lab_node"] for host in hosts.values()])


def test_a_router_has_the_last_address_of_each_nodes_network():
    hosts = lab_hosts("a", 3, 1500, "198.18.0.0/24", forwarder="routed")
    assert list(hosts) == ["node1", "node2", "node3", "forwarder"]
    assert hosts["node3"]["offload_lab_underlay_address"] == "198.18.2.3"
    assert hosts["node3"]["offload_lab_node"]["routes"] == [
        {"to": "198.18.0.0/24", "via": "198.18.2.254"},
        {"to": "198.18.1.0/24", "via": "198.18.2.254"},
    ]
    assert hosts["forwarder"]["offload_lab_underlay_address"] == "198.18.0.254"
    assert hosts["forwarder"]["offload_lab_forwarder_devices"] == [
        "underlay0",
        "underlay1",
        "underlay2",
    ]
    more = hosts["forwarder"]["offload_lab_node"]["more"]
    assert [device["addresses"] for device in more] == [["198.18.1.254/24"], ["198.18.2.254/24"]]
    assert [device["segment"] for device in more] == [2, 3]


def test_behind_a_bridge_all_nodes_are_in_one_network():
    hosts = lab_hosts("a", 2, 1500, "198.18.0.0/24", forwarder="bridged")
    assert hosts["node2"]["offload_lab_underlay_address"] == "198.18.0.2"
    node1, node2, forwarder = nodes_of("bridged")
    assert "routes" not in node1 and node2["segment"] == 2
    assert bridge_lines(forwarder)[1:] == [
        "address add 198.18.0.254/24 dev bridge0",
        "link set dev bridge0 up",
    ]
    last = underlay_lines([forwarder], {}, {}, port_of).last["a-forwarder"]
    assert "link set dev underlay1 master bridge0" in last
    assert not any("address add" in line for line in last)
    assert forward_steps(forwarder) == [] and bridge_lines(node1) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forwarder": "magic"}, "Use none, routed, nat, bridged"),
        ({"forwarder": "routed", "underlay": "2001:2::/64"}, "it forwards IPv4 alone"),
        ({"forwarder": "routed", "ports": 2}, "2 nodes with 2 ports cannot be around it"),
        ({"forwarder": "nat", "nodes": 11}, "11 nodes with 1 ports cannot be around it"),
        ({"forwarder": "nat", "nodes": 1}, "1 nodes with 1 ports cannot be around it"),
    ],
)
def test_labs_that_can_have_no_forwarder(options, message):
    lab_options = {"name": "a", "nodes": 2, "mtu": 1500, "underlay": "198.18.0.0/24", **options}
    with pytest.raises(InputError, match=message):
        lab_hosts(**lab_options)


def test_nat_is_routing_and_a_table_of_its_own():
    *_nodes, router = nodes_of("routed")
    *_nodes, nat = nodes_of("nat")
    forwarding = Step(["tee", "/proc/sys/net/ipv4/ip_forward"], "1", "a-forwarder")
    assert forward_steps(router) == [forwarding]
    first, table = forward_steps(nat)
    assert first == forwarding and table.netns == "a-forwarder"
    assert 'oifname != "underlay0" masquerade' in table.stdin


def test_each_segment_is_a_bridge_whose_ports_cut_what_leaves_them():
    node1, _node2, forwarder = nodes_of("routed")
    underlay = underlay_lines([node1, forwarder], {}, {}, port_of)
    bridges = [line.split()[3] for line in underlay.lines if "type bridge" in line]
    assert bridges == ["br0", "br1", "br2"]
    assert underlay.wires == ["node1", "forwarder", "forwarder-u1"]
    assert underlay.last["a-node1"][-1] == "route replace 198.18.1.0/24 via 198.18.0.254"
    [cut, unknown] = cut_steps(["node1"], "a-fabric")
    assert cut.argv == ["ethtool", "-K", "node1", "tso", "off", "tx-udp-segmentation", "off"]
    assert cut.check and not unknown.check  # an older kernel does not know tx-gso-list


def test_without_a_forwarder_nothing_is_cut():
    [node] = validate("a", [{"name": "a-node1", "mtu": 1500, "addresses": ["198.18.0.1/24"]}])
    underlay = underlay_lines([node], {}, {}, port_of)
    assert underlay.wires == [] and layout_of(node) == ""
    assert not any("br1" in line for line in underlay.lines)


def test_a_node_at_another_place_of_the_lab_is_made_again():
    nodes = nodes_of("routed")
    steps = plan_present("a", nodes, NOTHING).steps
    written = {step.argv[1]: step.stdin for step in steps if step.argv[0] == "tee"}
    assert written["/run/offload-lab/a-forwarder/layout"] == "segment 1\nforwards routed"
    names = [node["name"] for node in nodes]
    there = {
        **NOTHING,
        "claims": [*names, "a-fabric"],
        "nodes": {name: made_as(layout_of(node)) for name, node in zip(names, nodes)},
    }
    there["nodes"]["a-fabric"] = made_as("")
    assert plan_present("a", nodes, there).stop == []
    assert plan_present("a", nodes_of("nat"), there).stop == ["a-forwarder"]


def made_as(layout):
    return {
        "netns": 1,
        "mnt": 2,
        "uts": 3,
        "mounted": True,
        "ready": True,
        "nic": "",
        "links": {},
        "layout": layout,
    }


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"forwards": "routed"}, "it has one device"),
        ({"segment": 11}, "segment"),
        ({"routes": [{"to": "198.18.1.1/24", "via": "198.18.0.254"}]}, "has host bits set"),
        ({"routes": [{"to": "198.18.1.0/24", "via": "there"}]}, "not an IP address"),
    ],
)
def test_what_no_node_can_have(more, message):
    node = {"name": "a-node1", "mtu": 1500, "addresses": ["198.18.0.1/24"], **more}
    with pytest.raises(InputError, match=message):
        validate("a", [node])
