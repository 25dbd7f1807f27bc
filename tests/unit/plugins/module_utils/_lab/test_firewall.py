# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._host.runner import CommandResult
from ansible_collections.offload.lab.plugins.module_utils._lab import firewall

PORTS = (12865, 12866, 4789)
FOREIGN = {"rule": {"handle": 3, "comment": "somebody's", "expr": []}}
OURS = {"rule": {"handle": 7, "comment": "offload.lab udp 4789 from 198.18.0.9", "expr": []}}
RICH = """\
rule family="ipv4" source address="198.18.0.2" port port="4789" protocol="udp" accept
rule priority="-4789" family="ipv4" source address="198.18.0.2" port port="4789" protocol="udp" accept
"""


@pytest.fixture
def answers(monkeypatch):
    """Answer commands by their last word."""
    texts = {
        "input": json.dumps({"nftables": [{"chain": {}}, FOREIGN, OURS, {"rule": {"handle": 4}}]}),
        "--get-zone-of-interface=eth1": "trusted\n",
        "--list-rich-rules": RICH,
    }
    monkeypatch.setattr(
        firewall, "run", lambda argv, **_options: CommandResult(argv, 0, texts[argv[-1]], "")
    )
    return texts


def test_ports_of_a_node():
    rules = firewall.wanted(["198.18.0.2", "192.168.0.0/24"], *PORTS)
    assert [str(rule) for rule in rules[:3]] == [
        "tcp 12865-14869 from 198.18.0.2",
        "udp 12865-14869 from 198.18.0.2",
        "udp 4789 from 198.18.0.2",
    ]
    assert len(rules) == 6
    assert "tcp 99 from 198.18.0.2" in [
        str(rule) for rule in firewall.wanted(["198.18.0.2"], 12865, 99, 4789)
    ]


def test_gre_is_let_in_as_a_protocol(answers):
    rule = firewall.wanted(["fd00::2"], 12865, 12866, firewall.TUNNEL_PORTS["gre"])[-1]
    assert str(rule) == "gre from fd00::2"
    assert " ".join(firewall.Nftables("inet filter input").add(rule)) == (
        "nft insert rule inet filter input ip6 saddr fd00::2 meta l4proto gre accept comment "
        '"offload.lab gre from fd00::2"'
    )
    added = firewall.Firewalld("eth1").add(rule)[-1].split("=", 1)[1]
    assert added == (
        'rule priority="-4789" family="ipv6" source address="fd00::2" protocol value="gre" accept'
    )
    answers["--list-rich-rules"] = added + "\n"
    assert list(firewall.Firewalld("eth1").read()) == ["gre from fd00::2"]


def test_nftables_changes_our_rules_only(answers):
    chain = firewall.Nftables("inet filter input")
    rules = firewall.wanted(["fd00::2"], *PORTS)[-1:]
    assert [" ".join(line) for line in firewall.plan(chain, chain.read(), rules)] == [
        "nft delete rule inet filter input handle 7",
        "nft insert rule inet filter input ip6 saddr fd00::2 udp dport 4789 accept comment "
        '"offload.lab udp 4789 from fd00::2"',
    ]


def test_firewalld_knows_ours_by_the_priority(answers):
    zone = firewall.Firewalld("eth1")
    rules = firewall.wanted(["198.18.0.2"], *PORTS)
    assert [line[-1].split()[6:8] for line in firewall.plan(zone, zone.read(), rules)] == [
        ['port="12865-14869"', 'protocol="tcp"'],
        ['port="12865-14869"', 'protocol="udp"'],
    ]
    [removed] = firewall.plan(zone, zone.read(), [])
    assert removed == [
        "firewall-cmd",
        "--zone=trusted",
        "--remove-rich-rule=" + RICH.splitlines()[1],
    ]


@pytest.mark.parametrize("chain", ["input", "inet filter input; flush ruleset", "inet filter"])
def test_a_chain_that_is_none_is_refused(chain):
    with pytest.raises(InputError, match="not a chain of nftables"):
        firewall.Nftables(chain)


def test_a_source_that_is_none_is_refused():
    with pytest.raises(InputError, match="sources"):
        firewall.wanted(["node2"], *PORTS)
