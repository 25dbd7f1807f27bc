# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab of two nodes as a user builds it: its objects, that it converges, and what wrong values
say.
"""

from __future__ import annotations

import json
import os
import re

import pytest

from ansible_collections.offload.lab.tests.support import run
from ansible_collections.offload.lab.tests.system.lab import changed, differences


def test_check_mode_on_a_fresh_node_plans_and_changes_nothing(lab):
    """The whole of site.yml."""
    plan, before, after = lab.plan
    assert list(differences(before, after)) == []
    assert list(after["node1"]["links"]) == [""] and after["node1"]["ovs"][0] == "does not run"
    assert not os.path.exists("/nonexistent")
    changes_told = changed(plan)
    assert (
        changes_told["node1"] > 0 and changes_told["node2"] > 0 and "localhost" not in changes_told
    )
    for word in ("br-int", "vxlan0", "tenant1-veth0", "netserver"):
        assert word in plan


@pytest.mark.nightly  # the whole site is checked on fresh nodes, and the lab below
def test_check_mode_of_the_whole_site_on_a_built_lab_changes_nothing(lab):
    before = lab.state()
    plan = lab.play(
        "site", "--check", "--diff", campaign={"name": "checked"}, results_dir="/nonexistent"
    )
    assert list(differences(before, lab.state())) == []
    assert changed(plan) == {"node1": 1, "node2": 0}, plan  # the plan would be written


def test_check_mode_of_a_change_of_a_built_lab_changes_nothing(lab):
    before = lab.state()
    more = lab.play("lab", "--check", "--diff", tenant_count=2)
    assert list(differences(before, lab.state())) == []
    assert changed(more)["node2"] > 0 and "tenant2-veth0" in more


@pytest.mark.nightly
def test_a_site_without_a_campaign_is_refused_before_anything_is_made(lab):
    before = lab.state()
    refused = lab.play("site", rc=2)
    assert "no campaign is given. Give offload_lab_campaign_file" in refused
    assert "[Make the nodes]" not in refused and changed(refused) == {"node1": 0, "node2": 0}
    assert list(differences(before, lab.state())) == []


def test_the_second_run_changes_nothing(lab):
    assert changed(lab.first)["node1"] > 0
    assert changed(lab.play("lab")) == {"node1": 0, "node2": 0}


def test_the_switch_has_its_bridge_tunnel_and_tenant(lab):
    shown = lab.inside(1, "ovs-vsctl", "show")
    for name in ("br-int", "vxlan0", "tenant1-veth1", "host-veth1"):
        assert re.search(rf'Port "?{name}"?$', shown, re.MULTILINE), shown


def test_tenants_talk_through_vxlan_with_vni_10(lab):
    capture = f"/tmp/{lab.name}.pcap"
    tcpdump = [
        "timeout",
        "4",
        "tcpdump",
        "-i",
        "underlay0",
        "-n",
        "-U",
        "-w",
        capture,
        "udp",
        "port",
        "4789",
    ]
    lab.inside(
        1,
        "sh",
        "-c",
        " ".join(tcpdump) + " >/dev/null 2>&1 & sleep 1; "
        "ip netns exec tenant1 ping -c 5 -i 0.2 -W 2 192.168.10.2 >/dev/null; wait",
    )
    dump = run(["tcpdump", "-n", "-r", capture])
    run(["rm", "-f", capture])
    assert len(re.findall(r"\.4789: VXLAN, flags \[I\] \(0x08\), vni 10", dump)) >= 10, dump
    assert re.search(r"ICMP echo reply", dump), dump


def test_the_tenant_has_its_mtu_and_the_path_carries_it(lab):
    assert " mtu 8950 " in lab.inside(1, "ip", "link", "show", "tenant1-veth0", netns="tenant1")
    # 8922 bytes of data, 8 of ICMP and 20 of IP are the whole of 8950.
    lab.inside(
        1, "ping", "-c", "2", "-M", "do", "-s", "8922", "-W", "2", "192.168.10.2", netns="tenant1"
    )
    lab.inside(
        1,
        "ping",
        "-c",
        "1",
        "-M",
        "do",
        "-s",
        "8923",
        "-W",
        "1",
        "192.168.10.2",
        netns="tenant1",
        rc=1,
    )


@pytest.mark.nightly  # by day target restore (vxlan), and a tunnel made again in a container (molecule)
def test_a_recreated_tunnel_comes_back_with_its_port_and_features(lab):
    before = lab.state()
    for node in ("node1", "node2"):
        lab.ask("offload.lab.snapshot", node, devices=["underlay0", "vxlan0"])
    lab.play("lab", tunnel_csum=True)
    anew = lab.state()["node1"]
    assert list(differences(before["node1"]["links"], anew["links"]))
    assert ["vxlan0", "16777216"] in anew["buffers"] and anew["buffers"] == before["node1"][
        "buffers"
    ]
    lab.play("restore")
    assert list(differences(before, lab.state())) == []


@pytest.mark.nightly  # by day check mode shows what would change, and each module's target changes it
@pytest.mark.parametrize(
    "other",
    [
        {"vni": 20, "tunnel_csum": True, "tenant_count": 3},
        {"vni": 20},
        {"tunnel_csum": True},
        {"tenant_count": 3},
    ],
)
def test_a_change_converges_in_one_run_and_back(lab, other):
    assert sum(changed(lab.play("lab", **other)).values()) > 0
    assert changed(lab.play("lab", **other)) == {"node1": 0, "node2": 0}
    lab.inside(1, "ping", "-c", "1", "-W", "2", tenant_address(lab, 2), netns="tenant1")
    assert sum(changed(lab.play("lab")).values()) > 0
    assert changed(lab.play("lab")) == {"node1": 0, "node2": 0}
    assert lab.inside(1, "ip", "netns", "list").split()[0] == "tenant1"
    lab.inside(1, "ping", "-c", "1", "-W", "2", "192.168.10.2", netns="tenant1")


def tenant_address(lab, number):
    shown = lab.inside(number, "ip", "-o", "-4", "addr", "show", "tenant1-veth0", netns="tenant1")
    return re.search(r"inet ([0-9.]+)/", shown).group(1)


def unknown_goes_to(lab, number):
    """Return where a node's tunnel sends what it has no learned address for."""
    shown = lab.inside(number, "bridge", "fdb", "show", "dev", "vxlan0")
    return re.findall(r"^00:00:00:00:00:00 dst ([0-9.]+)", shown, re.MULTILINE)


@pytest.mark.nightly  # the target vxlan_device changes it
def test_a_changed_remote_ip_converges_and_back(lab):
    assert changed(lab.play("lab", "--limit", "node1", tunnel_remotes=["198.18.0.77"]))["node1"] > 0
    assert unknown_goes_to(lab, 1) == ["198.18.0.77"]
    assert changed(lab.play("lab"))["node1"] > 0
    assert unknown_goes_to(lab, 1) == ["198.18.0.2"]
    lab.inside(1, "ping", "-c", "1", "-W", "2", "192.168.10.2", netns="tenant1")


def message(output):
    """Return the one message of a task that failed."""
    messages_found = re.findall(
        r'^\s*(?:msg|"msg"): (.*(?:\n {8,}.*)*)', output, re.MULTILINE
    ) or re.findall(r"\[ERROR\]: (.*)", output)
    assert messages_found, output
    return " ".join(" ".join(messages_found).split())


@pytest.mark.parametrize(
    "module, arguments, words",
    [
        (
            "ethtool",
            {"devices": ["underlay0"], "features": {"tx-tcp-segmantation": True}},
            ["underlay0", "tx-tcp-segmantation"],
        ),
        (
            "ethtool",
            {"devices": ["underlay0"], "features": {"rx-all": True}},
            ["underlay0", "rx-all", "fixed"],
        ),
        ("ethtool", {"devices": ["eth77"], "features": {"tso": True}}, ["eth77"]),
        (
            "netperf",
            {"address": "198.18.0.2", "port": 12999},
            ["198.18.0.2", "12999", "netserver"],
        ),
    ],
    ids=["unknown feature", "fixed feature", "no such device", "no netserver"],
)
def test_a_wrong_value_of_a_module_gives_one_message(lab, module, arguments, words):
    before = lab.inside(1, "ethtool", "-k", "underlay0")
    output = message(lab.module(f"offload.lab.{module}", "node1", rc=2, **arguments))
    assert all(word in output for word in words), output
    assert lab.inside(1, "ethtool", "-k", "underlay0") == before


@pytest.mark.parametrize(
    "variables, words",
    [
        ({"tenant_mtu": 9001}, ["9001"]),
        (
            {"tenants": [{"name": name, "addresses": ["192.168.10.1/24"]} for name in ("a", "b")]},
            ["192.168.10.1"],
        ),
    ],
    ids=["MTU too large", "address twice"],
)
@pytest.mark.nightly
def test_a_wrong_value_of_a_role_gives_one_message_before_any_change(lab, variables, words):
    before = lab.inside(1, "ip", "netns"), lab.inside(1, "ovs-vsctl", "list-ports", "br-int")
    output = message(lab.play("lab", rc=2, **variables))
    assert all(word in output for word in words), output
    assert (
        lab.inside(1, "ip", "netns"),
        lab.inside(1, "ovs-vsctl", "list-ports", "br-int"),
    ) == before


def test_no_netperf_gives_one_message(lab):
    cell = {"id": "a", "workload": {"test": "TCP_STREAM"}, "endpoints": [{"address": "198.18.0.2"}]}
    hidden = "mount --bind /dev/null /usr/bin/netperf"
    lab.inside(1, "sh", "-c", hidden)
    try:
        output = message(lab.module("offload.lab.visit", "node1", rc=2, cells=[cell]))
    finally:
        lab.inside(1, "umount", "/usr/bin/netperf")
    assert "netperf" in output, output


def test_not_root_gives_one_message(lab):
    # Root without its capabilities: what a user without rights meets, and the checkout stays
    # readable.
    without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    nodes = json.dumps({"name": "none", "nodes": [{"name": "none-node1"}]})
    output = run([*without, "ansible", "localhost", "-m", "offload.lab.nodes", "-a", nodes], rc=2)
    assert "root" in message(output), output
    assert "none-node1" not in run(["ip", "netns"])
