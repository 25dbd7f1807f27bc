# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what a node has in the lab, from its variables; names are those of role common without
``offload_lab_``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._lab.tenants_check import DEVICE, PORT
from . import plan
from .nouns import (
    Device,
    Devices,
    Endpoints,
    Links,
    Port,
    Tenant,
    Tunnel,
)

Variables = Mapping[str, Any]
VARIABLES: dict[str, dict[str, str]] = {
    **{
        name: {"type": "str"}
        for name in (
            "underlay_device",
            "underlay_address",
            "tenant_network",
            "host_network",
            "flat_network",
            "bridged_network",
            "uplink_device",
            "datapath_active",
        )
    },
    **{
        name: {"type": "int"}
        for name in (
            "underlay_mtu",
            "tenant_mtu",
            "encapsulation",
            "index",
            "tenant_count",
            "vni",
            "vxlan_port",
        )
    },
    **{name: {"type": "bool"} for name in ("tunnel_per_port", "tunnel_csum")},
    **{name: {"type": "list"} for name in ("more_ports", "tenants", "tunnel_remotes")},
}
INNER = (
    "tenant",
    "tenant_port",
    "host",
    "host_port",
    "tunnel",
)  # classes of devices that the tunnel's packets meet


class InLab(TypedDict):
    """What a node has in the lab."""

    tenants: list[Tenant]
    devices: Devices
    links: Links
    endpoints: Endpoints
    addresses: list[str]  # of the ends of all paths
    datapath: str
    guest_ports: Sequence[Port]  # of tenants that are hosts of their own


def _tunnels(variables: Variables) -> int:
    return 1 + (len(variables["more_ports"]) if variables["tunnel_per_port"] else 0)


def tenants_of(variables: Variables, nodes: Sequence[str]) -> list[Tenant]:
    """Return the tenants of a node as module tenants takes them: those that are given, or planned
    ones.
    """
    if variables.get("tenants") is not None:
        return list(variables["tenants"])
    flat_network = variables["flat_network"] if variables["uplink_device"] else ""
    return plan.tenant_plan(
        variables["tenant_count"],
        variables["index"],
        len(nodes),
        variables["tenant_network"],
        variables["host_network"],
        flat=(flat_network, variables.get("underlay_mtu") or 0),
        bridged_network=variables["bridged_network"],
        tunnels=_tunnels(variables),
    )


def devices_of(
    variables: Variables, nodes: Sequence[str], datapath: str, guests: Sequence[Port] = ()
) -> Devices:
    """Return the devices of a node by class, as a lab with this datapath and these ports of guests
    has them.
    """
    more = [port["device"] for port in variables["more_ports"]]
    found = plan.devices(
        tenants_of(variables, nodes),
        variables["underlay_device"],
        datapath,
        [*more, *filter(None, [variables["uplink_device"]])],
        _tunnels(variables),
    )
    found["tenant_port"] += [{"name": port["name"]} for port in guests]
    return found


def links_of(tenants: Sequence[Tenant], devices: Devices, guests: Sequence[Port] = ()) -> Links:
    """Return the devices that have the underlay's MTU (``outer``) and those that have what the
    tunnel leaves of it.
    """
    flat = {
        tenant["name"] + part for tenant in tenants if tenant.get("flat") for part in (DEVICE, PORT)
    }
    flat |= {port["name"] for port in guests if port.get("tag") == plan.FLAT_TAG}
    inner: list[Device] = [device for name in INNER for device in devices[name]]
    return {
        "outer": devices["underlay"] + [device for device in inner if device["name"] in flat],
        "inner": [device for device in inner if device["name"] not in flat],
    }


def ends_of(
    variables: Variables, nodes: Sequence[str], datapath: str, guests: Sequence[Port] = ()
) -> InLab:
    """Return what a node has in the lab: tenants, the ends of its paths, its devices, and which MTU
    these have.
    """
    tenants = tenants_of(variables, nodes)
    plan.checked(
        tenants, variables["tenant_mtu"], variables["underlay_mtu"] - variables["encapsulation"]
    )
    devices = devices_of(variables, nodes, datapath, guests)
    more = [port["address"] for port in variables["more_ports"]]
    endpoints = plan.endpoints(tenants, variables["underlay_address"], more)
    addresses = [one["address"] for end in endpoints.values() for one in end.get("all", [end])]
    return {
        "tenants": tenants,
        "devices": devices,
        "links": links_of(tenants, devices, guests),
        "endpoints": endpoints,
        "addresses": addresses,
        "datapath": datapath,
        "guest_ports": guests,
    }


def _addresses(variables: Variables, per_port: bool) -> list[str]:
    """Return a node's addresses on the underlay: the first, or that of each port."""
    more = (variables.get("offload_lab_more_ports") or []) if per_port else []
    return [variables.get("offload_lab_underlay_address"), *(port["address"] for port in more)]


def tunnels_of(
    variables: Variables, nodes: Sequence[str], node: str, hostvars: Mapping[str, Variables]
) -> dict[str, list[Tunnel] | list[dict[str, Any]]]:
    """Return the ports of a node's tunnels and uplink on its bridge, and the VXLAN devices that
    they need.
    """
    datapath, uplink = variables["datapath_active"], variables["uplink_device"]
    missing = [name for name in nodes if name not in hostvars]
    if missing or node not in nodes:
        raise InputError(
            "not a node of the lab", (missing or [node])[0], f"The group has {', '.join(nodes)}."
        )
    ends = {name: _addresses(hostvars[name], variables["tunnel_per_port"]) for name in nodes}
    tunnels = plan.tunnels(ends, node, variables["vni"], remotes=variables.get("tunnel_remotes"))
    ports = plan.tunnel_ports(
        tunnels,
        datapath,
        variables["vxlan_port"],
        variables["tunnel_csum"],
        tag=0 if uplink else None,
    )
    return {
        "vxlan_devices": tunnels if datapath == "netdev" else [],
        "ports": ports,
        "uplink": [{"name": uplink, "tag": plan.FLAT_TAG}] if uplink else [],
    }
