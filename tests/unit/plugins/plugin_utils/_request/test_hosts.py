# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was read of the nodes to a table: each check right, and wrong with what is to be done."""

from __future__ import annotations

import copy

import pytest

from ansible_collections.offload.lab.plugins.module_utils._engines.engines import programs_of
from ansible_collections.offload.lab.plugins.plugin_utils._campaign.campaign_file import (
    read_campaign,
)
from ansible_collections.offload.lab.plugins.plugin_utils._request.engines import engines_needed
from ansible_collections.offload.lab.plugins.plugin_utils._request.hosts import (
    apart,
    judge,
    problems,
    table,
    wanted_of,
)

ETH1 = {
    "name": "eth1",
    "mtu": 1500,
    "min_mtu": 68,
    "max_mtu": 9000,
    "up": True,
    "global": ["198.18.0.1/24"],
}
READING = {
    "user": {"name": "root", "missing": []},
    "programs": {"ip": "/sbin/ip", "netperf": "/usr/bin/netperf"},
    "links": {
        "lo": {**ETH1, "name": "lo", "global": []},
        "eth1": ETH1,
        "eth2": {**ETH1, "name": "eth2", "global": []},
    },
    "features": {"tcp-segmentation-offload": {"active": True, "fixed": False}},
    "management": ["eth0"],
    "switch": {"datapath": "system", "refused": None},
    "taken": [],
    "measuring": False,
    "clock": 1000.0,
    "peers": [
        {"address": "198.18.0.2", "port": 12865, "reached": True, "answer": "Connection refused"}
    ],
}
VARIABLES = {"offload_lab_underlay_device": "eth1"}
CAMPAIGN = read_campaign({"name": "x", "blocks": 6, "factors": ["tso"], "mtus": [1500]})


def rows(change=None, campaign=None, **variables):
    """Return the judged rows of a node; ``change`` replaces parts of the reading."""
    needs = wanted_of(
        {**VARIABLES, **{f"offload_lab_{name}": value for name, value in variables.items()}},
        campaign,
    )
    return list(judge("node1", {**copy.deepcopy(READING), **(change or {})}, needs))


def test_a_node_that_can_do_it():
    assert {
        row.state
        for row in rows(campaign=CAMPAIGN, underlay_mtu="1500", underlay_address="198.18.0.1")
    } == {"ok"}


@pytest.mark.parametrize(
    ("change", "variables", "message"),
    [
        (
            {"user": {"name": "lab", "missing": ["CAP_NET_ADMIN"]}},
            {},
            "user: lab lacks CAP_NET_ADMIN. Set ansible_become",
        ),
        (
            {"programs": {"netperf": None}},
            {"install_packages": "no"},
            "programs: missing: netperf. Install them",
        ),
        (
            {"programs": {"ping": None}},
            {"ends": [{"name": "pods"}]},
            "programs: missing: ping. Install them: on an existing network nothing is",
        ),
        ({}, {"underlay_device": "eth7"}, "device: there is no device eth7. It has eth1, eth2."),
        ({"links": {"eth1": {**ETH1, "up": False}}}, {}, "device: eth1 is down. Bring it up"),
        (
            {},
            {"underlay_address": "198.18.0.9"},
            "device: eth1 does not have the address 198.18.0.9. It has 198.18.0.1.",
        ),
        ({}, {"uplink_device": "eth1"}, "device: the uplink eth1 is a device of the underlay"),
        (
            {"links": {**READING["links"], "eth2": {**ETH1, "name": "eth2"}}},
            {"uplink_device": "eth2"},
            "device: the uplink eth2 has the address 198.18.0.1/24",
        ),
        (
            {"management": ["eth2"]},
            {"uplink_device": "eth2"},
            "management: the uplink eth2 carries the controller's",
        ),
        (
            {},
            {"underlay_mtu": 9000},
            "MTU: eth1 has MTU 1500, offload_lab_underlay_mtu is 9000. Change one.",
        ),
        (
            {"switch": {"datapath": "system", "refused": "br-int: it is not ours."}},
            {},
            "datapath: br-int: it is not ours.",
        ),
        (
            {"taken": [{"port": 12865, "program": "netserver", "pids": [8, 7]}]},
            {},
            "ports: 12865 is taken by netserver, process 7. Stop it (on Debian: systemctl disable --now netperf)",
        ),
        (
            {
                "peers": [
                    {
                        "address": "198.18.0.2",
                        "port": 12866,
                        "reached": False,
                        "answer": "no answer within 3 s",
                    }
                ]
            },
            {},
            "peers: 198.18.0.2 cannot be reached on TCP port 12866: no answer within 3 s",
        ),
    ],
)
def test_what_is_wrong_and_what_to_do(change, variables, message):
    [problem] = problems(rows(change, **variables))
    assert f"node1: {message}" in str(problem)


IPERF3 = read_campaign(
    {
        "name": "x",
        "blocks": 6,
        "factors": ["tso"],
        "engine": "iperf3",
        "workloads": [
            {"name": "plain", "test": "TCP_STREAM"},
            {"name": "skip", "test": "TCP_STREAM", "skip_rx_copy": True, "zero_copy": True},
            {"name": "cut", "test": "UDP_STREAM", "udp_segment": True},
        ],
    }
)
OLD = ["--version", "--zerocopy"]


@pytest.mark.parametrize(
    ("options", "campaign", "states", "texts"),
    [
        (OLD, None, ["note"], ["would add --skip-rx-copy (3.19), --mptcp (3.19), --gsro (3.21)"]),
        (OLD + ["--skip-rx-copy", "--mptcp", "--gsro"], IPERF3, ["ok"], ["has all options"]),
        (
            OLD,
            IPERF3,
            ["WRONG", "WRONG", "note"],
            [
                "workload skip needs --skip-rx-copy, which iperf3 has from 3.19 on",
                "cut needs --gsro",
            ],
        ),
        (OLD + ["--mptcp", "--gsro"], IPERF3, ["WRONG", "note"], ["workload skip", "3.19"]),
        (None, IPERF3, ["WRONG"] * 3, ["iperf3 is not installed. Run playbook lab first"]),
    ],
)
def test_options_of_the_installed_iperf3(options, campaign, states, texts):
    request = wanted_of(VARIABLES, campaign, engines=["iperf3"])
    checks = list(judge("node1", {**READING, "iperf3_options": options}, request))
    about = [row for row in checks if row.check == "iperf3"]
    assert [row.state for row in about] == states
    for row, text in zip(about, texts):
        assert text in row.text
    without = judge("node1", {**READING, "iperf3_options": options}, wanted_of(VARIABLES, campaign))
    assert "iperf3" not in [row.check for row in without]


def test_a_peer_behind_a_dead_path_is_a_note_where_the_path_is_tested():
    peer = {"address": "198.18.0.2", "port": 12866, "reached": False, "answer": "no answer"}
    reading = {**READING, "peers": [peer]}
    variables = {**VARIABLES, "offload_lab_ends": [{"name": "pods"}]}
    tested = judge("node1", reading, wanted_of(variables, CAMPAIGN, tests_path=True))
    (note,) = [row for row in tested if row.check == "peers" and row.state == "note"]
    assert note.text.endswith("rule that accepts these ports from this node: add it.")
    others = judge("node1", reading, wanted_of(variables, CAMPAIGN))
    assert [row.state for row in others if row.check == "peers"] == ["WRONG"]


def test_a_silent_udp_port_is_a_note():
    [note] = [
        row for row in rows({"silent": ["198.18.0.2"], "vxlan_port": 4789}) if row.state == "note"
    ]
    assert note.check == "peers" and note.text.startswith(
        "198.18.0.2 does not answer on UDP port 4789"
    )


def test_a_campaign_asks_for_more():
    carries = {"management": ["eth1"]}
    assert problems(rows(carries)) == []  # the lab alone does not change the underlay
    assert "and a campaign would change it" in str(problems(rows(carries, CAMPAIGN))[0])
    assert problems(rows(carries, CAMPAIGN, allow_management_device=["eth1"])) == []
    unknown = read_campaign({"name": "x", "blocks": 6, "factors": ["tsoo"]})
    assert "have no feature 'tsoo'" in str(
        problems(rows(campaign=unknown, underlay_address="198.18.0.1"))[0]
    )
    large = read_campaign({"name": "x", "blocks": 6, "factors": ["tso"], "mtus": [9216]})
    assert "eth1 cannot have the campaign's MTU 9216. Use 118 to 9000." in str(
        problems(rows(campaign=large))[0]
    )


def test_a_program_without_a_package_is_wrong():
    rocky = {"id": "rocky", "like": ["rhel", "centos", "fedora"], "version": "9.6"}
    missing = {"programs": {"netperf": None, "ping": None}, "distribution": rocky}
    [row] = [row for row in rows(missing) if row.check == "programs"]
    assert row.state == "WRONG" and row.text.startswith(
        "missing: netperf, and no package is known."
    )
    [row] = [row for row in rows(missing, netperf_source="/a.tar") if row.check == "programs"]
    assert (row.state, row.text) == ("note", "to be installed: netperf, ping")


def test_programs_that_will_be_installed_are_noted():
    assert [row.text for row in rows({"programs": {"netperf": None}}) if row.state == "note"] == [
        "to be installed: netperf"
    ]


def test_of_the_engines_only_the_chosen_one_has_to_be_there():
    needs = wanted_of({**VARIABLES, "offload_lab_ends": [{}]}, None, engines=["iperf3"])
    programs = {"ethtool": "/sbin/ethtool", "netperf": None, "netserver": None, "iperf3": None}
    [row] = problems(judge("node1", {**READING, "programs": programs}, needs))
    assert "missing: iperf3. Install" in str(row)
    there = {**programs, "iperf3": "/usr/bin/iperf3"}
    assert not problems(judge("node1", {**READING, "programs": there}, needs))


def test_a_workload_that_names_another_engine_needs_its_programs_too():
    """The nodes of a lab of netperf lack iperf3, which one workload names."""
    workloads = [{"name": "small", "test": "TCP_STREAM", "engine": "iperf3"}, "tcp_rr"]
    campaign = read_campaign({"name": "x", "blocks": 6, "workloads": workloads})
    needed = engines_needed("netperf", campaign, has_lab=True).needed
    assert {"netperf", "netserver", "iperf3"} <= set(programs_of(needed))
    reading = {
        **READING,
        "programs": {**dict.fromkeys(programs_of(needed), "/bin/x"), "iperf3": None},
    }
    variables = {**VARIABLES, "offload_lab_install_packages": False}
    [row] = problems(judge("node1", reading, wanted_of(variables, None, engines=needed)))
    assert "missing: iperf3. Install" in str(row)


def test_a_campaign_left_in_the_middle_has_set_its_own_mtu():
    assert problems(rows({"measuring": True}, underlay_mtu=9000)) == []


def test_a_tenant_that_is_a_host_has_no_switch_and_the_mtu_that_the_tunnel_leaves():
    mine = {"offload_lab_underlay_device": "eth1", "offload_lab_underlay_mtu": 1550}
    refused = {**READING, "switch": {"datapath": "system", "refused": "br-int: it is not ours."}}
    found_problems = list(judge("guest1", refused, wanted_of(mine, CAMPAIGN, guest=True)))
    assert {row.state for row in found_problems} == {"ok"} and not {"datapath", "peers"} & {
        row.check for row in found_problems
    }
    [problem] = problems(
        judge(
            "guest1", READING, wanted_of({**mine, "offload_lab_tenant_path": "tenant"}, None, True)
        )
    )
    assert "eth1 has MTU 1500, offload_lab_underlay_mtu leaves 1550. Change one." in str(problem)
    needs = {"node1": wanted_of(VARIABLES, None), "guest1": wanted_of(mine, None, guest=True)}
    short = {**READING, "links": {"eth1": {**ETH1, "mtu": 1450}}}
    assert list(apart({"node1": READING, "guest1": short}, needs, 1000.0)) == []


def test_nodes_that_differ():
    needs = dict.fromkeys(("a", "b"), wanted_of(VARIABLES, None))
    other = {**READING, "links": {"eth1": {**ETH1, "mtu": 9000}}, "clock": 2000.0}
    problems = list(apart({"a": READING, "b": other}, needs, 1000.0))
    assert [(row.node, row.check, row.state) for row in problems] == [
        ("all", "MTU", "WRONG"),
        ("b", "clock", "note"),
    ]
    assert "a 1500, b 9000" in problems[0].text
    assert list(apart({"a": READING, "b": READING}, needs, 1001.0)) == []


def test_the_table_is_aligned():
    lines = table(rows())
    assert lines[0].split() == ["node", "check"]
    assert len({line.index(" ok ") for line in lines[1:]}) == 1


def test_known_cases_of_the_driver_are_noted():
    (row,) = [
        row
        for row in rows({"driver": "e1000e", "kernel": "6.1.0-28-amd64"})
        if row.check == "known cases"
    ]
    assert (row.state, row.text) == (
        "note",
        "offloads of e1000e were reported to be broken: otaru-2637, incus-os-849. See "
        "docs/known-cases.md; playbook integrity shows whether they are broken here.",
    )


def test_bpf_programs_of_the_host_are_noted():
    assert [row for row in rows() if row.check == "BPF"] == []
    hooks = {
        "tcx ingress": {"id": 7, "name": "cil_from_netdev", "tag": "ab"},
        "tc egress": {"id": 8},
    }
    (row,) = [row for row in rows({"bpf": hooks}) if row.check == "BPF"]
    assert row.state == "note"
    assert "programs of the host: cil_from_netdev (tcx ingress), 8 (tc egress)." in row.text


OWN = {"ends": [{"name": "pods", "address": "10.244.1.5"}]}


def wrong_of(**keys):
    return [row.text for row in rows(**keys) if row.state == "WRONG"]


def test_a_network_that_is_there_already_keeps_its_mtu():
    campaign = {**CAMPAIGN, "mtus": [9000]}
    assert wrong_of(campaign=campaign, **OWN) == [
        "the campaign's MTU is 9000, and eth1, which keeps its own, has 1500. "
        "Give the campaign 'mtus: [1500]'."
    ]
    assert wrong_of(campaign=CAMPAIGN, **OWN) == []


def test_below_a_path_of_ones_own_may_lie_what_carries_the_controllers_connection():
    change = {"management": ["eth1"]}
    (problem,) = wrong_of(change=change, campaign=CAMPAIGN, **OWN)
    assert problem.startswith("eth1 carries the controller's connection")
    inner = read_campaign(
        {
            "name": "x",
            "factors": [{"name": "tso", "devices": ["tenant"]}],
            "mtus": [1500],
        }
    )
    assert wrong_of(change=change, campaign=inner, **OWN) == []
    assert wrong_of(change=change, campaign=inner) != []


def forwarding(active, factors=("tso",)):
    """Return the row of a host that forwards, one of whose devices has LRO on or not."""
    features = {"large-receive-offload": {"active": active, "fixed": False}}
    reading = {**copy.deepcopy(READING), "forwarded": {"eth2": features}}
    campaign_keys = {"name": "x", "blocks": 6, "factors": list(factors), "mtus": [1500]}
    variables = {**VARIABLES, "offload_lab_forwarder_devices": ["eth1", "eth2"]}
    campaign = read_campaign({**campaign_keys, "sides": "forwarder"})
    needs = wanted_of(variables, campaign, forwards=True)
    rows = list(judge("router", reading, needs))
    assert not any(row.check in ("datapath", "peers") for row in rows)
    [row] = [row for row in rows if row.check == "forwarding"]
    return row


def test_lro_must_be_off_where_packets_are_forwarded():
    assert forwarding(False).state == "ok"
    on = forwarding(True)
    assert on.state == "WRONG" and "eth2 has LRO on" in on.text
    varied = forwarding(False, ["tso", "lro"])
    assert varied.state == "note" and "must not stay on" in varied.text


@pytest.mark.parametrize(("forwards", "state"), [(False, "note"), (True, "WRONG")])
def test_a_managed_device_is_refused_where_it_would_be_set(forwards, state):
    reading = {**copy.deepcopy(READING), "management": ["eth1"]}
    campaign_keys = {
        "name": "x",
        "blocks": 6,
        "factors": ["tso"],
        "mtus": [1500],
        "sides": "forwarder",
    }
    variables = {**VARIABLES, "offload_lab_ends": [{"name": "pods"}]}
    needs = wanted_of(variables, read_campaign(campaign_keys), forwards=forwards)
    [row] = [row for row in judge("a", reading, needs) if row.check == "management"]
    assert row.state == state


def test_nodes_are_not_asked_whether_they_forward():
    rows = judge("a", copy.deepcopy(READING), wanted_of(VARIABLES, CAMPAIGN))
    assert "forwarding" not in [row.check for row in rows]


def test_a_host_that_forwards_may_have_another_mtu():
    router = copy.deepcopy(READING)
    router["links"]["eth1"]["mtu"] = 9000
    readings = {"a": copy.deepcopy(READING), "router": router}
    nodes = {name: wanted_of(VARIABLES, None) for name in readings}
    assert [row.check for row in apart(readings, nodes, 1000)] == ["MTU"]
    nodes["router"] = wanted_of(VARIABLES, None, forwards=True)
    assert list(apart(readings, nodes, 1000)) == []
