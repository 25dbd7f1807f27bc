# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines.payload import result
from ansible_collections.offload.lab.plugins.plugin_utils._report import broken
from ansible_collections.offload.lab.plugins.plugin_utils._trials import payload
from ansible_collections.offload.lab.tests.unit.builders import payload_sentences

PLAN = {
    "control": "all_off",
    "factors": [
        {
            "name": "tso",
            "levels": ["off", "on"],
            "settings": ["tso"],
            "needs": [],
            "devices": ["underlay", "tunnel"],
            "sides": ["client", "server"],
        }
    ],
    "profiles": {
        "all_off": {"levels": {"tso": "off"}},
        "all_on": {"levels": {"tso": "on"}},
    },
}


def found(**more):
    check = {**dict.fromkeys(result.COUNTS, 0), "sent": 9, "arrived": 9, "first": None}
    return {
        "elapsed_s": 2.0,
        "mss": 1448,
        "checks": {"tcp_forward": check},
        "counters": {"client": {}, "server": {}},
        "error": None,
        **more,
    }


def test_a_black_hole_is_said_with_what_arrives_and_no_offload_is_blamed():
    sizes = {
        "forward": {"mtu": 1500, "largest": 1400, "said": False},
        "reverse": {"mtu": 1500, "largest": 1500, "said": False},
    }
    checks = payload.Checks({}, {})
    for profile in PLAN["profiles"]:
        for _block in range(8):
            checks.see(("physical", 1500, profile), None, found(sizes=sizes))
    [line] = payload_sentences(PLAN, checks)
    assert line["text"] == (
        "Broken without these offloads too over physical at MTU 1500: packets of the path's MTU do "
        "not arrive, and no ICMP message reports it with every profile. From client to server packets of "
        "1,400 bytes arrive. Packets of 1,500 bytes do not, and no ICMP message reports it: a black hole. Look for the "
        "cause elsewhere: the path's MTU, the wire, the other end."
    )


@pytest.mark.parametrize(
    "pings, expected",
    [
        ({"small": True, "large": True}, " Ping does not show it: it was answered in every trial"),
        ({"small": True, "large": False}, " A small ping was answered in every trial, one of"),
        ({"small": False, "large": False}, " Look for the cause elsewhere"),  # ICMP is filtered
    ],
)
def test_it_is_said_what_ping_shows(pings, expected):
    checks = payload.Checks({}, {})
    for profile in PLAN["profiles"]:
        for _block in range(8):
            checks.see(("physical", 1500, profile), None, found(error="it stopped", pings=pings))
    [line] = payload_sentences(PLAN, checks)
    assert "to the end with every profile." + expected in line["text"]


MANIFEST = {
    "nodes": {
        "node1": {
            "before": {
                "host": {"kernel": "5.15.0-134-generic"},
                "links": {"ens192": {}},
                "devices": {"ens192": {"driver": {"driver": "vmxnet3"}}},
            }
        }
    }
}


def broken_with_tso(path, plan=None):
    """Return the line on a path where payload arrived wrong in each trial with TSO on."""
    checks = payload.Checks({}, {})
    wrong = {**found()["checks"]["tcp_forward"], "wrong": 1}
    for _block in range(12):
        checks.see((path, 1500, "all_off"), None, found())
        checks.see((path, 1500, "all_on"), None, found(checks={"tcp_forward": wrong}))
    [line] = payload_sentences(plan or PLAN, checks, broken.hosts_of(MANIFEST))
    return line["text"]


def test_a_known_case_that_is_like_it_is_named():
    sentences = broken_with_tso("tenant_vxlan")
    assert sentences.startswith("Broken over tenant_vxlan")
    assert sentences.endswith(
        " Reports like this: calico-4727 (https://github.com/projectcalico/calico/issues/4727) and openshift-2472 "
        "(https://github.com/openshift/machine-config-operator/pull/2472)."
    )


def test_of_a_path_that_was_there_already_the_plan_knows_the_encapsulation():
    assert "Reports like this" not in broken_with_tso("pods")
    plan_of_pods = {**PLAN, "encapsulations": {"pods": "vxlan"}}
    assert "Reports like this: calico-4727" in broken_with_tso("pods", plan_of_pods)


def test_no_case_is_named_where_none_is_like_it():
    sentences = broken_with_tso("physical")
    assert sentences.startswith("Broken over physical")
    assert "Reports like this" not in sentences


def test_without_a_manifest_no_host_is_known():
    assert broken.hosts_of(None) == []


def lossy_trial(profile, block, **damage):
    """Return a trial in which segments were lost, and what the kernels counted meanwhile."""
    check = {**dict.fromkeys(result.COUNTS, 0), "sent": 9, "arrived": 9, "first": None}
    return {
        "client": "hx1",
        "server": "hx2",
        "path": "pods",
        "mtu": 1450,
        "profile": profile,
        "block": block,
        "workload": {"test": "PAYLOAD"},
        "result": {"payload": found(checks={"tcp_forward": {**check, "segments_lost": 9}})},
        "damage": {end: {"counters": counters} for end, counters in damage.items()},
    }


def pods_line(trials):
    checks = payload.checks_of(trials)
    plan = {**PLAN, "encapsulations": {"pods": "vxlan"}}
    [line] = payload_sentences(plan, checks)
    return line["text"]


def test_a_wire_that_corrupts_packets_of_a_tunnel_is_named_by_the_node_that_refuses_them():
    """The outer checksums are wrong: the host counts that, and the pods see losses alone."""
    trials = [
        lossy_trial(profile, block, server={"UdpInCsumErrors": 600, "TcpRetransSegs": 9})
        for profile in PLAN["profiles"]
        for block in range(6)
    ]
    assert pods_line(trials) == (
        "Packets are lost over pods at MTU 1450: segments were lost and retransmitted in 12 of 12 trials, "
        "and no setting was shown to be the cause. Packets arrive at hx2 (7,200 packets in 12 of 12 trials) "
        "with wrong checksums under every setting: the wire or a card corrupts them. Nothing arrived "
        "wrong."
    )


@pytest.mark.parametrize("counters", [{}, {"UdpInErrors": 50, "softnet_dropped": 7}])
def test_losses_without_wrong_checksums_are_no_fault_of_the_wire(counters):
    trials = [
        lossy_trial(profile, block, server=counters)
        for profile in PLAN["profiles"]
        for block in range(6)
    ]
    assert "An overflowing queue does this" in pods_line(trials)


def test_wrong_checksums_under_some_settings_are_no_fault_of_the_wire():
    trials = [
        lossy_trial(profile, block, server={"UdpInCsumErrors": 9} if profile == "all_on" else {})
        for profile in PLAN["profiles"]
        for block in range(6)
    ]
    assert "corrupts" not in pods_line(trials)


def test_a_broken_path_ends_with_why_and_where_packets_were_lost():
    checks = payload.Checks({}, {})
    wrong = {**found()["checks"]["tcp_forward"], "wrong": 1}
    ordinary = {"node2 NETFILTER_DROP nft_do_chain": 5}  # of other traffic, under each profile
    lost = {"node2 TCP_CSUM tcp_v4_rcv": 412, **ordinary}
    for _block in range(12):
        checks.see(("own", 1500, "all_off"), None, found(), {}, ordinary)
        checks.see(("own", 1500, "all_on"), None, found(checks={"tcp_forward": wrong}), {}, lost)
    [line] = payload_sentences(PLAN, checks)
    assert line["text"].endswith(
        " Packets were lost at node2 in tcp_v4_rcv, reason TCP_CSUM (wrong TCP checksum): 4,944 "
        "packets in 12 of 12 trials."
    )
    assert "NETFILTER_DROP" not in line["text"]
