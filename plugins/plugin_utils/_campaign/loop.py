# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of each host at a step: its partners, and the arguments of modules ethtool and visit. Pure.

A host is ready while it has the newest profile. Only ready hosts measure, because each trial is recorded
under the newest profile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from ...module_utils._base.network import VLAN_TAG
from ...module_utils._kinds.command_levels import Allowed, with_commands
from .._paths.path import UNDERLAY, CampaignHost, Devices, Endpoints, Pair
from .nouns import Settings

TIMESTAMPS = "net.ipv4.tcp_timestamps"
AS_FOUND = "as_found"  # the profile of design integrity that is the node's own state
APPLIED = "__offload_lab_applied"  # the variable of a host with the last result of module ethtool
PAYLOAD = ["PAYLOAD"]  # the tests of a campaign that only checks the payload
Results = dict[str, Any]  # {device: result of module ethtool}
Arguments = dict[str, Any]  # of a module


class VisitStep(TypedDict):
    """One step of a visit."""

    do: str  # "settings", "apply", "measure", or "visit" for both of these
    tasks: str  # the file of tasks of role measure
    block: int
    visit: int
    mtu: int
    profile: str
    new_mtu: bool
    pairs: list[Pair]  # that measure
    csum: NotRequired[dict[str, bool]]  # of step "settings": the tunnel's outer checksum, by end


class Applied(TypedDict):
    """The result of module ethtool at a host."""

    devices: Results
    cpu: NotRequired[dict[str, Any]]


@dataclass(frozen=True)
class HostFacts:
    """The facts of a host that a visit needs."""

    name: str
    devices: Devices
    endpoints: Endpoints = field(default_factory=dict)
    address: str = ""  # on the underlay
    probe_token: str = ""
    servers_token: str = ""
    applied: Applied | None = None  # None: the host does not have the newest profile


@dataclass(frozen=True)
class RoleOptions:
    """The options of role measure that each visit needs."""

    port: int  # of the servers
    probe_port: int
    evidence_seconds: float
    vxlan_port: int
    vni: int
    tenant_vlan: int
    uplink: str  # the client's device
    tunnel_by_uplink: bool
    protect: Sequence[str]
    allow_management_device: Sequence[str]
    commands: Allowed  # of the host


@dataclass(frozen=True)
class ClientFacts:
    """The facts of the client in the manifest."""

    timestamps: bool
    speed_mbps: int  # of the first link, 0 where none has a speed


@dataclass(frozen=True)
class PlanOfVisit:
    """The part of a plan that a visit needs."""

    plan_file: str
    record: str
    design: str
    tests: list[str]
    chunk_s: int
    profiles: Mapping[str, Settings]
    homes: Mapping[str, str]  # {guest: its node}
    forwarder: str


@dataclass(frozen=True)
class Work:
    """A step, with the plan and the options that all its hosts share."""

    plan: PlanOfVisit
    options: RoleOptions
    step: VisitStep


@dataclass(frozen=True)
class KeptSnapshot:
    """The snapshot of a node, and the campaign's lease on the node."""

    path: str
    devices: Sequence[Any]
    lease: str


def partners(member: CampaignHost, in_order: Collection[str]) -> list[str]:
    """Return the partners of a host that are ready; ``in_order`` are the hosts with the newest
    profile.
    """
    lost = set[str]()
    for host in member["needed"]:
        if host not in in_order:
            lost.update(member["lost_without"][host])
    return [partner for partner in member["partners"] if partner not in lost]


def in_order(hosts: Mapping[str, Applied | None]) -> list[str]:
    """Return the hosts with the newest profile."""
    return [name for name, applied in hosts.items() if applied is not None]


def awaited(member: CampaignHost, playing: Collection[str]) -> list[str]:
    """Return the hosts for whose profile a client waits before it measures."""
    return [name for name in member["needed"] if name in playing]


def applied_by(result: Mapping[str, Any]) -> Applied | None:
    """Return the settings in a result of module ethtool, None where it set nothing."""
    if "devices" not in result:
        return None
    applied: Applied = {"devices": result["devices"]}
    if "cpu" in result:
        applied["cpu"] = result["cpu"]
    return applied


def pairs_now(step: VisitStep, client: str, ready: Collection[str]) -> list[Pair]:
    """Return the pairs of a step in which a client measures with a ready server."""
    return [pair for pair in step["pairs"] if pair["client"] == client and pair["server"] in ready]


def applies(step: VisitStep) -> bool:
    """Return whether a step sets a profile."""
    return step["do"] in ("apply", "visit")


def measures(step: VisitStep) -> bool:
    """Return whether a step measures trials."""
    return step["do"] in ("measure", "visit")


def tasks_of(do: str, store: bool) -> str:
    """Return the file of tasks of a step; a results store needs more tasks at a visit."""
    return f"store_{do}" if store and do != "settings" else do


def profile_arguments(
    work: Work, member: CampaignHost, devices: Devices, kept: KeptSnapshot
) -> Arguments:
    """Return the arguments of module ethtool that set the step's profile at a host."""
    plan = work.plan
    options = work.options
    step = work.step
    if plan.design == "integrity" and step["profile"] == AS_FOUND:
        target: Arguments = {"devices": kept.devices}
    else:
        settings = plan.profiles[step["profile"]].get(member["end"], {})
        of_host = {
            name: kinds for name, kinds in settings.items() if name not in member["elsewhere"]
        }
        target = {"settings": with_commands(of_host, options.commands), "classes": devices}
    return {
        **target,
        "elsewhere": member["elsewhere"],
        "fixed": "report",
        "protect": list(options.protect),
        "allow_management_device": list(options.allow_management_device),
        "sign_of_life": True,
        "after_strike": plan.tests == PAYLOAD,
        "snapshot": kept.path,
        "lease": kept.lease,
    }


def visit_options(
    work: Work, conditions: ClientFacts, ends: tuple[str, str], hosts: Mapping[str, HostFacts]
) -> Arguments:
    """Return the options of module visit for a pair; ``ends`` are its client and its server."""
    plan = work.plan
    options = work.options
    step = work.step
    client, server = (hosts[name] for name in ends)
    arguments: Arguments = {
        "plan": plan.plan_file,
        "mtu": step["mtu"],
        "block": step["block"],
        "visit": step["visit"],
        "record": plan.record,
        "client": client.name,
        "server": server.name,
        "port": options.port,
        "chunk_seconds": plan.chunk_s,
        "endpoints": {"client": client.endpoints, "server": server.endpoints},
        "devices": {"client": client.devices, "server": server.devices},
        "token": server.servers_token,
        "probe": _probe(server, options.probe_port),
        "evidence": _evidence(plan, options, ends, hosts),
        "expect": _expected(plan, options, conditions, client, hosts),
    }
    if options.evidence_seconds > 0:
        arguments["sampling"] = _samples(plan, options)
    if plan.forwarder:
        between = hosts[plan.forwarder]
        arguments["forwarder"] = {
            "name": between.name,
            "devices": between.devices,
            **_probe(between, options.probe_port),
        }
    return arguments


def hosts_needed(plan: PlanOfVisit, ends: Iterable[str]) -> list[str]:
    """Return the hosts whose facts the visit of a pair needs: its ends, the nodes of guests, and the
    forwarder.
    """
    names = list(ends)
    names += [plan.homes[name] for name in names if plan.homes.get(name)]
    return list(dict.fromkeys([*names, *filter(None, [plan.forwarder])]))


def _probe(host: HostFacts, port: int) -> Arguments:
    return {"address": host.address, "port": port, "token": host.probe_token}


def _samples(plan: PlanOfVisit, options: RoleOptions) -> Arguments:
    """Return the options for the sampling of packets."""
    reverse = ["TCP_MAERTS"] if "TCP_MAERTS" in plan.tests else []
    return {
        "tests": ["TCP_STREAM", *reverse],
        "seconds": options.evidence_seconds,
        "vxlan_port": options.vxlan_port,
    }


def _underlay(host: HostFacts) -> list[str]:
    """Return a host's underlay devices. A guest has none: the lab cannot see the devices of its node."""
    return [device["name"] for device in host.devices.get(UNDERLAY, [])] or [""]


def _settings(host: HostFacts) -> Results:
    return host.applied["devices"] if host.applied else {}


def _evidence(
    plan: PlanOfVisit, options: RoleOptions, ends: tuple[str, str], hosts: Mapping[str, HostFacts]
) -> Arguments:
    """Return the facts of a visit that its evidence needs in addition to packets."""
    client, server = (hosts[name] for name in ends)
    homes = {
        end: plan.homes[host.name]
        for end, host in (("client", client), ("server", server))
        if plan.homes.get(host.name)
    }
    settings = {"client": _settings(client), "server": _settings(server)}
    if plan.forwarder:
        settings["forwarder"] = _settings(hosts[plan.forwarder])
    return {
        "settings": settings,
        "underlay": {"client": _underlay(client)[0], "server": _underlay(server)[0]},
        "uplink": {"client": options.uplink, "server": _underlay(server)[-1]},
        "tunnel_by_uplink": options.tunnel_by_uplink,
        "homes": homes,
        "home_settings": {end: hosts[name].applied for end, name in homes.items()},
    }


def _expected(
    plan: PlanOfVisit,
    options: RoleOptions,
    conditions: ClientFacts,
    client: HostFacts,
    hosts: Mapping[str, HostFacts],
) -> Arguments:
    """Return the expected values with which the guards compare each trial."""
    node = hosts[plan.homes.get(client.name) or client.name]
    by_ipv6 = [path for path, end in client.endpoints.items() if ":" in end["address"]]
    return {
        "vni": options.vni,
        "underlay_ip": 6 if ":" in node.address else 4,
        "ipv6_paths": by_ipv6,
        "tag": VLAN_TAG if options.tenant_vlan else 0,
        "timestamps": conditions.timestamps,
        "speed_mbps": conditions.speed_mbps,
    }
