# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which campaigns a lab can measure: nodes, paths, tenants, MTUs."""

from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._request.campaign import (
    wrong_forwarder,
    wrong_guests,
    wrong_mtus,
    wrong_nodes,
    wrong_paths,
)

GROUP = ["a", "b", "c"]


def campaign(**keys):
    campaign_keys = {key: value for key, value in keys.items() if value != []}
    return read_campaign({"name": "x", "blocks": 6, **campaign_keys}, nodes=GROUP)


@pytest.mark.parametrize(
    ("pairs", "playing", "message"),
    [
        ([], ["a"], "a campaign needs two nodes. Do not leave out b or c with --limit."),
        (["a-b"], ["a"], "it measures b. Do not leave that out with --limit."),
        (["a-z"], GROUP, "its pairs name z, which is not in the inventory. It has a, b, c."),
    ],
)
def test_wrong_nodes(pairs, playing, message):
    assert [problem.what for problem in wrong_nodes(campaign(pairs=pairs), playing, GROUP, {})] == [
        message
    ]


def test_right_nodes():
    assert list(wrong_nodes(campaign(), ["a", "b"], GROUP, {})) == []
    assert list(wrong_nodes(campaign(pairs=["b-c"]), ["b", "c"], GROUP, {})) == []
    [problem] = wrong_nodes(campaign(), ["a"], ["a"], {})
    assert "the inventory has 1" in problem.what


@pytest.mark.parametrize(
    ("playing", "homes", "message"),
    [
        (
            ["b", "guest1", "guest2"],
            {"guest1": "a", "guest2": "b"},
            "guest1 is a tenant of a, whose settings",
        ),
        (["a", "b", "guest1"], {"guest1": "a"}, "two tenants that are hosts, or none"),
    ],
)
def test_guests_come_with_their_nodes_and_in_twos(playing, homes, message):
    [problem] = wrong_nodes(campaign(), playing, [*GROUP, *homes], homes)
    assert message in problem.what


@pytest.mark.parametrize(
    ("keys", "node", "message"),
    [
        ({"paths": ["tenant_vxlan"]}, "a", []),
        (
            {"paths": ["physical", "tenant_vxlan"]},
            "a",
            ["path physical has no end in this tenant, which has tenant_vxlan"],
        ),
        (
            {"paths": ["tenant_vxlan"]},
            "",
            ["the campaign sets underlay devices, which are this tenant's node's"],
        ),
        ({"paths": ["tenant_vxlan"], "factors": [{"name": "tso", "devices": ["tenant"]}]}, "", []),
        (
            {
                "paths": ["tenant_vxlan"],
                "workloads": [{"name": "x", "test": "TCP_STREAM", "tenants": 4}],
            },
            "a",
            ["uses several tenants"],
        ),
    ],
)
def test_what_a_guest_does_not_have(keys, node, message):
    problems = [problem.what for problem in wrong_guests(campaign(**keys), "guest1", node, {})]
    assert len(problems) == len(message) and all(
        word in what for word, what in zip(message, problems, strict=True)
    ), problems


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ("physical_vxlan", {"offload_lab_host_network": ""}, {}),
        ("tenant", {}, {"offload_lab_uplink_device": "eth2"}),
        ("tenant_vxlan", {"offload_lab_tenant_count": "0"}, {"offload_lab_tenant_count": "1"}),
        ("tenant_bridge_vxlan", {}, {"offload_lab_bridged_network": "192.168.30.0/24"}),
        (
            "tenant",
            {"offload_lab_tenants": [{"name": "a", "addresses": ["10.0.0.1/8"]}]},
            {"offload_lab_tenants": [{"name": "a", "addresses": ["10.0.0.1/8"], "flat": True}]},
        ),
    ],
)
def test_paths(path, wrong, right):
    [problem] = wrong_paths(campaign(paths=[path]), "a", wrong)
    assert problem.where == "a" and f"path {path} has no end here. Set offload_lab_" in problem.what
    assert list(wrong_paths(campaign(paths=[path]), "a", right)) == []


def test_more_tenants_than_there_are():
    many = campaign(workloads=[{"name": "x", "test": "TCP_STREAM", "tenants": 4}])
    [problem] = wrong_paths(many, "a", {})
    assert "uses 4 tenants, the node has 1. Set offload_lab_tenant_count: 4." in problem.what
    assert list(wrong_paths(many, "a", {"offload_lab_tenant_count": 4})) == []


@pytest.mark.parametrize(
    ("mtu", "address", "most", "count"),
    [
        (1500, "198.18.0.1", 1500, 0),
        (9000, "198.18.0.1", 1500, 1),
        (9000, "198.18.0.1", 0, 0),
        (117, "198.18.0.1", 9000, 1),
        (118, "198.18.0.1", 9000, 0),
        (1279, "2001:db8::1", 9000, 1),
    ],
)
def test_mtus(mtu, address, most, count):
    link = {"name": "eth1", "max_mtu": most}
    assert len(list(wrong_mtus({"mtus": [mtu]}, "a", address, link))) == count


@pytest.mark.parametrize(
    ("keys", "forwarders", "message"),
    [
        ({"sides": "forwarder"}, [], "it sets tx at the forwarder, and the inventory has none"),
        ({}, ["r", "s"], "the group lab_forwarders has r and s"),
        (
            {"factors": [{"name": "gro", "sides": "forwarder", "devices": ["tenant"]}]},
            ["r"],
            "gro is for tenant devices, and a forwarder has underlay devices alone",
        ),
    ],
)
def test_a_campaign_that_no_forwarder_can_serve(keys, forwarders, message):
    [problem, *_others] = wrong_forwarder(campaign(**keys), forwarders)
    assert message in problem.what


def test_a_campaign_that_a_forwarder_can_serve():
    assert list(wrong_forwarder(campaign(sides="forwarder"), ["r"])) == []
    assert list(wrong_forwarder(campaign(), [])) == []


def test_paths_by_way_of_a_forwarder():
    campaign_asked = campaign(paths=["routed", "routed_vxlan"])
    problems = [problem.what for problem in wrong_paths(campaign_asked, "a", {})]
    assert len(problems) == 2 and "Set offload_lab_forwarding" in problems[0]
    assert list(wrong_paths(campaign_asked, "a", {"offload_lab_forwarding": "routed"})) == []
    [nat] = wrong_paths(campaign_asked, "a", {"offload_lab_forwarding": "nat"})
    assert nat.what.startswith("the campaign's path routed_vxlan does not get through NAT")
