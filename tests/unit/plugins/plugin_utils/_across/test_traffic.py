# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a host's traffic: counts of real streams over a veth pair of Linux 6.18."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.offload.lab.plugins.filter.traffic import traffic as report
from ansible_collections.offload.lab.plugins.plugin_utils._across import traffic
from ansible_collections.offload.lab.plugins.plugin_utils._trials import drop_reasons
from ansible_collections.offload.lab.plugins.plugin_utils._untrusted.texts import CONTROL

# 12 MB of TCP, as counted at the sender and at the receiver
TSO_ON = {"sent": 296, "cut": 195, "sent_full": 9, "checksum_left": 295, "received_full": 0}
TSO_OFF = {"sent": 8357, "cut": 0, "sent_full": 8257, "checksum_left": 8356, "received_full": 0}
TX_OFF = {"sent": 8403, "cut": 0, "sent_full": 8241, "checksum_left": 0, "received_full": 0}
GRO_ON = {"into_gro": 8391, "into_gro_full": 8245, "received": 336, "received_full": 2}
GRO_OFF = {"into_gro": 0, "into_gro_full": 0, "received": 8357, "received_full": 8256}


def verdicts(counts, segments=42.75):
    return {name: acting.finding for name, acting in traffic.offloads(counts, segments).items()}


@pytest.mark.parametrize(
    "counts, offload, verdict",
    [
        (TSO_ON, "tso", "applied"),
        (TSO_OFF, "tso", "not applied"),
        ({**TSO_ON, "sent_full": 8000}, "tso", "partly applied"),
        ({"cut": 1, "sent_full": 5}, "tso", "not known"),
        (TSO_ON, "tx", "applied"),
        (TX_OFF, "tx", "not applied"),
        ({**TX_OFF, "checksum_left": 4000}, "tx", "partly applied"),
        ({}, "tx", "not known"),
        (GRO_ON, "gro", "applied"),
        (GRO_OFF, "gro", "packets go past GRO"),
        ({**GRO_ON, "received_full": 8200}, "gro", "not applied"),
        ({**GRO_ON, "received_full": 4000}, "gro", "partly applied"),
    ],
)
def test_what_an_offload_does(counts, offload, verdict):
    assert verdicts(counts)[offload] == verdict


def counted(counts=None, drops=(), **more):
    """Return what module traffic_info returns."""
    return {
        "seconds": 9.5,
        "devices": {
            "eth0": {"mtu": 1500, "same_name": 1, "packets_in": 10000, "packets_out": 10000}
        },
        "traced": {
            "devices": {"eth0": counts or TSO_ON},
            "segments": {"eth0": 42.75},
            "host": {"dropped": 5, "retransmitted": 0},
            "drops": list(drops),
            "by_namespace": False,
            "missing": [],
        },
        "errors": {},
        "cost": {
            "cpu_seconds": 0.05,
            "packet_seconds": 0.01,
            "counted_seconds": 9.5,
            "counters": 20,
            "cpus": 2,
        },
        "note": "",
        **more,
    }


def host(counts=None, drops=(), states=None, **more):
    return traffic.TracedHost("node1", counted(counts, drops, **more), {"eth0": states or {}})


def texts(node):
    return [sentence["text"] for sentence in traffic.suspicious(node)]


def test_a_wrong_checksum_is_suspicious_from_the_first_packet_on():
    drops = [{"reason": "TCP_CSUM", "place": "tcp_v4_rcv", "count": 1}]
    assert texts(host(drops=drops)) == [
        "node1: drops of the host: 1 of 1 in tcp_v4_rcv, reason TCP_CSUM (wrong TCP checksum). The rule: 1 or more."
    ]


def test_drops_of_a_path_need_more_and_ordinary_ones_are_not_named():
    few = {"reason": "NETFILTER_DROP", "place": "nft_do_chain", "count": 9}
    ordinary = {"reason": "NOT_SPECIFIED", "place": "tcp_v4_rcv", "count": 1315}
    assert texts(host(drops=[few, ordinary])) == []
    (sentence,) = texts(host(drops=[{**few, "count": 10}, ordinary]))
    assert "10 of 1325 in nft_do_chain, reason NETFILTER_DROP" in sentence
    forwarded = {"reason": "NOT_SPECIFIED", "place": "__dev_forward_skb2", "count": 20}
    assert "a packet above the MTU of the veth's peer" in texts(host(drops=[forwarded]))[0]


def test_an_offload_that_is_on_and_does_not_act():
    assert (
        "TSO is on, and acts on 0.00 % of the data" in texts(host(TSO_OFF, states={"tso": "on"}))[0]
    )
    assert texts(host(TSO_OFF, states={"tso": "off"})) == []
    assert "GRO is on, and acts on" in texts(host(GRO_OFF, states={"gro": "on"}))[0]


def test_packets_that_nothing_cuts_and_retransmits():
    (sentence,) = texts(host({**TSO_ON, "received_too_long": 3}))
    assert "3 packets came in above the MTU" in sentence
    node = host()
    node.counted["traced"]["host"]["retransmitted"] = 30
    assert "TCP retransmitted 30 segments; 296 packets were sent" in texts(node)[0]
    assert "UdpInCsumErrors rose by 4" in texts(host(errors={"UdpInCsumErrors": 4}))[0]


def test_a_name_that_others_have_and_a_kernel_that_allows_nothing():
    node = host()
    node.counted["devices"]["eth0"]["same_name"] = 3
    assert "3 network namespaces have a device of this name" in next(traffic.notes(node))["text"]
    nothing = host(traced=None, note="the kernel's tracepoints cannot be counted: no.")
    assert [item["text"] for item in traffic.notes(nothing)] == [
        f"node1: {nothing.counted['note']}"
    ]
    assert texts(nothing) == [] and "not known" in traffic.console([nothing], "hosts")


def test_the_report_in_all_its_forms():
    drops = [{"reason": "TCP_CSUM", "place": "tcp_v4_rcv", "count": 5}]
    features = {
        "tx-tcp-segmentation": {"active": True, "requested": True, "fixed": False},
    }
    hosts = {"node1": {"counted": counted(drops=drops), "read": {"eth0": {"features": features}}}}
    lines = report(hosts, "text", "my_hosts").splitlines()
    assert lines[0] == "node1: devices:"
    assert lines[-1].endswith("ansible-playbook -i my_hosts offload.lab.integrity")
    assert any("0.3" in row and "Cost: about 0.060 s of CPU time" in row for row in lines)
    page = report(hosts, "html")
    assert "<script" not in page and "TCP_CSUM" in page and "Quantity by quantity" not in page
    document = json.loads(report(hosts, "json"))
    assert document["hosts"]["node1"]["offloads"]["eth0"]["tso"]["finding"] == "applied"
    with pytest.raises(AnsibleFilterError, match="not a form of the report"):
        report(hosts, "pdf")


def test_a_host_that_could_not_be_read_is_left_out():
    assert "node1" not in report({"node1": {"counted": {"msg": "unreachable"}}})


@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.integers(0, 2**63),
    st.dictionaries(st.text(), st.integers(0)),
)
def test_hostile_texts_of_a_node_make_no_markup(reason, place, count, counts):
    drops = [{"reason": reason + "<b>", "place": place + "\n<script>", "count": count}]
    hosts = {"node1": {"counted": counted(counts, drops)}}
    page = report(hosts, "html")
    assert "<script>" not in page and "<b>" not in page
    assert not [row for row in report(hosts).split("\n") if CONTROL.search(row)]


def test_each_reason_has_a_meaning_in_words():
    assert all(meaning.text.strip(".") == meaning.text for meaning in drop_reasons.REASONS.values())
