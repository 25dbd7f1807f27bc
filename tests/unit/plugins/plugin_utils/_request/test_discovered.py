# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What discover shows of an existing network, and what a campaign says that it does to it."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._paths.own_paths import (
    own_paths,
    walked_of,
)
from ansible_collections.offload.lab.plugins.plugin_utils._request import discovered
from ansible_collections.offload.lab.plugins.plugin_utils._request.discovered import lines, state
from ansible_collections.offload.lab.tests.instruments.simulation import synthetic


def step(device, netns="", kind="veth", how="the route", **shared):
    used = {"ports": 0, "routes": 0, "tunnels": 0, **shared}
    return {
        "device": device,
        "netns": netns,
        "kind": kind,
        "mtu": 1450,
        "how": how,
        "shared": used,
    }


def bit(active, fixed=False):
    return {"active": active, "fixed": fixed, "requested": None}


FEATURES = {
    "rx-checksumming": bit(True),
    "tx-checksumming": bit(True),
    "tx-checksum-ipv4": bit(False, fixed=True),
    "tx-checksum-ip-generic": bit(True),
    "tcp-segmentation-offload": bit(True),
    "tx-tcp-segmentation": bit(True),
    "tx-tcp-ecn-segmentation": bit(False),
    "generic-receive-offload": bit(False, fixed=True),
}
DEVICES = [
    step("eth0", "cni-1"),
    step("veth1", how="the other end of eth0"),
    step("cni0", kind="bridge"),
    step("flannel.1", kind="vxlan", ports=12, routes=3),
    step("eth0", kind="physical", ports=12, routes=9, tunnels=1),
]
TUNNEL = {
    "device": "flannel.1",
    "netns": "",
    "kind": "vxlan",
    "id": 1,
    "port": 8472,
    "remote": None,
    "under": "eth0",
}


def walked(**more):
    path = {
        "name": "pods",
        "address": "10.244.2.5",
        "local": "10.244.1.5",
        "netns": "cni-1",
        "devices": DEVICES,
    }
    return {"paths": [path], "tunnels": [TUNNEL], "management": ["eth0"], **more}


def test_a_row_a_device_with_what_is_varied_and_why_not():
    read = {"flannel.1": {"driver": {"driver": "vxlan"}, "features": FEATURES}}
    host, head, *rows, first, second, tunnel, _legend, following = lines(
        {"worker1": {"walked": walked(), "read": read}}, "my_hosts"
    )
    assert host == "worker1, path pods to 10.244.2.5:"
    assert head.split()[:4] == ["device", "class", "MTU", "driver"]
    row_by_device = {row.split()[0]: " ".join(row.split()) for row in rows}
    assert row_by_device["cni-1/eth0"].startswith("cni-1/eth0 tenant 1450 -")
    assert row_by_device["veth1"].startswith("veth1 tenant_port") and row_by_device[
        "veth1"
    ].endswith("yes -")
    assert row_by_device["flannel.1"] == (
        "flannel.1 tunnel 1450 vxlan on on mixed - off* yes 12 ports, 3 routes"
    )
    assert row_by_device["eth0"].endswith("no 12 ports, 9 routes, 1 tunnel")
    assert first.strip() == "cni0 no: it has no settings of its own"
    assert second.strip().startswith("eth0 no: it carries the controller's connection")
    assert tunnel == "worker1, tunnel flannel.1: vxlan, VNI 1, UDP port 8472, over eth0"
    assert following.endswith("ansible-playbook -i my_hosts offload.lab.integrity")


def test_without_an_end_it_says_what_to_give():
    lines_shown = lines({"worker1": {"walked": {**walked(), "paths": []}}}, "my_hosts")
    assert "offload_lab_ends" in lines_shown[-1]


def test_a_name_of_a_node_adds_no_line():
    walk = walked()
    walk["paths"][0]["name"] = "pods\n\x1b[2Jx"
    lines_shown = lines({"worker1": {"walked": walk}}, "my_hosts")
    assert all(line.isprintable() for line in lines_shown)


@pytest.mark.parametrize(
    "name, expected", [("tx", "on"), ("tso", "mixed"), ("gro", "off*"), ("gso", "-")]
)
def test_the_state_of_an_offload(name, expected):
    assert state(name, FEATURES, "eth0") == expected


def plan_of(**more):
    plan = synthetic.make_plan(1, paths=("physical",))
    factors = [{**plan["factors"][0], "name": "tx", "devices": ["tunnel", "underlay", "tenant"]}]
    return {**plan, "paths": ["pods"], "factors": factors, **more}


def test_before_the_first_change_it_says_whom_it_disturbs():
    plan = plan_of()
    first, node, shared, fewer = discovered.disturbance_lines(plan, {"worker1": walked()})
    assert first.startswith(
        f"This sets tx of the devices below, at most {len(plan['visits'])} times"
    )
    assert node == "  worker1: cni-1/eth0, flannel.1 (other traffic: 12 ports, 3 routes)"
    assert shared.startswith("What other traffic uses") and "offload_lab_varied_devices" in fewer


def test_a_lab_of_its_own_disturbs_nobody():
    assert discovered.disturbance_lines(plan_of(paths=["physical"]), {"worker1": walked()}) == []
    assert discovered.disturbance_lines(plan_of(), {}) == []


def test_the_user_may_name_the_devices():
    other = walked()
    other["paths"] = [{**other["paths"][0], "local": "10.244.2.5", "address": "10.244.1.5"}]
    walks = {"a": walked(varied=["flannel.1"]), "b": {**other, "varied": ["flannel.1"]}}
    own_path = own_paths(walks)["pods"]
    assert own_path["classes"] == ["tunnel"]
    assert own_path["nodes"]["a"]["devices"] == {"tunnel": [{"name": "flannel.1"}]}
    assert discovered.disturbance_lines(plan_of(), walks)[1].startswith("  a: flannel.1 (")
    with pytest.raises(InputError, match="has the device flannel.2. Use cni-1/eth0, cni0, eth0, "):
        own_paths({"a": walked(varied=["flannel.2"])})


def test_what_a_user_allows_comes_with_what_a_node_found():
    variables = {"__offload_lab_walked": walked(), "offload_lab_varied_devices": ["veth1"]}
    assert walked_of(variables)["varied"] == ["veth1"] and walked_of(variables)["allowed"] == []
    assert walked_of({}) is None
