# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tenants that are hosts of their own: what they have, who measures, and who must be ready for it."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._lab import guests

PLAYING = ["node1", "node2", "guest1", "guest2"]
HOMES = {"guest1": "node1", "guest2": "node2"}


def pair(client, server):
    return {"client": client, "server": server}


def ready(member, hosts):
    """Return the partners that are ready when these hosts are, as role measure finds them out."""
    down = [host for host in member["needed"] if host not in hosts]
    return [
        partner
        for partner in member["partners"]
        if not any(partner in member["lost_without"][host] for host in down)
    ]


def test_guests_measure_where_there_are_any():
    groups = {"lab_nodes": PLAYING[:2], "lab_tenants": PLAYING[2:]}
    hostvars = {"guest1": {"offload_lab_tenant_of": "node1"}, "guest2": {}}
    assert guests.homes_of(groups, hostvars) == {"guest1": "node1", "guest2": ""}
    assert guests.homes_of({}, {}) == {}
    assert guests.measuring(PLAYING, HOMES) == ["guest1", "guest2"]
    assert guests.measuring(PLAYING[:2], HOMES) == ["node1", "node2"]
    assert guests.first_pair(PLAYING) == [pair("node1", "node2")]
    assert guests.first_pair(["node1"]) == []


def test_without_guests_each_end_needs_the_other():
    members = guests.members([pair("a", "b"), pair("c", "a")], {})
    assert {host: (member["end"], member["partners"]) for host, member in members.items()} == {
        "a": ("client", ["b", "c"]),
        "b": ("server", ["a"]),
        "c": ("client", ["a"]),
    }
    assert all(
        member["needed"] == member["partners"] and not member["elsewhere"]
        for member in members.values()
    )
    assert ready(members["a"], ["b"]) == ["b"] and ready(members["b"], []) == []


def test_nodes_are_members_for_their_guests():
    members = guests.members([pair("guest1", "guest2")], HOMES)
    assert {host: member["end"] for host, member in members.items()} == {
        "guest1": "client",
        "guest2": "server",
        "node1": "client",
        "node2": "server",
    }
    assert members["guest1"]["elsewhere"] == list(guests.OTHERS) and members["node1"][
        "elsewhere"
    ] == ["tenant"]
    assert members["node1"]["partners"] == ["guest1 guest2"] and members["node1"]["needed"] == [
        "guest1",
        "guest2",
        "node2",
    ]


@pytest.mark.parametrize("missing", ["guest2", "node1", "node2"])
def test_a_pair_measures_when_both_guests_and_both_nodes_took_the_profile(missing):
    members = guests.members([pair("guest1", "guest2")], HOMES)
    others = ["guest1", "guest2", "node1", "node2"]
    assert ready(members["guest1"], others) == ["guest2"]
    remaining = [host for host in others if host != missing]
    assert ready(members["guest1"], remaining) == []
    assert (
        missing == "node1" or ready(members["node1"], remaining) == []
    )  # a node goes on no longer than its tenants


def test_one_pair_that_is_lost_leaves_the_other():
    homes = {**HOMES, "guest3": "node1", "guest4": "node3"}
    members = guests.members([pair("guest1", "guest2"), pair("guest3", "guest4")], homes)
    assert members["node1"]["partners"] == ["guest1 guest2", "guest3 guest4"]
    assert ready(members["node1"], ["guest3", "guest4", "node3"]) == ["guest3 guest4"]
    assert ready(members["guest1"], ["guest2", "node1", "node2"]) == ["guest2"]
    assert ready(members["guest3"], ["guest4", "node1", "node2"]) == []


def test_a_guest_whose_node_is_not_in_the_inventory_has_all_that_is_set():
    members = guests.members([pair("guest1", "guest2")], {"guest1": "", "guest2": ""})
    assert list(members) == ["guest1", "guest2"] and members["guest1"]["elsewhere"] == []


def test_a_node_is_at_one_end():
    with pytest.raises(
        InputError, match="node1: its guests are at both ends|both ends of the campaign"
    ):
        guests.members([pair("guest1", "guest2")], {"guest1": "node1", "guest2": "node1"})


def test_the_ports_of_a_node_are_those_that_no_hypervisor_connects():
    port_options = {
        "guest1": {"offload_lab_tenant_of": "node1", "offload_lab_tenant_port": "guest1-0"},
        "guest2": {"offload_lab_tenant_of": "node2", "offload_lab_tenant_port": "guest2-0"},
        "guest3": {"offload_lab_tenant_of": "node1"},
        "guest4": {
            "offload_lab_tenant_of": "node1",
            "offload_lab_tenant_port": "guest4-0",
            "offload_lab_tenant_path": "tenant",
        },
    }
    assert guests.ports_of("node1", port_options, uplink=False) == [
        {"name": "guest1-0"},
        {"name": "guest4-0"},
    ]
    assert guests.ports_of("node1", port_options, uplink=True) == [
        {"name": "guest1-0", "tag": 0},
        {"name": "guest4-0", "tag": 20},
    ]
