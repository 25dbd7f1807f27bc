# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node has in the lab, from its variables."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._lab.lab_node import (
    devices_of,
    ends_of,
    guest_ends_of,
    tunnels_of,
)

NODES = ["a", "b"]
HOSTVARS = {
    "a": {
        "offload_lab_underlay_address": "198.18.0.1",
        "offload_lab_more_ports": [{"device": "eth2", "address": "198.18.1.1"}],
    },
    "b": {"offload_lab_underlay_address": "198.18.0.2"},
}
TENANTS = [{"name": "a", "addresses": ["10.0.0.1/8"]}]


def variables(**other):
    return {
        "underlay_device": "eth1",
        "underlay_address": "198.18.0.1",
        "underlay_mtu": 9000,
        "tenant_mtu": 8950,
        "encapsulation": 50,
        "index": 1,
        "tenant_count": 1,
        "tenant_network": "192.168.10.0/24",
        "host_network": "",
        "flat_network": "192.168.20.0/24",
        "bridged_network": "",
        "uplink_device": "",
        "more_ports": [],
        "vni": 10,
        "vxlan_port": 4789,
        "tunnel_per_port": False,
        "tunnel_csum": True,
        "datapath_active": "netdev",
        **other,
    }


def names(devices):
    return [device["name"] for device in devices]


def test_what_a_node_has():
    mine = ends_of(variables(), NODES, "netdev")
    assert mine["tenants"][0]["addresses"] == ["192.168.10.1/24"]
    assert mine["addresses"] == ["198.18.0.1", "192.168.10.1"]
    assert mine["endpoints"]["tenant_vxlan"]["netns"] == "tenant1"
    assert names(mine["links"]["outer"]) == ["eth1"]
    assert names(mine["links"]["inner"]) == ["tenant1-veth0", "tenant1-veth1", "vxlan0"]


def test_a_flat_tenant_has_the_mtu_of_the_underlay():
    mine = ends_of(variables(uplink_device="eth2"), NODES, "netdev")
    assert mine["tenants"][1]["mtu"] == 9000
    assert names(mine["links"]["outer"]) == ["eth1", "eth2", "flat1-veth0", "flat1-veth1"]
    assert names(mine["links"]["inner"]) == ["tenant1-veth0", "tenant1-veth1", "vxlan0"]


def test_ports_of_guests_have_the_mtu_of_their_path():
    ports = [{"name": "guest1-0", "tag": 0}, {"name": "guest2-0", "tag": 20}]
    mine = ends_of(variables(uplink_device="eth2", tenant_count=0), NODES, "system", ports)
    assert names(mine["devices"]["tenant_port"])[-2:] == ["guest1-0", "guest2-0"]
    assert "guest2-0" in names(mine["links"]["outer"]) and names(mine["links"]["inner"]) == [
        "guest1-0"
    ]


def test_given_tenants_are_not_planned():
    assert (
        ends_of(variables(tenants=TENANTS), NODES, "system")["endpoints"]["tenant_vxlan"]["address"]
        == "10.0.0.1"
    )
    assert list(ends_of(variables(tenants=[]), NODES, "system")["endpoints"]) == ["physical"]


def test_devices_need_no_address():
    devices = devices_of(
        variables(
            underlay_address=None,
            underlay_mtu=None,
            tunnel_per_port=True,
            more_ports=HOSTVARS["a"]["offload_lab_more_ports"],
        ),
        NODES,
        "netdev",
    )
    assert names(devices["underlay"]) == ["eth1", "eth2"]
    assert names(devices["tunnel"]) == ["vxlan0", "vxlan1"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            {"tenant_mtu": 8951, "tenants": TENANTS},
            "a: an MTU of 8951 does not fit. Use 68 to 8950 bytes. That is what",
        ),
        (
            {"tenants": TENANTS + [{"name": "b", "addresses": ["10.0.0.1/8"]}]},
            "b: its address 10.0.0.1 also belongs to a",
        ),
        ({"tenants": TENANTS + [{"name": "b", "addresses": ["10.1.0.1/16"]}]}, "overlaps"),
        ({"tenants": [{"name": "-a", "addresses": []}]}, "not a usable name"),
        ({"tenant_count": 300}, "254 addresses"),
    ],
)
def test_wrong_tenants(other, message):
    with pytest.raises(InputError, match=message):
        ends_of(variables(**other), NODES, "system")


def test_tunnels_of_the_userspace_datapath():
    tunnels = tunnels_of(variables(uplink_device="eth2"), NODES, "a", HOSTVARS)
    assert [(tunnel["vni"], tunnel["remotes"]) for tunnel in tunnels["vxlan_devices"]] == [
        (10, ["198.18.0.2"])
    ]
    assert (tunnels["ports"], tunnels["uplink"]) == (
        [{"name": "vxlan0", "tag": 0}],
        [{"name": "eth2", "tag": 20}],
    )


def test_tunnels_of_the_kernels_datapath():
    tunnels = tunnels_of(variables(datapath_active="system"), NODES, "a", HOSTVARS)
    assert (tunnels["vxlan_devices"], tunnels["uplink"]) == ([], [])
    assert tunnels["ports"][0]["options"] == {
        "remote_ip": "198.18.0.2",
        "key": 10,
        "dst_port": 4789,
        "csum": True,
    }


@pytest.mark.parametrize(
    ("nodes", "hostvars", "other", "message"),
    [
        (["a", "c"], {**HOSTVARS, "c": {}}, {}, "c: its address on the underlay"),
        (NODES, HOSTVARS, {"tunnel_per_port": True}, "b: it has 1 ports, a has 2"),
        (["b"], HOSTVARS, {}, "a: not a node of the lab. Use one of b"),
    ],
)
def test_wrong_tunnels(nodes, hostvars, other, message):
    with pytest.raises(InputError, match=message):
        tunnels_of(variables(**other), nodes, "a", hostvars)


def test_what_a_guest_has():
    mine = guest_ends_of("eth0", "192.168.10.101", "tenant_vxlan", "system")
    assert mine["endpoints"] == {"tenant_vxlan": {"netns": None, "address": "192.168.10.101"}}
    assert mine["devices"]["tenant"] == [{"name": "eth0"}] and mine["devices"]["underlay"] == []
    assert mine["links"] == {"outer": [], "inner": [{"name": "eth0"}]}
    assert guest_ends_of("eth0", "10.0.0.1", "tenant", "system")["links"]["outer"] == [
        {"name": "eth0"}
    ]
    for path in ("physical", "other"):
        with pytest.raises(InputError, match="not a path of tenants"):
            guest_ends_of("eth0", "10.0.0.1", path, "system")
