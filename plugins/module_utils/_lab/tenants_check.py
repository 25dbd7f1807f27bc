# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure checks of the tenants that a user wants: names, addresses, MTUs."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Dict, Iterable, Mapping, Sequence, Tuple, TypedDict, Union

from .._base import checks, network
from .._base.errors import InputError

# the tenant's end of its veth, and the switch's
DEVICE = "-veth0"
PORT = "-veth1"
# A Linux bridge between tenant and switch, and the veth that joins the two: the bridge's end, and
# the switch's.
LINUX_BRIDGE = "-br"
INNER = "-veth2"
OUTER = "-veth3"
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
Limit = Tuple[int, str]  # bytes, and why
Link = Dict[str, Any]  # as _iproute reads it, with its permanent neighbours
Links = Dict[str, Link]
MAC = re.compile(
    r"[0-9a-f][02468ace](:[0-9a-f]{2}){5}\Z"
)  # the lowest bit of the first byte means multicast


class NeighborOptions(TypedDict):
    """A neighbour as a user asks for it."""

    address: str
    mac: str


class TenantOptions(TypedDict, total=False):
    """A tenant as a user asks for it."""

    name: str
    namespace: bool  # False: the host's own end
    addresses: list[str]  # with prefix length
    mtu: int | None  # bytes
    mac: str | None
    neighbors: list[NeighborOptions]
    linux_bridge: bool
    tag: int | None  # VLAN inside the switch
    flat: bool  # reached by an uplink, without a tunnel


class Parts(TypedDict):
    """The names of a tenant's parts."""

    name: str
    netns: str | None  # None: in the host's own namespace
    device: str
    port: str
    switch_port: str


class Tenant(Parts):
    """A tenant that is wanted."""

    addresses: list[str]
    mtu: int
    mac: str | None
    neighbors: dict[str, str]  # MAC addresses by address
    linux_bridge: str | None
    tag: int | None
    flat: bool


def longest_name() -> int:
    """Return the number of characters that a tenant's name may have."""
    return network.MAX_DEVICE - len(DEVICE)


def _checked_mac(mac: str, name: str) -> str:
    """Return a MAC address in lowercase."""
    if not MAC.match(mac.lower()):
        raise InputError(
            f"not a unicast MAC address: {mac!r}", name, "Write it as 02:00:c0:a8:0a:01."
        )
    return mac.lower()


def _reserved(network: Network) -> tuple[network.Address, ...]:
    """Return the addresses of a network that no host can have."""
    ends = (network.network_address, network.broadcast_address)[: 2 if network.version == 4 else 1]
    return ends if network.num_addresses > 2 else ()


def _neighbor(text: Any, name: str, interfaces: Sequence[network.Interface]) -> str:
    """Return the checked address of a neighbour: one of a host, in a network of the tenant's own
    addresses.
    """
    address = network.address(text, f"neighbor of {name}")
    if address in [interface.ip for interface in interfaces]:
        raise InputError(
            f"its neighbor {address} is one of its own addresses",
            name,
            "Leave it out of the neighbors.",
        )
    networks = [interface.network for interface in interfaces if address in interface.network]
    if not networks:
        raise InputError(
            f"its neighbor {address} is in no network of its own addresses",
            name,
            "Give the tenant an address of the neighbor's network, or leave the neighbor out.",
        )
    if address.is_multicast or any(address in _reserved(network) for network in networks):
        raise InputError(
            f"its neighbor {address} is not an address of a host",
            name,
            f"Use another address of {networks[0]}.",
        )
    return str(address)


def _neighbors(
    neighbors: Iterable[NeighborOptions], name: str, interfaces: Sequence[network.Interface]
) -> dict[str, str]:
    """Return ``{address: MAC address}`` of a tenant's neighbours, which it never has to ask for."""
    addresses = [_neighbor(neighbor["address"], name, interfaces) for neighbor in neighbors]
    checks.unique(addresses, f"neighbor of {name}")
    return dict(zip(addresses, [_checked_mac(neighbor["mac"], name) for neighbor in neighbors]))


def wanted_tenant(tenant: TenantOptions, mtu: int) -> Tenant:
    """Return a checked tenant of the user, with what is derived from its name; ``mtu`` is for one
    that gives none.
    """
    name = network.device_name(tenant["name"], "tenant", longest_name())
    interfaces = [
        network.interface(text, f"address of {name}") for text in tenant.get("addresses") or []
    ]
    own_mtu = tenant.get("mtu")
    mac = tenant.get("mac")
    return {
        "name": name,
        "netns": name if tenant.get("namespace", True) else None,
        "device": name + DEVICE,
        "port": name + PORT,
        "addresses": [str(interface) for interface in interfaces],
        "mtu": mtu if own_mtu is None else own_mtu,
        "mac": None if mac is None else _checked_mac(mac, name),
        "neighbors": _neighbors(tenant.get("neighbors") or [], name, interfaces),
        "linux_bridge": name + LINUX_BRIDGE if tenant.get("linux_bridge") else None,
        "switch_port": name + (OUTER if tenant.get("linux_bridge") else PORT),
        "tag": tenant.get("tag"),
        "flat": bool(tenant.get("flat")),
    }


def wanted_tenants(
    tenants: Sequence[TenantOptions], mtu: int, limit: Limit | None = None
) -> dict[str, Tenant]:
    """Return ``{name: tenant}``, all checked.

    ``mtu`` in bytes is for tenants that give none; ``limit`` is ``(bytes, why)``, what the underlay
    leaves for them.
    """
    checks.unique([tenant["name"] for tenant in tenants], "tenant")
    checked = [wanted_tenant(tenant, mtu) for tenant in tenants]
    _check_addresses(checked)
    checks.unique([tenant["mac"] for tenant in checked if tenant["mac"]], "MAC address")
    for tenant in checked:
        _check_mtu(tenant, None if tenant["flat"] else limit)
    return {tenant["name"]: tenant for tenant in checked}


def _check_mtu(tenant: Tenant, limit: Limit | None) -> None:
    lowest = (
        network.MIN_MTU_IPV6
        if any(":" in address for address in tenant["addresses"])
        else network.MIN_MTU
    )
    highest, why = limit or (network.MAX_MTU, "A veth carries no more.")
    if not lowest <= tenant["mtu"] <= highest:
        raise InputError(
            f"an MTU of {tenant['mtu']} does not fit",
            tenant["name"],
            f"Use {lowest} to {highest} bytes. {why}",
        )


def _interfaces(tenants: Iterable[Tenant]) -> list[tuple[str, network.Interface]]:
    """Return ``[(tenant's name, interface)]`` of all addresses."""
    interfaces: list[tuple[str, network.Interface]] = []
    for tenant in tenants:
        name = tenant["name"]
        interfaces += [(name, network.interface(text, name)) for text in tenant["addresses"]]
    return interfaces


def _check_addresses(tenants: Iterable[Tenant]) -> None:
    """Raise InputError when an address is not one of a host, is given twice, or when two networks
    overlap.
    """
    networks: dict[Network, str] = {}
    owners: dict[network.Address, str] = {}
    for name, interface in _interfaces(tenants):
        network = interface.network
        if interface.ip in _reserved(network):
            raise InputError(
                f"not an address of a host: {interface}", name, f"Use another address of {network}."
            )
        if interface.ip in owners:
            raise InputError(
                f"its address {interface.ip} also belongs to {owners[interface.ip]}",
                name,
                "Give every tenant an address of its own.",
            )
        owners[interface.ip] = name
        networks.setdefault(network, name)
    check_disjoint(networks)


def check_disjoint(networks: Mapping[Network, str]) -> None:
    """Raise InputError when two of ``{network: name}`` overlap; all of them share one VNI, so they
    must not.
    """
    ordered = sorted(
        networks, key=lambda network: (network.version, network.network_address, network.prefixlen)
    )
    for lower, other in zip(ordered, ordered[1:]):
        if lower.version == other.version and lower.overlaps(other):
            raise InputError(
                f"its network {other} overlaps {lower} of {networks[lower]}",
                networks[other],
                "Use the same network, or networks that do not overlap.",
            )


def check_host(tenants: Mapping[str, Tenant], links: Links) -> None:
    """Raise InputError when a tenant in the host's own namespace would take the network of another
    device.
    """
    ours = {tenant["device"] for tenant in tenants.values()}
    others = {name: link["global"] for name, link in links.items() if name not in ours}
    in_host = [tenant for tenant in tenants.values() if tenant["netns"] is None]
    for name, interface in _interfaces(in_host):
        for device, texts in others.items():
            _check_apart(name, interface, device, texts)


def _check_apart(
    name: str, interface: network.Interface, device: str, texts: Iterable[str]
) -> None:
    """Raise InputError when a tenant's address overlaps a network of another device."""
    for text in texts:
        other = network.interface(text, device)
        if interface.version == other.version and interface.network.overlaps(other.network):
            raise InputError(
                f"its address {interface} overlaps {other} of the device {device}",
                name,
                "Choose another network: offload_lab_host_network.",
            )
