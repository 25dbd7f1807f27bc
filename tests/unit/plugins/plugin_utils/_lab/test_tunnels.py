# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnels of a node, and their ports."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._lab.tunnels import (
    InTunnel,
    check_tunnel,
    tunnel_ports,
    tunnels,
)

ENDS = {"a": ["198.18.0.1"], "b": ["198.18.0.2"], "c": ["198.18.0.3"]}
VXLAN = InTunnel()
BESIDE = InTunnel(uplink=True)
PORTS = {"a": ["198.18.0.1", "198.18.1.1"], "b": ["198.18.0.2", "198.18.1.2"]}


def test_an_uplink_keeps_the_tunnel_out_of_its_vlan():
    planned = tunnels(ENDS, "a", 10)
    assert tunnel_ports(planned, "netdev", 4789, False, BESIDE) == [{"name": "vxlan0", "tag": 0}]
    assert tunnel_ports(planned, "system", 4789, False, BESIDE)[0]["tag"] == 0
    assert "tag" not in tunnel_ports(planned, "system", 4789, False, VXLAN)[0]


def test_the_remotes_of_a_tunnel_are_all_others():
    assert tunnels(ENDS, "b", 10) == [
        {
            "name": "vxlan0",
            "vni": 10,
            "local": "198.18.0.2",
            "remotes": ["198.18.0.1", "198.18.0.3"],
            "tag": None,
        }
    ]
    assert tunnels({"a": ["198.18.0.1"]}, "a", 10)[0]["remotes"] == []
    assert tunnels(ENDS, "b", 10, remotes=["198.18.0.77"])[0]["remotes"] == ["198.18.0.77"]
    with pytest.raises(InputError, match="^c: its address on the underlay"):
        tunnels(dict(ENDS, c=[None]), "a", 10)


def test_a_tunnel_over_each_port():
    assert tunnels(PORTS, "b", 10) == [
        {"name": "vxlan0", "vni": 10, "local": "198.18.0.2", "remotes": ["198.18.0.1"], "tag": 0},
        {"name": "vxlan1", "vni": 11, "local": "198.18.1.2", "remotes": ["198.18.1.1"], "tag": 31},
    ]
    with pytest.raises(
        InputError,
        match="^c: it has 1 ports, a has 2. Give every node as many offload_lab_more_ports",
    ):
        tunnels(dict(PORTS, c=["198.18.0.3"]), "a", 10)


def test_tunnel_of_two_nodes_on_the_kernels_datapath():
    assert tunnel_ports(
        tunnels(dict(a=ENDS["a"], b=ENDS["b"]), "a", 10), "system", 4789, True, VXLAN
    ) == [
        {
            "name": "vxlan0",
            "type": "vxlan",
            "protected": False,
            "options": {"remote_ip": "198.18.0.2", "key": 10, "dst_port": 4789, "csum": True},
        }
    ]


def test_a_full_mesh_is_protected():
    ports = tunnel_ports(tunnels(ENDS, "a", 10), "system", 4789, False, VXLAN)
    assert [(port["name"], port["options"]["remote_ip"], port["protected"]) for port in ports] == [
        ("vxlan0", "198.18.0.2", True),
        ("vxlan1", "198.18.0.3", True),
    ]


def test_the_ports_of_several_tunnels_are_apart():
    planned = tunnels(PORTS, "a", 10)
    ports = tunnel_ports(planned, "system", 4789, False, VXLAN)
    assert [
        (port["name"], port["options"]["remote_ip"], port["options"]["key"], port["tag"])
        for port in ports
    ] == [("vxlan0", "198.18.0.2", 10, 0), ("vxlan1", "198.18.1.2", 11, 31)]
    assert tunnel_ports(planned, "netdev", 4789, False, VXLAN) == [
        {"name": "vxlan0", "tag": 0},
        {"name": "vxlan1", "tag": 31},
    ]


def test_the_userspace_datapath_has_one_device_for_all():
    planned = tunnels(ENDS, "a", 10)
    assert tunnel_ports(planned, "netdev", 4789, False, VXLAN) == [{"name": "vxlan0"}]


def test_unknown_datapath():
    with pytest.raises(InputError, match="Use one of system, netdev"):
        tunnel_ports([], "kernel", 4789, False, VXLAN)


@pytest.mark.parametrize("datapath", ["system", "netdev"])
@pytest.mark.parametrize("kind", ["geneve", "gre"])
def test_another_tunnel_is_a_port_for_each_remote_on_both_datapaths(datapath, kind):
    planned = tunnels(ENDS, "a", 10, kind=kind)
    ports = tunnel_ports(planned, datapath, 4789, True, InTunnel(kind, uplink=True))
    assert ports == [
        {
            "name": f"{kind}{number}",
            "type": kind,
            "protected": True,
            "options": {"remote_ip": address, "key": 10, "csum": True},
            "tag": 0,
        }
        for number, address in enumerate(["198.18.0.2", "198.18.0.3"])
    ]


@pytest.mark.parametrize("kind", ["vxlan", "geneve"])
def test_frames_keep_their_vlan_in_a_trunk_of_it_alone(kind):
    """A trunk of all VLANs would carry the VLANs of the uplink, too: a loop."""
    planned = tunnels(ENDS, "a", 10, kind=kind)
    for port in tunnel_ports(planned, "netdev", 4789, False, InTunnel(kind, 100, uplink=True)):
        assert port["trunks"] == [100] and "tag" not in port


@pytest.mark.parametrize(
    ("tunnel", "datapath", "message"),
    [
        (InTunnel("geneve"), "netdev", "Set offload_lab_uplink_device"),
        (InTunnel("gre", per_port=True), "system", "Leave out offload_lab_tunnel_per_port"),
        (InTunnel(vlan=100, per_port=True), "system", "Leave out offload_lab_tunnel_per_port"),
        (InTunnel(vlan=20, uplink=True), "netdev", "offload_lab_tenant_vlan 20: the uplink"),
    ],
)
def test_a_tunnel_that_cannot_be(tunnel, datapath, message):
    with pytest.raises(InputError, match=message):
        check_tunnel(tunnel, datapath)


@pytest.mark.parametrize(
    ("tunnel", "datapath"),
    [
        (InTunnel("geneve", 100), "system"),
        (InTunnel("gre", uplink=True), "netdev"),
        (InTunnel(per_port=True), "netdev"),
        (InTunnel(vlan=20), "netdev"),
    ],
)
def test_a_tunnel_that_can(tunnel, datapath):
    check_tunnel(tunnel, datapath)
