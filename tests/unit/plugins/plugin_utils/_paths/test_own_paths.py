# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of an existing network, from what the nodes found."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import plan_file
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._paths import lab_paths, own_paths
from ansible_collections.offload.lab.plugins.plugin_utils._paths.lab_paths import with_own
from ansible_collections.offload.lab.plugins.plugin_utils._trials.evidence import expected

FLANNEL = {"device": "flannel.1", "netns": "", "kind": "vxlan", "id": 1, "port": 8472}


def step(device, kind, netns="", mtu=1450, how="the route"):
    return {"device": device, "kind": kind, "netns": netns, "mtu": mtu, "how": how}


def walked(number, **more):
    """Return what a node finds of a pod behind flannel."""
    paths_walked = {
        "name": "pods",
        "address": f"10.244.{3 - number}.5",
        "local": f"10.244.{number}.5",
        "netns": "pod",
        "devices": [
            step("eth0", "veth", "pod"),
            step("veth9", "veth", how="the other end of eth0"),
            step("cni0", "bridge"),
            step("flannel.1", "vxlan"),
            step("eth1", "physical", mtu=1500),
        ],
    }
    return {"paths": [{**paths_walked, **more}], "tunnels": [FLANNEL], "management": []}


def test_a_path_is_made_of_the_ends_of_one_name():
    own_path = own_paths.own_paths({"node1": walked(1), "node2": walked(2)})["pods"]
    assert (own_path["vni"], own_path["port"], own_path["mtu"]) == (1, 8472, 1450)
    assert own_path["classes"] == ["underlay", "tenant", "tenant_port", "tunnel"]
    assert own_path["nodes"]["node2"] == {
        "end": {"netns": "pod", "address": "10.244.2.5"},
        "devices": {
            "tenant": [{"name": "eth0", "netns": "pod"}],
            "tenant_port": [{"name": "veth9"}],
            "tunnel": [{"name": "flannel.1"}],
            "underlay": [{"name": "eth1"}],
        },
    }


def test_what_carries_the_controllers_connection_is_not_varied():
    walks = {"node1": walked(1), "node2": walked(2)}
    for walk_of_node in walks.values():
        walk_of_node["management"] = ["eth1"]
    kept = own_paths.own_paths(walks)["pods"]
    assert kept["classes"] == ["tenant", "tenant_port", "tunnel"]
    walks["node1"]["allowed"] = ["eth1"]
    assert own_paths.own_paths(walks)["pods"]["classes"][0] == "underlay"


def test_it_is_a_path_as_the_labs_are():
    paths = own_paths.own_paths({"node1": walked(1), "node2": walked(2)})
    campaign_keys = {"name": "x", "paths": ["pods"], "factors": ["tso"]}
    campaign = read_campaign(campaign_keys, paths_known=with_own(paths))
    assert campaign["factors"][0]["devices"] == ["underlay", "tenant", "tenant_port", "tunnel"]
    with pytest.raises(InputError, match="pods"):
        read_campaign(campaign_keys)


def test_a_plan_carries_its_paths(tmp_path):
    """Whoever reads plan.json knows its paths, with no facts of a play."""
    paths = own_paths.own_paths({"node1": walked(1), "node2": walked(2)})
    campaign_keys = {"name": "x", "paths": ["pods"], "factors": ["tso"]}
    plan = make_plan(read_campaign(campaign_keys, paths_known=with_own(paths)), "")
    plan_file.write_plan(str(tmp_path / "plan.json"), {**plan, "own_paths": paths})
    paths_of_plan = plan_file.paths_of(plan_file.read_plan(str(tmp_path / "plan.json")))
    assert paths_of_plan.existing() == ["pods"] and paths_of_plan.named("physical").devices == (
        "underlay",
    )
    lab = {"vni": 10, "underlay_ip": 4, "timestamps": True, "speed_mbps": None}
    expected_packets = expected(paths_of_plan.named("pods"), "TCP_STREAM", 1500, lab)
    assert (expected_packets["mss"], expected_packets["vnis"]) == (1398, [1])


def test_a_plan_of_an_earlier_version_says_what_is_around_its_packets():
    paths_of_plan = plan_file.paths_of({"encapsulations": {"pods": "vxlan", "physical": "none"}})
    assert (
        paths_of_plan.named("pods").encapsulation.name == "vxlan"
        and paths_of_plan.named("pods").tunnelled
    )
    assert not paths_of_plan.named("physical").tunnelled


def test_hosts_without_a_tunnel():
    devices = [step("bond0", "bond", mtu=9000), step("eth1", "physical", mtu=9000)]
    walks = {n: walked(i, netns=None, devices=devices) for i, n in enumerate(("a", "b"), 1)}
    own_path = own_paths.own_paths(walks)["pods"]
    assert (own_path["vni"], own_path["mtu"], own_path["classes"]) == (None, 9000, ["underlay"])
    assert own_path["nodes"]["a"]["devices"]["underlay"] == [{"name": "bond0"}, {"name": "eth1"}]
    (path,) = lab_paths.as_paths({"pods": own_path})
    assert not path.tunnelled and path.mtu(1500) == 9000


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"netns": "/proc/7/ns/net"}, "has no name"),
        ({"local": None}, "from which address"),
        ({"address": "10.244.9.9"}, "node1 has it go to 10.244.9.9"),
        ({"name": "other"}, "only node1 has an end of it"),
    ],
)
def test_an_end_that_cannot_be_measured_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        own_paths.own_paths({"node1": walked(1, **more), "node2": walked(2)})
