# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drops of a trial, from the readings of both ends to the words of a report."""

from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._observe.drop_places import counter_of
from ansible_collections.offload.lab.plugins.plugin_utils._trials import damage, drop_reasons

CHECKSUM = counter_of("TCP_CSUM", "tcp_v4_rcv")
HIDDEN = counter_of("UDP_CSUM", "")  # the kernel hides its addresses
FIREWALL = counter_of("NETFILTER_DROP", "nf_hook_slow")
ORDINARY = counter_of("TCP_OLD_ACK", "tcp_ack")


def trial(**damage_of_ends):
    ends = {end: {"counters": counters} for end, counters in damage_of_ends.items()}
    return {"client": "node1", "server": "node2", "damage": ends}


def test_a_drop_that_an_earlier_reading_does_not_have_began_at_0():
    before, after = {"errors": {"TcpInErrs": 1}}, {"errors": {"TcpInErrs": 1, CHECKSUM: 5}}
    watched = {"server": [before, after]}
    assert damage.damage_of(watched) == {"server": {"counters": {CHECKSUM: 5}}}
    watched["server"] = [after, {"errors": {CHECKSUM: 7}}]
    assert damage.damage_of(watched) == {"server": {"counters": {CHECKSUM: 2}}}


def test_drops_are_named_by_node_where_their_reason_names_a_fault():
    drops = drop_reasons.dropped_of(
        trial(server={CHECKSUM: 5, ORDINARY: 9, "TcpInCsumErrors": 5}, client={})
    )
    assert drops == {"node2 TCP_CSUM tcp_v4_rcv": 5}
    assert drop_reasons.in_words("node2 TCP_CSUM tcp_v4_rcv") == (
        "Packets were lost at node2 in tcp_v4_rcv, reason TCP_CSUM (wrong TCP checksum)"
    )


def test_a_place_that_the_kernel_hides():
    (key,) = drop_reasons.dropped_of(trial(client={HIDDEN: 2, "UdpInCsumErrors": 2}))
    assert drop_reasons.in_words(key) == (
        "Packets were lost at node1, reason UDP_CSUM (wrong UDP checksum)"
    )


def test_ends_of_one_kernel_count_the_same_drops_once():
    drops = drop_reasons.dropped_of(trial(client={FIREWALL: 5}, server={FIREWALL: 5}))
    assert drops == {"node1 or node2 NETFILTER_DROP nf_hook_slow": 5}


def test_the_counters_of_a_namespace_name_the_end_that_lost_packets():
    both = {"client": {CHECKSUM: 9}, "server": {CHECKSUM: 9, "TcpInCsumErrors": 5}}
    assert drop_reasons.dropped_of(trial(**both)) == {"node2 TCP_CSUM tcp_v4_rcv": 5}


def test_wrong_checksums_of_other_namespaces_are_nobodys():
    assert (
        drop_reasons.dropped_of(trial(client={CHECKSUM: 4}, server={CHECKSUM: 4, HIDDEN: 1})) == {}
    )


def test_a_trial_without_damage():
    assert drop_reasons.dropped_of({"client": "node1", "server": "node2"}) == {}
