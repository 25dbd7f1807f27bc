# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A source of paths in addition to the lab: an existing network is one entry."""

from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._lab import lab_node
from ansible_collections.offload.lab.plugins.plugin_utils._paths import lab_paths
from ansible_collections.offload.lab.plugins.plugin_utils._paths.path import (
    VXLAN,
    Encapsulation,
    Path,
)
from ansible_collections.offload.lab.plugins.plugin_utils._trials.evidence import expected
from ansible_collections.offload.lab.plugins.plugin_utils._trials.evidence_paths import (
    evidence_paths,
)
from ansible_collections.offload.lab.plugins.plugin_utils._trials.trials import pair_endpoints

FLANNEL = Encapsulation("vxlan", VXLAN.overhead, vni=1, port=8472)


def pod(address):
    """Return what a node has of the pods' path: its end in a pod, and the pod's device."""
    device = {"name": "eth0", "netns": "pod"}
    return {"end": {"netns": "pod", "address": address}, "devices": {"tenant": [device]}}


PODS = Path(
    "pods",
    ("underlay", "tenant"),
    FLANNEL,
    nodes={"a": pod("10.244.0.2"), "b": pod("10.244.1.2")},
)
VARIABLES = {name: None for name in lab_node.VARIABLES} | {
    "underlay_device": "eth1",
    "underlay_mtu": 1500,
    "tenant_mtu": 1450,
    "encapsulation": 50,
    "more_ports": [],
    "tenants": [],
}


KNOWN = lab_paths.Paths({**lab_paths.LAB.by_name, "pods": PODS})


def on_node(node, address):
    variables = {**VARIABLES, "underlay_address": address}
    return lab_node.ends_of(variables, ["a", "b"], "system", node=node, paths=KNOWN)


def test_a_campaign_may_name_it():
    campaign = read_campaign(
        {
            "name": "pods",
            "seed": 1,
            "paths": ["pods"],
            "factors": [{"name": "tso"}],
            "workloads": [{"name": "bulk", "test": "TCP_STREAM"}],
        },
        paths_known=KNOWN,
    )
    assert campaign["paths"] == ["pods"]
    assert campaign["factors"][0]["devices"] == ["underlay", "tenant"]


def test_its_endpoints_are_those_of_its_entry():
    client = on_node("a", "198.18.0.1")
    server = on_node("b", "198.18.0.2")
    ends = {"client": client["endpoints"], "server": server["endpoints"]}
    [end] = pair_endpoints(PODS, ends, 12865)
    assert (end["netns"], end["local"], end["address"]) == ("pod", "10.244.0.2", "10.244.1.2")
    assert "10.244.0.2" not in client["addresses"]  # the lab has not given it


def test_its_packets_meet_its_own_devices():
    client = on_node("a", "198.18.0.1")
    server = on_node("b", "198.18.0.2")
    [path] = evidence_paths([PODS], client, server)
    assert path["client_devices"] == [
        {"name": "eth1", "netns": None},
        {"name": "eth0", "netns": "pod"},
    ]
    assert {"name": "eth0", "netns": "pod"} not in client["links"]["inner"]  # the MTU is the user's


def test_its_encapsulation_says_what_a_trial_must_show():
    lab = {"vni": 10, "underlay_ip": 4, "timestamps": True, "speed_mbps": None}
    expected_packets = expected(PODS, "TCP_STREAM", 1500, lab)
    assert (expected_packets["mss"], expected_packets["vnis"]) == (1398, [1])


def test_a_path_of_no_source_is_plain():
    assert KNOWN.named("imported").devices == ("underlay",)
    assert not KNOWN.named("imported").tunnelled
