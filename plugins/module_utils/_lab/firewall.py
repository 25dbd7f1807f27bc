# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that let the lab's traffic in: in a chain of nftables, or as rich rules of firewalld until
its next reload.

Ours are recognised by their comment in nftables, and in firewalld by a priority that nobody else
has. Others are left alone.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import re
from typing import Dict, NamedTuple, Sequence, Union

from .._base import network
from .._base.errors import CommandError, InputError
from .._host.runner import run

COMMENT = "offload.lab "
PRIORITY = -4789
GRE = "gre"  # IP protocol 47
# The UDP ports of the other tunnels than VXLAN; GRE has none.
TUNNEL_PORTS = {"geneve": network.GENEVE_PORT, GRE: None}
CHAIN = re.compile(r"(ip|ip6|inet) ([A-Za-z_][\w-]*) ([A-Za-z_][\w-]*)\Z", re.ASCII)


Handles = Dict[str, Union[int, str]]  # of our rules, by the rule as text


class Rule(NamedTuple):
    """What is let in: from where, TCP, UDP or GRE, and to which ports, such as ``4789`` or
    ``12865-14869``; GRE has none.
    """

    source: str
    protocol: str
    ports: str

    @property
    def family(self) -> int:
        return ipaddress.ip_network(self.source).version

    def __str__(self) -> str:
        what = f"{self.protocol} {self.ports}" if self.ports else self.protocol
        return f"{what} from {self.source}"


def wanted(
    sources: Sequence[str], netperf_port: int, probe_port: int, vxlan_port: int | None
) -> list[Rule]:
    """Return the rules of a node: control and data connections of netperf, the probe, and the
    tunnel; that is GRE where it has no UDP port.
    """
    last = netperf_port + network.DATA_OFFSET + network.MOST_STREAMS - 1
    ports = [
        ("tcp", f"{netperf_port}-{last}"),
        ("udp", f"{netperf_port}-{last}"),
        ("udp", str(vxlan_port)) if vxlan_port else (GRE, ""),
    ]
    if not netperf_port <= probe_port <= last:
        ports.append(("tcp", str(probe_port)))
    return [Rule(_source(source), *pair) for source, pair in itertools.product(sources, ports)]


def _source(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text)).replace("/32", "").replace("/128", "")
    except ValueError as error:
        raise InputError(
            str(error), "sources", "Give addresses, or networks as 192.168.0.0/24."
        ) from None


class Nftables:
    """Rules in one chain, at its beginning: an accept in a chain of our own would not keep another
    from dropping.
    """

    def __init__(self, chain: str) -> None:
        if not CHAIN.match(chain):
            raise InputError(
                "not a chain of nftables",
                repr(chain),
                "Give family, table and chain: inet filter input.",
            )
        self.chain = chain.split()

    def read(self, missing_ok: bool = False) -> Handles:
        """Return ``{rule as text: handle}`` of ours; with ``missing_ok`` none where the chain is
        gone.
        """
        try:
            listed = json.loads(run(["nft", "--json", "list", "chain", *self.chain]).out)[
                "nftables"
            ]
        except CommandError as error:
            if missing_ok:
                return {}
            raise InputError(
                f"cannot be read ({error})",
                f"chain {' '.join(self.chain)}",
                "Set offload_lab_firewall_chain to the chain that your rule set has for input: nft list "
                "ruleset.",
            ) from None
        rules = [row["rule"] for row in listed if "rule" in row]
        return {
            rule["comment"][len(COMMENT) :]: rule["handle"]
            for rule in rules
            if rule.get("comment", "").startswith(COMMENT)
        }

    def add(self, rule: Rule) -> list[str]:
        family = "ip" if rule.family == 4 else "ip6"
        match = [rule.protocol, "dport", rule.ports] if rule.ports else ["meta", "l4proto", GRE]
        return [
            "nft",
            "insert",
            "rule",
            *self.chain,
            family,
            "saddr",
            rule.source,
            *match,
            "accept",
            "comment",
            f'"{COMMENT}{rule}"',
        ]

    def remove(self, _rule: str, handle: int | str) -> list[str]:
        return ["nft", "delete", "rule", *self.chain, "handle", str(handle)]


class Firewalld:
    """Rich rules of the zone of a device, at run time: they are gone after a reload."""

    def __init__(self, device: str) -> None:
        device = network.device_name(device)
        zone = run(["firewall-cmd", f"--get-zone-of-interface={device}"], check=False).out.strip()
        self.zone = zone or run(["firewall-cmd", "--get-default-zone"]).out.strip()

    def read(self, missing_ok: bool = False) -> Handles:
        """Return ``{rule as text: rich rule}`` of ours; a zone is always there."""
        listed = run(["firewall-cmd", f"--zone={self.zone}", "--list-rich-rules"]).out.splitlines()
        handles: Handles = {}
        for line in listed:
            fields = dict(re.findall(r'(\w+)="([^"]*)"', line))
            if fields.get("priority") == str(PRIORITY):
                protocol = fields.get("protocol") or fields.get("value", "")
                rule = Rule(fields.get("address", ""), protocol, fields.get("port", ""))
                handles[str(rule)] = line.strip()
        return handles

    def add(self, rule: Rule) -> list[str]:
        match = f'port port="{rule.ports}" protocol="{rule.protocol}"'
        if not rule.ports:
            match = f'protocol value="{rule.protocol}"'
        text = (
            f'rule priority="{PRIORITY}" family="ipv{rule.family}" source address="{rule.source}" '
            f"{match} accept"
        )
        return ["firewall-cmd", f"--zone={self.zone}", f"--add-rich-rule={text}"]

    def remove(self, _rule: str, handle: int | str) -> list[str]:
        return ["firewall-cmd", f"--zone={self.zone}", f"--remove-rich-rule={handle}"]


def plan(
    firewall: Nftables | Firewalld, handles: Handles, rules: Sequence[Rule]
) -> list[list[str]]:
    """Return the commands that make ours what is wanted; in a chain the first rule is the one
    inserted last.
    """
    texts = [str(rule) for rule in rules]
    surplus = [
        firewall.remove(text, handle) for text, handle in handles.items() if text not in texts
    ]
    return surplus + [firewall.add(rule) for rule in rules if str(rule) not in handles]
