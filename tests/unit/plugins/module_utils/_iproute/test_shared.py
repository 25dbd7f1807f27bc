# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

from ansible_collections.offload.lab.plugins.module_utils._iproute.discover import (
    NOTHING,
    parse_routes,
    shared_of,
)


def link(name, kind=None, master=None, **data):
    return {"name": name, "kind": kind, "master": master, "data": data, "mtu": 1500}


def step(device, netns="", kind="veth"):
    return {"device": device, "netns": netns, "kind": kind, "mtu": 1500, "how": "x"}


HOST = [
    link("cni0", "bridge"),
    *[link(f"veth{number}", "veth", "cni0") for number in range(4)],
    link("flannel.1", "vxlan", id=1, link="eth0"),
    link("wg0", "vxlan", id=2, link="eth0"),
    link("eth0"),
]
ROUTES = [
    {"dst": "default", "dev": "eth0"},
    {"dst": "10.244.2.0/24", "dev": "flannel.1"},
    {"dst": "10.244.3.0/24", "dev": "flannel.1"},
    {"dst": "10.0.0.0/8", "nexthops": [{"dev": "eth0"}, {"dev": "eth1"}]},
    {"dst": "fe80::/64", "dev": "flannel.1"},
]


def test_the_tunnel_of_a_cni_is_shared_by_the_pods_of_the_node_and_those_of_all_nodes():
    steps = [
        step("eth0", "pod"),
        step("veth0"),
        step("cni0", kind="bridge"),
        step("flannel.1", kind="vxlan"),
        step("eth0", kind="physical"),
    ]
    spaces = {"": {row["name"]: row for row in HOST}, "pod": {"eth0": link("eth0", "veth")}}
    pod, port, _bridge, tunnel, nic = shared_of(steps, spaces, parse_routes(json.dumps(ROUTES)))
    assert pod == port == NOTHING
    assert tunnel == {"ports": 3, "routes": 2, "tunnels": 0}
    assert nic == {"ports": 3, "routes": 2, "tunnels": 1}


def test_ports_of_open_vswitch_share_its_tunnel():
    host = [
        link("ovs-system"),
        link("tap0", "tun", "ovs-system"),
        link("tap1", "tun", "ovs-system"),
    ]
    host.append(link("vxlan_sys", "vxlan", "ovs-system"))
    steps = [step("tap0"), step("vxlan_sys", kind="vxlan")]
    shared_devices = shared_of(steps, {"": {link["name"]: link for link in host}}, [])
    assert shared_devices[1]["ports"] == 1


def test_what_ip_does_not_print_as_routes_is_none():
    assert parse_routes("Error") == parse_routes("") == []
