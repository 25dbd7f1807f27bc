# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tenants of a node, and what follows from them: its ends of paths and its devices. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

from ...module_utils._base import checks
from ...module_utils._base.errors import InputError
from ...module_utils._lab.tenants_check import (
    DEVICE,
    INNER,
    LINUX_BRIDGE,
    OUTER,
    PORT,
    NeighborOptions,
    TenantOptions,
    wanted_tenants,
)
from .._paths.lab_paths import LAB_PATHS, USUAL_TUNNEL, path_of, paths_with
from .._paths.path import Devices, End, Endpoints, PathDevice

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# The VLAN inside the switch that keeps the tenants of the flat uplink apart from the tunnel
FLAT_TAG = 20
# With several tunnels of a pair, tunnel n and its tenants are in VLAN 30 + n; the first is in none
TUNNEL_TAG = 30


def mac_of(address: Address) -> str:
    """Return a local unicast MAC address that follows from the IP address, so a recreated tenant
    keeps it.
    """
    return ":".join(f"{byte:02x}" for byte in (2, address.version) + tuple(address.packed[-4:]))


def network_of(text: str, what: str) -> Network:
    """Return a network, or raise InputError; ``what`` is the variable that has it."""
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(
            f"not a network ({error})", f"{what} {text!r}", "Write it as 192.168.10.0/24."
        ) from None


def _room(network: Network) -> int:
    """Return how many hosts a network has addresses for."""
    return network.num_addresses - (2 if network.version == 4 else 1)


def address_in(network: Network, number: int, name: str) -> Address:
    """Return the address ``number`` (from 1) of a network."""
    room = _room(network)
    if number > room:
        raise InputError(
            f"the network has {room} addresses, {name} would need number {number}",
            str(network),
            "Widen the network of offload_lab_*_network, or plan fewer tenants.",
        )
    return network.network_address + number


def _member(name: str, network: Network, number: int, **more: Any) -> TenantOptions:
    """Return a tenant with the address ``number`` (from 1) of the network."""
    address = address_in(network, number, name)
    member: Any = {
        "name": name,
        "addresses": [f"{address}/{network.prefixlen}"],
        "mac": mac_of(address),
        **more,
    }
    return member


def _neighbors(tenant: int, index: int, nodes: int, network: Network) -> list[NeighborOptions]:
    """Return the neighbours of tenant number ``tenant`` of node ``index``: the tenants of that
    number on all other nodes.
    """
    numbers = [(tenant - 1) * nodes + other for other in range(1, nodes + 1) if other != index]
    addresses = [network.network_address + number for number in numbers if number <= _room(network)]
    return [{"address": str(address), "mac": mac_of(address)} for address in addresses]


def vlan_of(tunnel: int, inside: int = 0) -> dict[str, int]:
    """Return the VLAN, inside the switch, of what belongs to a tunnel; ``inside`` is one that the
    frames keep in the tunnel, 0 for none.
    """
    if inside:
        return {"tag": inside}
    return {"tag": TUNNEL_TAG + tunnel} if tunnel else {}


def tenant_plan(
    count: int,
    index: int,
    nodes: int,
    network: str,
    host_network: str | None = None,
    *,
    flat: tuple[str, int] | None = None,
    bridged_network: str | None = None,
    tunnels: int = 1,
    vlan: int = 0,
) -> list[TenantOptions]:
    """Return the tenants of node ``index`` (from 1) of ``nodes``, as module tenants takes them.

    Tenant t of node i has address number (t - 1) × nodes + i, so a different number of tenants
    changes no address. With ``host_network`` the host itself takes part, with address number i.
    ``flat`` is (network, MTU in bytes) of one tenant that is reached by an uplink,
    ``bridged_network`` the network of one behind a Linux bridge. A pair has a number of
    ``tunnels``: tenant t is reached by tunnel (t - 1) modulo tunnels, see :mod:`.tunnels`. What
    goes through a tunnel is in ``vlan`` there, 0 for none. Tenant t knows the tenants t of all
    other nodes, see docs/decisions/neighbours.md; of the other kinds there are few.
    """
    checks.number(count, "number of tenants", 0, 1 << 16)
    checks.number(index, "index of the node", 1, nodes)
    tenants = network_of(network, "offload_lab_tenant_network")
    plan = [
        _member(
            f"tenant{number}",
            tenants,
            (number - 1) * nodes + index,
            neighbors=_neighbors(number, index, nodes, tenants),
            **vlan_of((number - 1) % tunnels, vlan),
        )
        for number in range(1, count + 1)
    ]
    if host_network:
        hosts = network_of(host_network, "offload_lab_host_network")
        plan.append(_member("host", hosts, index, namespace=False, **vlan_of(0, vlan)))
    if flat and flat[0]:
        uplink = network_of(flat[0], "offload_lab_flat_network")
        plan.append(_member("flat1", uplink, index, mtu=flat[1], flat=True, tag=FLAT_TAG))
    if bridged_network:
        bridged = network_of(bridged_network, "offload_lab_bridged_network")
        plan.append(_member("bridged1", bridged, index, linux_bridge=True, **vlan_of(0, vlan)))
    return plan


def _ends(tenant: TenantOptions) -> list[End]:
    """Return a tenant's end of a path, by its first address; none for a tenant without one."""
    netns = tenant["name"] if tenant.get("namespace", True) else None
    addresses = tenant.get("addresses") or []
    return [{"netns": netns, "address": text.split("/")[0]} for text in addresses[:1]]


def checked(tenants: list[TenantOptions], mtu: int, largest: int) -> list[TenantOptions]:
    """Return the tenants, after all checks that do not need the node; MTUs are in bytes."""
    wanted_tenants(tenants, mtu, (largest, "That is what the tunnel leaves of the underlay's MTU."))
    return tenants


def endpoints(
    tenants: Iterable[TenantOptions],
    underlay_address: str,
    more: Sequence[str] = (),
    tunnel: str = USUAL_TUNNEL,
) -> Endpoints:
    """Return the node's end of each path of a lab with this type of tunnel, by path.

    ``more`` are further addresses of the underlay. Where the node may have several ends of a path,
    ``all`` of the first has them.
    """
    ends: dict[str, list[End]] = {path.name: [] for path in paths_with(tunnel)}
    ends["physical"] = [
        {"netns": None, "address": address} for address in [underlay_address, *more]
    ]
    for tenant in tenants:
        ends[path_of(tenant, tunnel)] += _ends(tenant)
    several = {path.name for path in LAB_PATHS if path.several}
    if more:
        several.add("physical")
    return {
        name: {**path_ends[0], "all": path_ends} if name in several else path_ends[0]
        for name, path_ends in ends.items()
        if path_ends
    }


def _named(names: Iterable[str]) -> list[PathDevice]:
    return [{"name": name} for name in names]


def _ports(tenants: Iterable[TenantOptions]) -> list[str]:
    """Return the devices that join the tenants to the switch; devices of Linux bridges come last."""
    veths = []
    bridges = []
    for tenant in tenants:
        name = tenant["name"]
        if tenant.get("namespace", True):
            veths.append(name + PORT)
        if tenant.get("linux_bridge"):
            bridges += [name + LINUX_BRIDGE, name + INNER, name + OUTER]
    return veths + bridges


def devices(
    tenants: Sequence[TenantOptions],
    underlay_device: str,
    datapath: str,
    more: Iterable[str] = (),
    tunnels: int = 1,
) -> Devices:
    """Return the devices of a node that a campaign can vary, by class.

    ``more`` are names of further devices of the underlay, ``tunnels`` is the number of tunnels of a
    pair that have a device of the kernel. The kernel's datapath makes the device of its tunnels
    itself, and names it after the UDP port.
    """
    inside = [tenant["name"] for tenant in tenants if tenant.get("namespace", True)]
    outside = [tenant["name"] for tenant in tenants if not tenant.get("namespace", True)]
    own_tunnels = tunnels if datapath == "netdev" else 0
    return {
        "underlay": _named([underlay_device, *more]),
        "tenant": [{"name": name + DEVICE, "netns": name} for name in inside],
        "tenant_port": _named(_ports(tenants)),
        "host": _named(name + DEVICE for name in outside),
        "host_port": _named(name + PORT for name in outside),
        "tunnel": _named(f"vxlan{number}" for number in range(own_tunnels)),
    }
