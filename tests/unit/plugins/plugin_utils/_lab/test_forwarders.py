# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host between the nodes: what it has in the lab, and who waits for whom in a campaign."""

from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._lab import lab_node

PAIR = {"client": "node1", "server": "node2"}


def test_its_devices_are_those_of_an_underlay():
    forwarder = lab_node.forwarder_in_lab(["eth0", "eth1"], "netdev", ours=True)
    assert (
        forwarder["devices"]["underlay"]
        == forwarder["links"]["outer"]
        == [
            {"name": "eth0"},
            {"name": "eth1"},
        ]
    )
    assert not any(forwarder["devices"][name] for name in ("tenant", "tunnel", "host"))
    assert forwarder["endpoints"] == {} and forwarder["addresses"] == []


def test_one_that_is_there_already_keeps_its_mtu():
    forwarder = lab_node.forwarder_in_lab(["eth0"], "system", ours=False)
    assert forwarder["links"] == {"outer": [], "inner": []}
    assert forwarder["devices"]["underlay"] == [{"name": "eth0"}]


def test_it_is_no_end_of_a_pair():
    groups = {"lab_nodes": ["node1", "node2"], "lab_forwarders": ["router"]}
    between = lab_node.forwarders_of(groups)
    assert between == ["router"] and lab_node.forwarders_of({}) == []
    assert lab_node.without_forwarders(["router", "node1", "node2"], between) == ["node1", "node2"]


def test_no_pair_measures_without_it_and_it_waits_for_the_pairs():
    members = lab_node.members_with_forwarders([PAIR], {}, ["router"])
    assert members["router"]["end"] == "forwarder"
    assert members["node1"]["needed"] == ["node2", "router"]
    assert members["node1"]["lost_without"]["router"] == ["node2"]
    assert members["router"]["partners"] == ["node1 node2"]
    assert members["router"]["lost_without"] == {"node1": ["node1 node2"], "node2": ["node1 node2"]}
    assert "router" not in lab_node.members_with_forwarders([PAIR], {}, [])
