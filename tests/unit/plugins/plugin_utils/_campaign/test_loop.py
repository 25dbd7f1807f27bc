# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop of a campaign: who measures with whom, under which profile, with which arguments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.offload.lab.plugins.module_utils._kinds.command_levels import Allowed
from ansible_collections.offload.lab.plugins.module_utils._load.spec import SPEC
from ansible_collections.offload.lab.plugins.plugin_utils._campaign import loop
from ansible_collections.offload.lab.plugins.plugin_utils._lab import lab_node

PAIRS = [{"client": "a", "server": "b"}, {"client": "c", "server": "d"}]
GUEST = [{"client": "guest1", "server": "guest2"}]
HOMES = {"guest1": "node1", "guest2": "node2"}
SETTINGS = {"client": {"underlay": {"features": {"tso": False}}}, "server": {"underlay": {}}}
PLAN = loop.PlanOfVisit(
    plan_file="/results/x/plan.json",
    record="/results/x/trials.jsonl",
    design="on_off",
    tests=["TCP_STREAM"],
    chunk_s=150,
    profiles={"all_off": SETTINGS, "as_found": {}},
    homes={},
    forwarder="",
)
OPTIONS = loop.RoleOptions(
    port=12865,
    probe_port=12866,
    evidence_seconds=0.1,
    vxlan_port=4789,
    vni=10,
    tenant_vlan=0,
    uplink="",
    tunnel_by_uplink=False,
    protect=["eth0"],
    allow_management_device=[],
    commands=Allowed("node1", {}, []),
)
STEP: loop.VisitStep = {
    "do": "visit",
    "tasks": "visit",
    "block": 3,
    "visit": 2,
    "mtu": 9000,
    "profile": "all_off",
    "new_mtu": False,
    "pairs": PAIRS,
}
WORK = loop.Work(PLAN, OPTIONS, STEP)
KEPT = loop.KeptSnapshot("/run/snapshot.json", [{"name": "eth1"}], "lease")
CONDITIONS = loop.ClientFacts(timestamps=True, speed_mbps=100)


def host(name, address="198.18.0.1", **more):
    return loop.HostFacts(
        name=name,
        devices={"underlay": [{"name": f"{name}-0"}, {"name": f"{name}-1"}]},
        endpoints={"physical": {"netns": None, "address": address}},
        address=address,
        probe_token=f"probe of {name}",
        servers_token=f"servers of {name}",
        applied={"devices": {name: {}}},
        **more,
    )


def everyone(*names):
    return {name: host(name) for name in names}


@pytest.mark.parametrize(
    ("name", "in_order", "left"),
    [
        ("a", "abcd", ["b"]),
        ("a", "acd", []),  # the server did not take the profile
        ("b", "ab", ["a"]),  # the other pair does not matter
        ("c", "abc", []),
    ],
)
def test_a_pair_needs_both_ends(name, in_order, left):
    member = lab_node.members_with_forwarders(PAIRS, {}, [])[name]
    assert loop.partners(member, list(in_order)) == left


@pytest.mark.parametrize("missing", ["node1", "node2", "guest2", "wire"])
def test_a_guest_needs_both_nodes_and_the_forwarder(missing):
    member = lab_node.members_with_forwarders(GUEST, HOMES, ["wire"])["guest1"]
    hosts = {"guest1", "guest2", "node1", "node2", "wire"}
    assert loop.partners(member, hosts) == ["guest2"]
    assert loop.partners(member, hosts - {missing}) == []


def test_a_client_waits_only_for_hosts_of_the_play():
    member = lab_node.members_with_forwarders(PAIRS, {}, [])["a"]
    assert loop.awaited(member, ["a", "b", "c", "d"]) == ["b"]
    assert loop.awaited(member, ["a", "c", "d"]) == []
    assert loop.in_order({"a": {"devices": {}}, "b": None}) == ["a"]


def test_a_host_measures_where_it_is_the_client_and_the_server_is_ready():
    assert loop.pairs_now(STEP, "a", ["b"]) == PAIRS[:1]
    assert loop.pairs_now(STEP, "a", []) == loop.pairs_now(STEP, "b", ["a"]) == []


@pytest.mark.parametrize(
    ("result", "applied"),
    [
        ({"devices": {}, "changed": True}, {"devices": {}}),
        ({"devices": {"x": 1}, "cpu": {"time": 1}}, {"devices": {"x": 1}, "cpu": {"time": 1}}),
        ({"skipped": True}, None),
        ({"failed": True, "msg": "gone"}, None),
        ({}, None),
    ],
)
def test_what_module_ethtool_returned_says_what_was_set(result, applied):
    assert loop.applied_by(result) == applied


def test_the_profile_is_set_under_the_switch_at_the_end_of_the_host():
    member = lab_node.members_with_forwarders(PAIRS, {}, [])["a"]
    devices = {"underlay": [{"name": "eth1"}]}
    arguments = loop.profile_arguments(WORK, member, devices, KEPT)
    assert arguments == {
        "settings": SETTINGS["client"],
        "classes": devices,
        "elsewhere": [],
        "fixed": "report",
        "protect": ["eth0"],
        "allow_management_device": [],
        "sign_of_life": True,
        "after_strike": False,
        "snapshot": "/run/snapshot.json",
        "lease": "lease",
    }


def test_an_integrity_campaign_goes_back_to_the_snapshot_and_goes_on_after_a_strike():
    plan = replace(PLAN, design="integrity", tests=["PAYLOAD"])
    work = loop.Work(plan, OPTIONS, {**STEP, "profile": "as_found"})
    member = lab_node.members_with_forwarders(PAIRS, {}, [])["b"]
    arguments = loop.profile_arguments(work, member, {}, KEPT)
    assert arguments["devices"] == [{"name": "eth1"}] and "settings" not in arguments
    assert arguments["after_strike"]
    by_name = replace(work, plan=replace(plan, design="profiles"))
    assert loop.profile_arguments(by_name, member, {}, KEPT)["settings"] == {}


def test_the_options_of_a_visit_are_those_of_its_module_and_name_both_ends():
    arguments = loop.visit_options(WORK, CONDITIONS, ("a", "b"), everyone("a", "b"))
    assert set(arguments) <= set(SPEC)
    assert (arguments["block"], arguments["visit"], arguments["mtu"]) == (3, 2, 9000)
    assert (arguments["client"], arguments["server"], arguments["token"]) == (
        "a",
        "b",
        "servers of b",
    )
    assert arguments["probe"] == {"address": "198.18.0.1", "port": 12866, "token": "probe of b"}
    assert arguments["sampling"] == {"tests": ["TCP_STREAM"], "seconds": 0.1, "vxlan_port": 4789}
    assert arguments["evidence"] == {
        "settings": {"client": {"a": {}}, "server": {"b": {}}},
        "underlay": {"client": "a-0", "server": "b-0"},
        "uplink": {"client": "", "server": "b-1"},
        "tunnel_by_uplink": False,
        "homes": {},
        "home_settings": {},
    }
    assert arguments["expect"] == {
        "vni": 10,
        "underlay_ip": 4,
        "ipv6_paths": [],
        "tag": 0,
        "timestamps": True,
        "speed_mbps": 100,
    }
    assert "forwarder" not in arguments


def test_guests_have_what_was_set_at_their_nodes_beside_them():
    work = replace(WORK, plan=replace(PLAN, homes=HOMES))
    hosts = everyone("node1", "guest2", "node2")
    hosts["guest1"] = replace(host("guest1"), devices={"underlay": []})
    names = loop.hosts_needed(work.plan, ("guest1", "guest2"))
    assert names == ["guest1", "guest2", "node1", "node2"]
    arguments = loop.visit_options(work, CONDITIONS, ("guest1", "guest2"), hosts)
    assert arguments["evidence"]["homes"] == {"client": "node1", "server": "node2"}
    assert arguments["evidence"]["home_settings"]["server"] == {"devices": {"node2": {}}}
    assert arguments["evidence"]["underlay"]["client"] == ""


def test_a_forwarder_is_asked_as_the_server_is():
    work = replace(WORK, plan=replace(PLAN, forwarder="wire"))
    hosts = everyone("a", "b", "wire")
    assert loop.hosts_needed(work.plan, ("a", "b")) == ["a", "b", "wire"]
    arguments = loop.visit_options(work, CONDITIONS, ("a", "b"), hosts)
    assert arguments["forwarder"]["token"] == "probe of wire"
    assert arguments["evidence"]["settings"]["forwarder"] == {"wire": {}}


def test_what_was_asked_for_changes_what_is_sampled_and_expected():
    options = replace(OPTIONS, evidence_seconds=0, tenant_vlan=7)
    hosts = {"a": host("a", "fd00::1"), "b": host("b")}
    work = replace(WORK, options=options)
    arguments = loop.visit_options(work, CONDITIONS, ("a", "b"), hosts)
    assert "sampling" not in arguments
    assert arguments["expect"]["underlay_ip"] == 6 and arguments["expect"]["tag"] == 4
    assert arguments["expect"]["ipv6_paths"] == ["physical"]
    both_ways = replace(WORK, plan=replace(PLAN, tests=["TCP_MAERTS", "TCP_STREAM"]))
    options = loop.visit_options(both_ways, CONDITIONS, ("a", "b"), hosts)
    assert options["sampling"]["tests"] == ["TCP_STREAM", "TCP_MAERTS"]
