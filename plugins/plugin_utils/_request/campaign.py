# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a lab can measure a campaign: its nodes, the ends of its paths, its MTUs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ...module_utils._base import network
from ...module_utils._base.errors import InputError
from ...module_utils._iproute.parse import Link
from ...module_utils._kinds.command_levels import GROUP, Allowed, with_commands
from ...module_utils._kinds.kind import NODE
from .._campaign.nouns import Campaign
from .._lab.guests import measuring
from .._paths.lab_paths import LAB, TENANT, USUAL_TENANT_PATH, Paths, Variables, paths_on
from .._paths.path import FORWARDER, UNDERLAY, VXLAN
from .variables import Problem

FEWEST_NODES = 2
LEAST_IP = {4: network.MIN_MTU, 6: network.MIN_MTU_IPV6}


def pairs_of(campaign: Campaign, nodes: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs that a campaign measures: its own, or the first two nodes."""
    return [(pair["client"], pair["server"]) for pair in campaign["pairs"]] or [
        (nodes[0], nodes[1])
    ]


def _too_few(
    playing: Sequence[str], group: Sequence[str], homes: Mapping[str, str]
) -> Iterator[str]:
    """Yield why these hosts give no pair."""
    if len(group) < FEWEST_NODES:
        yield f"a campaign needs two nodes, the inventory has {len(group)}."
    elif len(measuring(playing, homes)) < FEWEST_NODES <= len(playing):
        yield "a campaign needs two tenants that are hosts, or none. Name its pairs, or add one."
    elif len(playing) < FEWEST_NODES:
        left_out = [node for node in group if node not in playing]
        yield f"a campaign needs two nodes. Do not leave out {' or '.join(left_out)} with --limit."


def wrong_nodes(
    campaign: Campaign, playing: Sequence[str], group: Sequence[str], homes: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield what is wrong with the nodes of a campaign: ``group`` has all, ``playing`` those that
    --limit leaves.

    ``homes`` has the node of each of them that is a tenant.
    """
    where = f"campaign {campaign['name']}"
    for guest, node in homes.items():
        if guest in playing and node and node not in playing:
            yield Problem(
                where,
                f"{guest} is a tenant of {node}, whose settings are the campaign's, too. "
                f"Have {node} in the group lab_nodes, and do not leave it out with --limit.",
            )
    if not campaign["pairs"]:
        for what in _too_few(playing, group, homes):
            yield Problem(where, what)
        return
    for node in dict.fromkeys(chain.from_iterable(pairs_of(campaign, playing))):
        if node not in group:
            yield Problem(
                where,
                f"its pairs name {node}, which is not in the inventory. It has {', '.join(group)}.",
            )
        elif node not in playing:
            yield Problem(where, f"it measures {node}. Do not leave that out with --limit.")


def _most_tenants(campaign: Campaign) -> int:
    """Return how many tenants a workload of the campaign uses, of that which uses most."""
    return max(workload["tenants"] or 1 for workload in campaign["workloads"])


def wrong_guests(
    campaign: Campaign, guest: str, node: str, variables: Variables
) -> Iterator[Problem]:
    """Yield the paths, the tenants and the devices of a campaign that a tenant that is a host does
    not have.
    """
    mine = variables.get("offload_lab_tenant_path", USUAL_TENANT_PATH)
    for path in campaign["paths"]:
        if path != mine:
            yield Problem(
                guest,
                f"the campaign's path {path} has no end in this tenant, which has {mine}. Leave out "
                "the path, or name pairs of nodes for it in another campaign.",
            )
    if _most_tenants(campaign) > 1:
        yield Problem(
            guest, "a workload of the campaign uses several tenants, and this host is one. Use 1."
        )
    devices = chain.from_iterable(factor["devices"] for factor in campaign["factors"])
    others = [name for name in dict.fromkeys(devices) if name not in (TENANT, NODE)]
    if others and not node:
        yield Problem(
            guest,
            f"the campaign sets {' and '.join(others)} devices, which are this "
            "tenant's node's. Set offload_lab_tenant_of, or give the factors 'devices: [tenant]'.",
        )


def wrong_forwarder(campaign: Campaign, forwarders: Sequence[str]) -> Iterator[Problem]:
    """Yield why a campaign cannot vary what is set at the host between the nodes."""
    varied = [factor for factor in campaign["factors"] if FORWARDER in factor["sides"]]
    where = f"campaign {campaign['name']}"
    if varied and not forwarders:
        yield Problem(
            where,
            f"it sets {varied[0]['name']} at the forwarder, and the inventory has none. Add the host "
            "between the nodes to the group lab_forwarders, or use other 'sides'.",
        )
    if len(forwarders) > 1:
        yield Problem(
            where,
            f"the group lab_forwarders has {' and '.join(forwarders)}, and a campaign has one host "
            "between its nodes. Leave one.",
        )
    for factor in varied:
        if not {UNDERLAY, NODE} & set(factor["devices"]):
            yield Problem(
                where,
                f"{factor['name']} is for {' and '.join(factor['devices'])} devices, and a "
                "forwarder has underlay devices alone. Give it 'devices: [underlay]'.",
            )


def _behind_nat(
    campaign: Campaign, node: str, variables: Variables, paths: Paths
) -> Iterator[Problem]:
    """Yield the paths of a campaign whose tunnel does not get through NAT."""
    if variables.get("offload_lab_forwarding") != "nat":
        return
    for path in campaign["paths"]:
        if paths.named(path).tunnelled:
            yield Problem(
                node,
                f"the campaign's path {path} does not get through NAT: the outer packets of its tunnel "
                "come from an address that the other end does not know. Leave out the path, or have "
                "the forwarder route.",
            )


def wrong_paths(
    campaign: Campaign, node: str, variables: Variables, paths: Paths = LAB
) -> Iterator[Problem]:
    """Yield the paths of a campaign that have no end at a node, and workloads with more tenants
    than the node has.
    """
    by_name = paths.by_name
    there = paths_on(variables)
    behind_nat = list(_behind_nat(campaign, node, variables, paths))
    yield from behind_nat
    if behind_nat:
        return
    for path in campaign["paths"]:
        if path not in there and node not in by_name[path].nodes:
            needed = f"Set {by_name[path].needs}, or leave" if by_name[path].needs else "Leave"
            yield Problem(
                node, f"the campaign's path {path} has no end here. {needed} out the path."
            )
    uses_several = any(by_name[path].several for path in campaign["paths"])
    if variables.get("offload_lab_tenants") or not uses_several:
        return
    tenants = int(variables.get("offload_lab_tenant_count", 1))
    most = _most_tenants(campaign)
    if 0 < tenants < most:
        yield Problem(
            node,
            f"a workload of the campaign uses {most} tenants, the node has {tenants}. "
            f"Set offload_lab_tenant_count: {most}.",
        )


def wrong_commands(
    campaign: Campaign, host: str, end: str, variables: Variables
) -> Iterator[Problem]:
    """Yield the commands of a campaign that a host, which is this end, does not define or allow."""
    allowed = Allowed(
        host,
        variables.get("offload_lab_commands") or {},
        variables.get("offload_lab_allow_commands") or [],
    )
    for factor in campaign["factors"]:
        here = factor["kind"] == GROUP and end in factor["sides"]
        for name in factor["settings"] if here else ():
            try:
                for level in factor["values"].values():
                    with_commands({NODE: {GROUP: {name: level}}}, allowed)
            except InputError as error:
                yield Problem(str(error.where), f"{error.what}. {error.to_do}")


def wrong_mtus(campaign: Campaign, node: str, address: str, link: Link) -> Iterator[Problem]:
    """Yield the MTUs that an underlay device, as :func:`.parse.parse_links` has it, cannot
    have.

    What the tunnel leaves of it must still carry IP.
    """
    version = 6 if ":" in address else 4
    least = max(LEAST_IP[4] + VXLAN.overhead[version], LEAST_IP[version])
    most = link.get("max_mtu") or network.MAX_MTU
    for mtu in campaign["mtus"]:
        if not least <= mtu <= most:
            yield Problem(
                node, f"{link['name']} cannot have the campaign's MTU {mtu}. Use {least} to {most}."
            )
