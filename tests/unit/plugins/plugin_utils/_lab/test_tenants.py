# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tenants of a node, its ends of paths, its devices."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._lab.tenants_check import wanted_tenants
from ansible_collections.offload.lab.plugins.plugin_utils._lab.tenants import (
    devices,
    endpoints,
    tenant_plan,
)
from ansible_collections.offload.lab.plugins.plugin_utils._lab.tunnels import tunnels

NETWORK = "192.168.10.0/24"
HOSTS = "192.168.0.0/24"
PORTS = {"a": ["198.18.0.1", "198.18.1.1"], "b": ["198.18.0.2", "198.18.1.2"]}


def test_two_nodes():
    assert tenant_plan(2, 2, 2, NETWORK, HOSTS) == [
        {
            "name": "tenant1",
            "addresses": ["192.168.10.2/24"],
            "mac": "02:04:c0:a8:0a:02",
            "neighbors": [{"address": "192.168.10.1", "mac": "02:04:c0:a8:0a:01"}],
        },
        {
            "name": "tenant2",
            "addresses": ["192.168.10.4/24"],
            "mac": "02:04:c0:a8:0a:04",
            "neighbors": [{"address": "192.168.10.3", "mac": "02:04:c0:a8:0a:03"}],
        },
        {
            "name": "host",
            "addresses": ["192.168.0.2/24"],
            "mac": "02:04:c0:a8:00:02",
            "namespace": False,
        },
    ]


def test_without_host_veth():
    assert [tenant["name"] for tenant in tenant_plan(1, 1, 2, NETWORK)] == ["tenant1"]


def test_ipv6():
    assert tenant_plan(1, 2, 2, "fd00:10::/64") == [
        {
            "name": "tenant1",
            "addresses": ["fd00:10::2/64"],
            "mac": "02:06:00:00:00:02",
            "neighbors": [{"address": "fd00:10::1", "mac": "02:06:00:00:00:01"}],
        }
    ]


def test_a_node_by_itself_has_no_neighbours():
    assert [tenant["neighbors"] for tenant in tenant_plan(2, 1, 1, NETWORK)] == [[], []]


@given(st.integers(2, 8), st.integers(1, 15), st.sampled_from([NETWORK, "fd00:10::/64"]))
def test_tenants_of_one_number_know_each_other_as_they_are(nodes, count, network):
    plans = [
        tenant_plan(count, index, nodes, network, HOSTS, bridged_network="192.168.30.0/24")
        for index in range(1, nodes + 1)
    ]
    for tenants in list(zip(*plans))[:count]:
        addresses = [(tenant["addresses"][0].split("/")[0], tenant["mac"]) for tenant in tenants]
        neighbours = [
            [(entry["address"], entry["mac"]) for entry in tenant["neighbors"]]
            for tenant in tenants
        ]
        assert neighbours == [addresses[:index] + addresses[index + 1 :] for index in range(nodes)]
    assert [tenant["name"] for tenant in plans[0] if "neighbors" not in tenant] == [
        "host",
        "bridged1",
    ]
    for plan in plans:
        wanted_tenants(plan, 8950)


def test_a_neighbour_that_the_network_has_no_room_for_is_left_out():
    last = tenant_plan(85, 1, 3, NETWORK)[-1]
    assert (last["addresses"], [entry["address"] for entry in last["neighbors"]]) == (
        ["192.168.10.253/24"],
        ["192.168.10.254"],
    )


@given(st.integers(1, 8), st.integers(0, 15), st.integers(0, 15))
def test_addresses_are_unique_and_stay(nodes, count, more):
    plans = [tenant_plan(count, index, nodes, NETWORK, HOSTS) for index in range(1, nodes + 1)]
    addresses = [tenant["addresses"][0] for plan in plans for tenant in plan]
    assert len(set(addresses)) == len(addresses) == nodes * (count + 1)
    assert all(
        ipaddress.ip_interface(address).ip not in (ipaddress.ip_network(NETWORK).broadcast_address,)
        for address in addresses
    )
    larger = tenant_plan(count + more, nodes, nodes, NETWORK, HOSTS)
    assert [tenant for tenant in plans[-1] if tenant not in larger] == []
    wanted_tenants(plans[0], 8950)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ((100, 1, 3, NETWORK), "has 254 addresses, tenant86"),
        ((1, 1, 2, "192.168.10.1/24"), "not a network"),
        ((1, 1, 2, NETWORK, "x"), "offload_lab_host_network"),
        ((1, 3, 2, NETWORK), "not between"),
        ((-1, 1, 2, NETWORK), "not between"),
        ((1, 0, 2, NETWORK), "not between"),
    ],
)
def test_bad_plans(expected, message):
    with pytest.raises(InputError, match=message):
        tenant_plan(*expected)


def test_paths():
    assert endpoints(tenant_plan(2, 1, 2, NETWORK, HOSTS), "198.18.0.1") == {
        "physical": {"netns": None, "address": "198.18.0.1"},
        "physical_vxlan": {"netns": None, "address": "192.168.0.1"},
        "tenant_vxlan": {
            "netns": "tenant1",
            "address": "192.168.10.1",
            "all": [
                {"netns": "tenant1", "address": "192.168.10.1"},
                {"netns": "tenant2", "address": "192.168.10.3"},
            ],
        },
    }


def test_the_paths_with_an_uplink_a_linux_bridge_and_two_ports():
    plan = tenant_plan(
        1, 2, 2, NETWORK, flat=("192.168.20.0/24", 9000), bridged_network="192.168.30.0/24"
    )
    assert plan[1:] == [
        {
            "name": "flat1",
            "addresses": ["192.168.20.2/24"],
            "mac": "02:04:c0:a8:14:02",
            "mtu": 9000,
            "flat": True,
            "tag": 20,
        },
        {
            "name": "bridged1",
            "addresses": ["192.168.30.2/24"],
            "mac": "02:04:c0:a8:1e:02",
            "linux_bridge": True,
        },
    ]
    ends = endpoints(plan, "198.18.0.2", ["198.18.1.2"])
    assert ends["tenant"] == {"netns": "flat1", "address": "192.168.20.2"}
    assert ends["tenant_bridge_vxlan"] == {"netns": "bridged1", "address": "192.168.30.2"}
    assert [end["address"] for end in ends["tenant_vxlan"]["all"]] == ["192.168.10.2"]
    assert [end["address"] for end in ends["physical"]["all"]] == ["198.18.0.2", "198.18.1.2"]
    devices_of_node = devices(plan, "eth0", "netdev", ["eth1"])
    assert devices_of_node["underlay"] == [{"name": "eth0"}, {"name": "eth1"}]
    assert {device["name"] for device in devices_of_node["tenant_port"]} == {
        "tenant1-veth1",
        "flat1-veth1",
        "bridged1-veth1",
        "bridged1-br",
        "bridged1-veth2",
        "bridged1-veth3",
    }
    wanted_tenants(plan, 8950, (8950, "limit"))  # the tunnel does not limit the flat one


def test_paths_without_tenants():
    assert list(endpoints([{"name": "silent"}], "198.18.0.1")) == ["physical"]


def test_devices():
    assert devices(tenant_plan(1, 1, 2, NETWORK, HOSTS), "eth1", "netdev") == {
        "underlay": [{"name": "eth1"}],
        "tenant": [{"name": "tenant1-veth0", "netns": "tenant1"}],
        "tenant_port": [{"name": "tenant1-veth1"}],
        "host": [{"name": "host-veth0"}],
        "host_port": [{"name": "host-veth1"}],
        "tunnel": [{"name": "vxlan0"}],
    }
    assert devices([], "eth1", "system")["tunnel"] == []


def test_tenants_are_dealt_to_the_tunnels():
    plan = tenant_plan(5, 1, 2, NETWORK, HOSTS, tunnels=2)
    assert [(tenant["name"], tenant.get("tag")) for tenant in plan] == [
        ("tenant1", None),
        ("tenant2", 31),
        ("tenant3", None),
        ("tenant4", 31),
        ("tenant5", None),
        ("host", None),
    ]
    assert [tunnel["tag"] for tunnel in tunnels(PORTS, "a", 10)] == [0, 31]
    assert devices(plan, "eth1", "netdev", ["eth2"], tunnels=2)["tunnel"] == [
        {"name": "vxlan0"},
        {"name": "vxlan1"},
    ]
