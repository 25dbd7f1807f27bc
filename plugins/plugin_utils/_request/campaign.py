# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a lab can measure a campaign: its nodes, the ends of its paths, its MTUs; and with which engines. Pure.

What the present features of devices change in a campaign before it is planned. Pure.

A screen, a search and a check of the payload leave out the factors that the hardware cannot vary.
Their visits are few, and each profile differs in many factors: one that nothing can change would
cost visits and show nothing. Other designs keep such a factor: the plan warns of it, and its
verdict says ``unsupported``.

A check of the payload also visits the state of the hosts as found, as a profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

from ...module_utils._base import network
from ...module_utils._base.errors import InputError
from ...module_utils._engines.engines import candidates, engine_named
from ...module_utils._engines.payload.result import TEST as PAYLOAD
from ...module_utils._engines.sockets.sockets import Sockets
from ...module_utils._engines.workload import engines_of
from ...module_utils._ethtool.features import Feature, resolve
from ...module_utils._iproute.parse import Link
from ...module_utils._kinds.command_levels import GROUP, Allowed, with_commands
from ...module_utils._kinds.kind import NODE
from .._campaign.interim import INTEGRITY
from .._campaign.nouns import AS_FOUND, MIXED, UNKNOWN, Campaign, Factor, Plan
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


class Engines(NamedTuple):
    """The engines of a play."""

    engine: str  # makes the load of a campaign that names none; "auto" before the nodes are read
    needed: list[str]


def engines_needed(engine: str, campaign: Campaign | None, has_lab: bool) -> Engines:
    """Return the engines that the nodes need, where ``engine`` is offload_lab_engine.

    A lab runs the server of that engine all the time. Without a lab, only the campaign counts, and
    a campaign that checks nothing but the payload needs Python alone.
    """
    named = engines_of(campaign["workloads"]) if campaign else []
    if has_lab or campaign is None:
        return Engines(engine, list(dict.fromkeys([*candidates(engine), *named])))
    return Engines(Sockets.name if tests_path(campaign) else engine, named)


def tests_path(campaign: Campaign) -> bool:
    """Return whether a campaign checks the payload and nothing else."""
    return all(load["test"] == PAYLOAD for load in campaign["workloads"])


def available(engine: str, programs: Iterable[Mapping[str, str | None]]) -> str:
    """Return the engine that offload_lab_engine stands for: of the candidates the first whose
    programs no node lacks, else the last. ``programs`` has of each node ``{name: path}``.
    """
    names = candidates(engine)
    missing: set[str] = set()
    for node in programs:
        missing.update(name for name, path in node.items() if path is None)
    able = [name for name in names if missing.isdisjoint(engine_named(name).programs())]
    return able[0] if able else names[-1]


def with_as_found(
    campaign: Campaign, nodes: Sequence[DevicesAndFeatures], old: Plan | None
) -> Campaign:
    """Return a campaign of design integrity with the levels that its factors have as found.

    ``old`` is the plan of a campaign that goes on: its state stays, because the hosts may be in
    another one now. Only features can be read, so a campaign with another kind of factor stays
    unchanged.
    """
    factors = campaign["factors"]
    if campaign["design"] != INTEGRITY or any(factor["kind"] != "feature" for factor in factors):
        return campaign
    if old:
        planned = old["profiles"].get(AS_FOUND)
        return {**campaign, "as_found": planned["levels"]} if planned else campaign
    if not any(readings for _classes, readings in nodes):
        return campaign
    return {
        **campaign,
        "as_found": {factor_read["name"]: _level(factor_read, nodes) for factor_read in factors},
    }


def _level(factor: Factor, nodes: Sequence[DevicesAndFeatures]) -> str:
    """Return the level that a factor has at the devices that can vary it."""
    states = set[bool]()
    for device, features in devices_read(factor, nodes):
        states |= _states(factor, features, device)
    if len(states) == 1:
        return factor["levels"][-1 if True in states else 0]
    return MIXED if states else UNKNOWN


def _states(factor: Factor, features: dict[str, Feature], device: str) -> set[bool]:
    """Return whether a factor is on at a device; nothing where the device cannot vary it."""
    try:
        bits = set(
            chain.from_iterable(resolve(name, features, device) for name in factor["settings"])
        )
    except InputError:
        return set()
    active = {features[bit]["active"] for bit in bits if not features[bit]["fixed"]}
    return {any(active)} if active else set()


DESIGNS = ("screen", "search", "integrity")
# A node: its devices by class, and what module ethtool_info returned of them, by name or
# netns/name.
DevicesAndFeatures = tuple[
    Mapping[str, Sequence[Mapping[str, Any]]], Mapping[str, Mapping[str, Any]]
]


def devices_read(
    factor: Factor, nodes: Iterable[DevicesAndFeatures]
) -> Iterator[tuple[str, dict[str, Feature]]]:
    """Yield ``(name, features)`` of each device that a factor is for and that was read."""
    for classes, readings in nodes:
        for group in factor["devices"]:
            for device in classes.get(group) or ():
                key = network.key_of(device)
                if (readings.get(key) or {}).get("features"):
                    yield key, readings[key]["features"]


def _can_vary(factor: Factor, features: dict[str, Feature], device: str) -> bool:
    try:
        bits = [resolve(name, features, device) for name in factor["settings"]]
    except InputError:
        return True  # reported elsewhere: the task that sets it names the feature and similar ones
    return any(not features[bit]["fixed"] for bit in chain.from_iterable(bits))


def fixed(factor: Factor, nodes: Sequence[DevicesAndFeatures]) -> str | None:
    """Return why a factor cannot be varied on any of the devices that were read, or None."""
    if factor["kind"] != "feature":
        return None
    devices = list(devices_read(factor, nodes))
    if not devices or any(_can_vary(factor, features, device) for device, features in devices):
        return None
    return f"it is fixed on {', '.join(dict.fromkeys(device for device, _features in devices))}"


def warnings(campaign: Campaign, nodes: Sequence[DevicesAndFeatures]) -> Iterator[str]:
    """Yield what a plan warns of that keeps factors although they cannot be varied, one sentence
    each.
    """
    reasons = {factor["name"]: fixed(factor, nodes) for factor in campaign["factors"]}
    for name, reason in reasons.items():
        if reason:
            yield f"{name} cannot be varied: {reason}. What needs it is measured without it, and not compared."
    if reasons and all(reasons.values()):
        yield "No factor can be varied here, so the report will compare nothing."


def without_fixed(
    campaign: Campaign, nodes: Sequence[DevicesAndFeatures], planned: Mapping[str, str] | None
) -> Campaign:
    """Return the campaign without the factors that cannot be varied; they are in ``untestable``
    with the reason.

    ``planned`` is ``untestable`` of an existing plan: its choice stays.
    """
    if campaign["design"] not in DESIGNS:
        return campaign
    reason_of = {
        factor["name"]: fixed(factor, nodes) if planned is None else planned.get(factor["name"])
        for factor in campaign["factors"]
    }
    reasons = {name: reason for name, reason in reason_of.items() if reason}
    varied = [factor for factor in campaign["factors"] if factor["name"] not in reasons]
    if not varied:
        listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        raise InputError(
            f"no factor can be varied here ({listed})",
            f"campaign {campaign['name']}",
            "Give factors that 'ethtool -k' does not call fixed, or other devices.",
        )
    return cast(
        Campaign,
        {**campaign, "factors": varied, "untestable": {**campaign["untestable"], **reasons}},
    )
