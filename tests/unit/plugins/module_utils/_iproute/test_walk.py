# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices packets meet, on hosts as people have them."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._iproute import walk


def link(name, index, kind=None, **more):
    return {
        "name": name,
        "index": index,
        "kind": kind,
        "mtu": 1500,
        "peer": None,
        "peer_index": None,
        "master": None,
        "data": {},
        **more,
    }


def space(*links):
    return {link["name"]: link for link in links}


POD = space(link("eth0", 2, "veth", peer_index=9), link("lo", 1))
HOST = (
    link("eth1", 3),
    link("veth9", 9, "veth", peer_index=2, master="cni0"),
    link("cni0", 4, "bridge"),
)
FLANNEL = link("flannel.1", 5, "vxlan", data={"id": 1, "port": 8472, "link": "eth1"})


def devices(spaces, routes, start=("pod", "eth0"), to="10.244.1.7"):
    def leads(netns, address):
        return routes.get((netns, address))

    return [step["device"] for step in walk.path_of(spaces, leads, start, to)]


def test_a_pod_behind_flannel():
    spaces = {"": space(*HOST, FLANNEL), "pod": POD}
    assert devices(spaces, {("", "10.244.1.7"): "flannel.1"}) == [
        "eth0",
        "veth9",
        "cni0",
        "flannel.1",
        "eth1",
    ]
    [tunnel] = walk.tunnels(spaces)
    assert (tunnel["id"], tunnel["port"], tunnel["under"]) == (1, 8472, "eth1")


def test_numbers_that_are_the_same_by_chance_make_no_pair():
    """The NIC is a veth, too, whose other end is elsewhere, with the number of the pod's device."""
    nic = link("eth1", 2, "veth", peer_index=9)
    spaces = {"": space(nic, *HOST[1:], FLANNEL), "pod": POD}
    assert walk.peer_of(spaces, ("", "veth9")) == ("pod", "eth0")
    assert devices(spaces, {("", "10.244.1.7"): "flannel.1"})[:3] == ["eth0", "veth9", "cni0"]


def test_a_tunnel_without_a_device_below_goes_by_the_route_to_its_end():
    geneve = link("gen0", 5, "geneve", data={"id": 7, "port": 6081, "remote": "203.0.113.2"})
    spaces = {"": space(*HOST, geneve), "pod": POD}
    routes = {("", "10.244.1.7"): "gen0", ("", "203.0.113.2"): "eth1"}
    assert devices(spaces, routes)[-2:] == ["gen0", "eth1"]


def test_a_bridge_with_a_bond_and_a_vlan_below():
    spaces = {
        "": space(
            link("veth9", 9, "veth", peer_index=2, master="vmbr0"),
            link("vmbr0", 4, "bridge"),
            link("bond0.7", 6, "vlan", peer="bond0", master="vmbr0"),
            link("bond0", 5, "bond"),
            link("eth0", 2, master="bond0"),
            link("eth1", 3, master="bond0"),
        ),
        "pod": POD,
    }
    assert devices(spaces, {}) == ["eth0", "veth9", "vmbr0", "bond0.7", "bond0", "eth0", "eth1"]


def test_open_vswitch_goes_on_at_its_tunnels():
    spaces = {
        "": space(
            link("veth9", 9, "veth", peer_index=2, master=walk.OVS),
            link("genev_sys_6081", 5, "geneve", master=walk.OVS, data={"port": 6081}),
        ),
        "pod": POD,
    }
    assert devices(spaces, {}) == ["eth0", "veth9", "genev_sys_6081"]


@pytest.mark.parametrize("start", [("pod", "gone"), ("none", "eth0")])
def test_what_is_gone_ends_the_walk(start):
    assert devices({"": {}, "pod": POD}, {}, start) == []
    assert devices({"": {}, "pod": POD}, {}) == ["eth0"]


def test_a_circle_ends():
    spaces = {
        "": space(
            link("a", 1, "veth", peer="b"),
            link("b", 2, "veth", peer="a", master="br"),
            link("br", 3, "bridge"),
            link("v", 4, "vlan", peer="br", master="br"),
        )
    }
    # The route leads back to where the path began.
    assert devices(spaces, {("", "x"): "a"}, ("", "a"), "x") == ["a", "b", "br"]
