# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of a network that is there already, from what the nodes found."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import plan_file
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.design import make_plan
from ansible_collections.offload.lab.plugins.plugin_utils._paths import own_paths
from ansible_collections.offload.lab.plugins.plugin_utils._paths.sources import with_own
from ansible_collections.offload.lab.plugins.plugin_utils._trials.evidence import expected

FLANNEL = {"device": "flannel.1", "netns": "", "kind": "vxlan", "id": 1, "port": 8472}


def step(device, kind, netns="", mtu=1450, how="the route"):
    return {"device": device, "kind": kind, "netns": netns, "mtu": mtu, "how": how}


def walked(number, **more):
    """Return what a node finds of a pod behind flannel."""
    found = {
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
    return {"paths": [{**found, **more}], "tunnels": [FLANNEL], "management": []}


def test_a_path_is_made_of_the_ends_of_one_name():
    own = own_paths.own_paths({"node1": walked(1), "node2": walked(2)})["pods"]
    assert (own["vni"], own["port"], own["mtu"]) == (1, 8472, 1450)
    assert own["classes"] == ["underlay", "tenant", "tenant_port", "tunnel"]
    assert own["nodes"]["node2"] == {
        "end": {"netns": "pod", "address": "10.244.2.5"},
        "devices": {
            "tenant": [{"name": "eth0", "netns": "pod"}],
            "tenant_port": [{"name": "veth9"}],
            "tunnel": [{"name": "flannel.1"}],
            "underlay": [{"name": "eth1"}],
        },
    }


def test_what_carries_the_controllers_connection_is_not_varied():
    seen = {"node1": walked(1), "node2": walked(2)}
    for one in seen.values():
        one["management"] = ["eth1"]
    kept = own_paths.own_paths(seen)["pods"]
    assert kept["classes"] == ["tenant", "tenant_port", "tunnel"]
    seen["node1"]["allowed"] = ["eth1"]
    assert own_paths.own_paths(seen)["pods"]["classes"][0] == "underlay"


def test_it_is_a_path_as_the_labs_are():
    own = own_paths.own_paths({"node1": walked(1), "node2": walked(2)})
    asked = {"name": "x", "paths": ["pods"], "factors": ["tso"]}
    campaign = read_campaign(asked, known=with_own(own))
    assert campaign["factors"][0]["devices"] == ["underlay", "tenant", "tenant_port", "tunnel"]
    with pytest.raises(InputError, match="pods"):
        read_campaign(asked)


def test_a_plan_carries_its_paths(tmp_path):
    """Whoever reads plan.json knows its paths, with no facts of a play."""
    own = own_paths.own_paths({"node1": walked(1), "node2": walked(2)})
    asked = {"name": "x", "paths": ["pods"], "factors": ["tso"]}
    plan = make_plan(read_campaign(asked, known=with_own(own)), "")
    plan_file.write_plan(str(tmp_path / "plan.json"), {**plan, "own_paths": own})
    known = plan_file.paths_of(plan_file.read_plan(str(tmp_path / "plan.json")))
    assert known.existing() == ["pods"] and known.named("physical").devices == ("underlay",)
    lab = {"vni": 10, "underlay_ip": 4, "timestamps": True, "speed_mbps": None}
    wanted = expected(known.named("pods"), "TCP_STREAM", 1500, lab)
    assert (wanted["mss"], wanted["vnis"]) == (1398, [1])


def test_a_plan_of_an_earlier_version_says_what_is_around_its_packets():
    known = plan_file.paths_of({"encapsulations": {"pods": "vxlan", "physical": "none"}})
    assert known.named("pods").encapsulation.name == "vxlan" and known.named("pods").tunnelled
    assert not known.named("physical").tunnelled


def test_hosts_without_a_tunnel():
    devices = [step("bond0", "bond", mtu=9000), step("eth1", "physical", mtu=9000)]
    seen = {n: walked(i, netns=None, devices=devices) for i, n in enumerate(("a", "b"), 1)}
    own = own_paths.own_paths(seen)["pods"]
    assert (own["vni"], own["mtu"], own["classes"]) == (None, 9000, ["underlay"])
    assert own["nodes"]["a"]["devices"]["underlay"] == [{"name": "bond0"}, {"name": "eth1"}]
    (path,) = own_paths.as_paths({"pods": own})
    assert not path.tunnelled and path.mtu(1500) == 9000


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"netns": "/proc/7/ns/net"}, "has no name"),
        ({"local": None}, "from which address"),
        ({"address": "10.244.9.9"}, "node1 has it go to 10.244.9.9"),
        ({"name": "other"}, "only node1 has an end of it"),
    ],
)
def test_an_end_that_cannot_be_measured_is_refused(more, said):
    with pytest.raises(InputError, match=said):
        own_paths.own_paths({"node1": walked(1, **more), "node2": walked(2)})
