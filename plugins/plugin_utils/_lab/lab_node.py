# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node has in the lab, from its variables, and what a tenant has that is a host, or a host
between the nodes that forwards their packets. Pure.

The variables have the names of role common without ``offload_lab_``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._lab.tenants_check import DEVICE, PORT, TenantOptions
from .._paths.lab_paths import FORWARDED, LAB, TENANT, USUAL_TUNNEL, Paths, add_forwarded
from .._paths.path import (
    FORWARDER,
    FORWARDERS,
    UNDERLAY,
    CampaignHost,
    Devices,
    End,
    Endpoints,
    Pair,
    PathDevice,
)
from . import guests, tenants, tunnels
from .guests import OTHERS, GuestPort, Homes
from .tunnels import InTunnel, Tunnel, TunnelPort, check_tunnel

Variables = Mapping[str, Any]
TYPES = {
    "str": (
        "underlay_device",
        "underlay_address",
        "tenant_network",
        "host_network",
        "flat_network",
        "bridged_network",
        "uplink_device",
        "datapath_active",
        "forwarding",
        "tunnel_type",
        "tunnel_network",
    ),
    "int": (
        "underlay_mtu",
        "tenant_mtu",
        "encapsulation",
        "index",
        "tenant_count",
        "vni",
        "vxlan_port",
        "tenant_vlan",
    ),
    "bool": ("tunnel_per_port", "tunnel_csum"),
    "list": ("more_ports", "tenants", "tunnel_remotes", "ends"),
}
# Each variable and its type, as Ansible checks them
VARIABLES: dict[str, dict[str, str]] = {}
for _type, _names in TYPES.items():
    VARIABLES.update((name, {"type": _type}) for name in _names)
# The classes of devices that the tunnel's packets meet
INNER_CLASSES = ("tenant", "tenant_port", "host", "host_port", "tunnel")


class Links(TypedDict):
    """Devices by the MTU that they have."""

    outer: list[PathDevice]  # the underlay's
    inner: list[PathDevice]  # what the tunnel leaves of it


class InLab(TypedDict):
    """What a node has in the lab."""

    tenants: list[TenantOptions]
    devices: Devices
    links: Links
    endpoints: Endpoints
    addresses: list[str]  # of the ends that the lab gives
    datapath: str
    guest_ports: Sequence[GuestPort]  # of tenants that are hosts of their own


class OnSwitch(TypedDict):
    """What a node's bridge needs for the tunnels."""

    vxlan_devices: list[Tunnel]
    ports: list[TunnelPort]
    uplink: list[GuestPort]
    bridge_end: BridgeAddress  # of the userspace datapath's own tunnels, else without an address


class BridgeAddress(TypedDict):
    """What the bridge's own device has, between whose addresses the packets of tunnels go."""

    address: str  # with its prefix length; "" for none
    tag: int | None  # VLAN inside the switch


def _tunnels(variables: Variables) -> int:
    """Return how many tunnels the lab makes: none on an existing network."""
    if variables.get("ends"):
        return 0
    return 1 + (len(variables["more_ports"]) if variables["tunnel_per_port"] else 0)


def tunnel_of(variables: Variables) -> InTunnel:
    """Return what kind of tunnel the lab has."""
    return InTunnel(
        variables.get("tunnel_type") or USUAL_TUNNEL,
        variables.get("tenant_vlan") or 0,
        bool(variables["tunnel_per_port"]),
        bool(variables["uplink_device"]),
    )


def tenants_of(variables: Variables, nodes: Sequence[str]) -> list[TenantOptions]:
    """Return the tenants of a node as module tenants takes them: given or planned ones; none where
    the paths belong to an existing network.
    """
    if variables.get("ends"):
        return []
    if variables.get("tenants") is not None:
        return list(variables["tenants"])
    flat_network = variables["flat_network"] if variables["uplink_device"] else ""
    return tenants.tenant_plan(
        variables["tenant_count"],
        variables["index"],
        len(nodes),
        variables["tenant_network"],
        variables["host_network"],
        flat=(flat_network, variables.get("underlay_mtu") or 0),
        bridged_network=variables["bridged_network"],
        tunnels=_tunnels(variables),
        vlan=tunnel_of(variables).vlan,
    )


def devices_of(
    variables: Variables,
    nodes: Sequence[str],
    datapath: str,
    ports: Sequence[GuestPort] = (),
    node: str = "",
    *,
    paths: Paths = LAB,
) -> Devices:
    """Return the devices of a node by class, as a lab with this datapath has them.

    ``ports`` are the ports of its guests, ``node`` is its name.
    """
    devices = _lab_devices(variables, tenants_of(variables, nodes), datapath, ports)
    paths.add_existing(node, {}, devices)
    return devices


def _lab_devices(
    variables: Variables,
    planned: Sequence[TenantOptions],
    datapath: str,
    ports: Sequence[GuestPort],
) -> Devices:
    more = [port["device"] for port in variables["more_ports"]]
    uplink = variables["uplink_device"]
    devices = tenants.devices(
        planned,
        variables["underlay_device"],
        datapath,
        [*more, uplink] if uplink else more,
        _tunnels(variables) if tunnel_of(variables).type == USUAL_TUNNEL else 0,
    )
    devices["tenant_port"] += [{"name": port["name"]} for port in ports]
    return devices


def links_of(
    planned: Sequence[TenantOptions], devices: Devices, ports: Sequence[GuestPort] = ()
) -> Links:
    """Return the devices that have the underlay's MTU (``outer``) and those that have what the
    tunnel leaves of it.
    """
    flat = {port["name"] for port in ports if port.get("tag") == tenants.FLAT_TAG}
    for tenant in planned:
        if tenant.get("flat"):
            flat |= {tenant["name"] + DEVICE, tenant["name"] + PORT}
    links: Links = {"outer": list(devices["underlay"]), "inner": []}
    for name in INNER_CLASSES:
        for device in devices[name]:
            links["outer" if device["name"] in flat else "inner"].append(device)
    return links


def ends_of(
    variables: Variables,
    nodes: Sequence[str],
    datapath: str,
    ports: Sequence[GuestPort] = (),
    node: str = "",
    *,
    paths: Paths = LAB,
) -> InLab:
    """Return what a node has in the lab: tenants, the ends of its paths, its devices, and which MTU
    these have.

    ``node`` is its name: existing paths have their ends and devices by it.
    """
    tunnel = tunnel_of(variables)
    if not variables.get("ends"):
        check_tunnel(tunnel, datapath)
    planned = tenants_of(variables, nodes)
    largest = variables["underlay_mtu"] - variables["encapsulation"]
    tenants.checked(planned, variables["tenant_mtu"], largest)
    devices = _lab_devices(variables, planned, datapath, ports)
    links = links_of(planned, devices, ports)
    more = [port["address"] for port in variables["more_ports"]]
    endpoints = tenants.endpoints(planned, variables["underlay_address"], more, tunnel.type)
    addresses = _all_addresses(endpoints)
    if variables.get("forwarding"):
        add_forwarded(endpoints)
    paths.add_existing(node, endpoints, devices)
    return {
        "tenants": planned,
        "devices": devices,
        "links": links,
        "endpoints": endpoints,
        "addresses": addresses,
        "datapath": datapath,
        "guest_ports": ports,
    }


def _all_addresses(endpoints: Endpoints) -> list[str]:
    addresses: list[str] = []
    for end in endpoints.values():
        addresses += [endpoint["address"] for endpoint in end.get("all", [end])]
    return addresses


def guest_ends_of(device: str, address: str, path: str, datapath: str) -> InLab:
    """Return what a tenant that is a host has in the lab: one device, and an end of one path."""
    of_tenants = [
        name
        for name, lab_path in LAB.by_name.items()
        if TENANT in lab_path.devices and name not in FORWARDED
    ]
    if path not in of_tenants:
        raise InputError(
            "not a path of tenants",
            f"offload_lab_tenant_path {path!r}",
            f"Use {', '.join(of_tenants)}.",
        )
    devices = guests.devices_of(device)
    end: End = {"netns": None, "address": address}
    inner = LAB.by_name[path].tunnelled
    return {
        "tenants": [],
        "devices": devices,
        "endpoints": {path: end},
        "addresses": [address],
        "datapath": datapath,
        "links": {
            "outer": [] if inner else devices[TENANT],
            "inner": devices[TENANT] if inner else [],
        },
        "guest_ports": [],
    }


def _addresses(variables: Variables, per_port: bool) -> list[str]:
    """Return a node's addresses on the underlay: the first, or one of each port."""
    more = (variables.get("offload_lab_more_ports") or []) if per_port else []
    return [variables.get("offload_lab_underlay_address"), *(port["address"] for port in more)]


def tunnels_of(
    variables: Variables, nodes: Sequence[str], node: str, hostvars: Mapping[str, Variables]
) -> OnSwitch:
    """Return the ports of a node's tunnels and uplink on its bridge, and the VXLAN devices that
    they need.
    """
    missing = [name for name in nodes if name not in hostvars]
    if missing or node not in nodes:
        raise InputError(
            "not a node of the lab", (missing or [node])[0], f"Use one of {', '.join(nodes)}."
        )
    datapath = variables["datapath_active"]
    tunnel = tunnel_of(variables)
    check_tunnel(tunnel, datapath)
    bridges = _bridge_ends(variables, nodes) if tunnel.is_own(datapath) else {}
    planned = tunnels.tunnels(
        _tunnel_ends(variables, nodes, hostvars, bridges),
        node,
        variables["vni"],
        remotes=variables.get("tunnel_remotes"),
        kind=tunnel.type,
    )
    port = variables["vxlan_port"]
    csum = variables["tunnel_csum"]
    uplink = variables["uplink_device"]
    return {
        "vxlan_devices": planned if tunnel.is_device(datapath) else [],
        "ports": tunnels.tunnel_ports(planned, datapath, port, csum, tunnel),
        "uplink": [{"name": uplink, "tag": tenants.FLAT_TAG}] if uplink else [],
        "bridge_end": {
            "address": bridges.get(node, ""),
            "tag": tenants.FLAT_TAG if bridges else None,
        },
    }


def _tunnel_ends(
    variables: Variables,
    nodes: Sequence[str],
    hostvars: Mapping[str, Variables],
    bridges: Mapping[str, str],
) -> dict[str, list[str]]:
    """Return by node the addresses of its tunnels: the bridges' addresses, or the underlay's."""
    if bridges:
        return {name: [end.partition("/")[0]] for name, end in bridges.items()}
    return {name: _addresses(hostvars[name], variables["tunnel_per_port"]) for name in nodes}


def _bridge_ends(variables: Variables, nodes: Sequence[str]) -> dict[str, str]:
    """Return by node the address that its bridge has."""
    network = tenants.network_of(variables["tunnel_network"], "offload_lab_tunnel_network")
    return {
        name: f"{tenants.address_in(network, number, name)}/{network.prefixlen}"
        for number, name in enumerate(nodes, 1)
    }


def forwarders_of(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the hosts of an inventory that forward."""
    return list(groups.get(FORWARDERS, ()))


def without_forwarders(hosts: Iterable[str], forwarders: Collection[str]) -> list[str]:
    """Return the hosts of a play that may be the ends of a pair."""
    return [host for host in hosts if host not in forwarders]


def forwarder_devices(names: Iterable[str]) -> Devices:
    """Return the devices of a forwarder by class: all of them are the underlay's."""
    empty: Devices = {name: [] for name in (*OTHERS, TENANT)}
    return {**empty, UNDERLAY: [{"name": name} for name in names]}


def forwarder_in_lab(names: Iterable[str], datapath: str, *, ours: bool) -> InLab:
    """Return what a forwarder has in the lab: devices, and no end of a path. Only the single-host
    lab's forwarder, ``ours``, gets the MTU of a campaign; an existing one keeps its MTU.
    """
    devices = forwarder_devices(names)
    return {
        "tenants": [],
        "devices": devices,
        "links": {"outer": devices[UNDERLAY] if ours else [], "inner": []},
        "endpoints": {},
        "addresses": [],
        "datapath": datapath,
        "guest_ports": [],
    }


def members_with_forwarders(
    pairs: Sequence[Pair], homes: Homes, forwarders: Iterable[str]
) -> dict[str, CampaignHost]:
    """Return what each host does in a campaign; no pair measures without the forwarders."""
    campaign_hosts = guests.members(pairs, homes)
    labels = [f"{pair['client']} {pair['server']}" for pair in pairs]
    hosts = list(campaign_hosts)
    for forwarder in forwarders:
        for host in hosts:
            campaign_hosts[host]["needed"].append(forwarder)
            campaign_hosts[host]["lost_without"][forwarder] = list(campaign_hosts[host]["partners"])
        lost_without = {host: _with(host, pairs) for host in hosts}
        campaign_hosts[forwarder] = {
            "member": True,
            "end": FORWARDER,
            "pairs": [],
            "partners": labels,
            "needed": hosts,
            "lost_without": lost_without,
            "elsewhere": [],
        }
    return campaign_hosts


def _with(host: str, pairs: Iterable[Pair]) -> list[str]:
    return [f"{pair['client']} {pair['server']}" for pair in pairs if host in pair.values()]
