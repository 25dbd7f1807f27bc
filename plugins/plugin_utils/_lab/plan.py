# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: who has which address in the lab, by which devices and addresses a node is measured, and
its tunnels.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._base import checks
from ...module_utils._base.errors import InputError
from ...module_utils._lab.tenants_check import (
    DEVICE,
    INNER,
    LINUX_BRIDGE,
    OUTER,
    PORT,
    wanted_tenants,
)
from .nouns import (
    Devices,
    End,
    Endpoints,
    Neighbor,
    Tenant,
    Tunnel,
)
from .paths import PATHS, path_of

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
DATAPATHS = ("system", "netdev")
FLAT_TAG = (
    20  # VLAN inside the switch that keeps the tenants of the flat uplink apart from the tunnel
)
# With several tunnels of a pair, tunnel n and its tenants are in VLAN 30 + n; the first in none
TUNNEL_TAG = 30


def mac_of(address: Address) -> str:
    """Return a local unicast MAC address that follows from the address, so a recreated tenant keeps
    it.
    """
    return ":".join(f"{byte:02x}" for byte in (2, address.version) + tuple(address.packed[-4:]))


def _network(text: str, what: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(
            f"not a network ({error})", f"{what} {text!r}", "Write it as 192.168.10.0/24."
        ) from None


def _room(network: Network) -> int:
    """Return how many hosts a network has addresses for."""
    return network.num_addresses - (2 if network.version == 4 else 1)


def _member(name: str, network: Network, number: int, **more: Any) -> Tenant:
    """Return a tenant with the address ``number`` (from 1) of the network."""
    room = _room(network)
    if number > room:
        raise InputError(
            f"the network has {room} addresses, {name} would need number {number}",
            str(network),
            "Widen offload_lab_tenant_network or offload_lab_host_network, or plan fewer tenants.",
        )
    address = network.network_address + number
    member: Any = {
        "name": name,
        "addresses": [f"{address}/{network.prefixlen}"],
        "mac": mac_of(address),
        **more,
    }
    return member


def _neighbors(tenant: int, index: int, nodes: int, network: Network) -> list[Neighbor]:
    """Return what tenant number ``tenant`` of node ``index`` knows of the tenants of that number of
    all other nodes.
    """
    numbers = [(tenant - 1) * nodes + other for other in range(1, nodes + 1) if other != index]
    addresses = [network.network_address + number for number in numbers if number <= _room(network)]
    return [{"address": str(address), "mac": mac_of(address)} for address in addresses]


def _apart(tunnel: int) -> dict[str, int]:
    """Return the VLAN, inside the switch, of what belongs to a tunnel."""
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
) -> list[Tenant]:
    """Return the tenants of node ``index`` (from 1) of ``nodes``, as module tenants takes them.

    Tenant t of node i has address number (t - 1) × nodes + i, so a different number of tenants
    changes no address. With ``host_network`` the host itself takes part, with address number i.
    ``flat`` is (network, MTU in bytes) of one tenant that is reached by an uplink,
    ``bridged_network`` that of one behind a Linux bridge. The tenants are dealt to the ``tunnels``
    (number) of a pair: tenant t is reached by tunnel (t - 1) modulo tunnels, see :func:`tunnels`.
    Tenant t knows the tenants t of all other nodes, see docs/decisions/neighbours.md; of the rest
    there are few.
    """
    checks.number(count, "number of tenants", 0, 1 << 16)
    checks.number(index, "index of the node", 1, nodes)
    tenants = _network(network, "offload_lab_tenant_network")
    plan = [
        _member(
            f"tenant{number}",
            tenants,
            (number - 1) * nodes + index,
            neighbors=_neighbors(number, index, nodes, tenants),
            **_apart((number - 1) % tunnels),
        )
        for number in range(1, count + 1)
    ]
    if host_network:
        plan.append(
            _member(
                "host", _network(host_network, "offload_lab_host_network"), index, namespace=False
            )
        )
    if flat and flat[0]:
        plan.append(
            _member(
                "flat1",
                _network(flat[0], "offload_lab_flat_network"),
                index,
                mtu=flat[1],
                flat=True,
                tag=FLAT_TAG,
            )
        )
    if bridged_network:
        plan.append(
            _member(
                "bridged1",
                _network(bridged_network, "offload_lab_bridged_network"),
                index,
                linux_bridge=True,
            )
        )
    return plan


def _end(tenant: Tenant) -> End | None:
    """Return a tenant's end of a path, or None for a tenant without an address."""
    netns = tenant["name"] if tenant.get("namespace", True) else None
    addresses = tenant.get("addresses") or []
    return {"netns": netns, "address": addresses[0].split("/")[0]} if addresses else None


def checked(tenants: list[Tenant], mtu: int, largest: int) -> list[Tenant]:
    """Return the tenants, after all checks that do not need the node; MTUs are in bytes."""
    wanted_tenants(tenants, mtu, (largest, "That is what the tunnel leaves of the underlay's MTU."))
    return tenants


def endpoints(
    tenants: Iterable[Tenant], underlay_address: str, more: Sequence[str] = ()
) -> Endpoints:
    """Return the node's end of each path: ``{path: {"netns", "address"}}``.

    All tenants are in ``all`` of tenant_vxlan, and with ``more`` addresses of the underlay these in
    that of physical.
    """
    physical: list[End] = [
        {"netns": None, "address": address} for address in [underlay_address, *more]
    ]
    by_path: Endpoints = {"physical": {**physical[0], "all": physical} if more else physical[0]}
    for path in PATHS:
        ends = [
            end for end in (_end(tenant) for tenant in tenants if path_of(tenant) == path) if end
        ]
        if ends:
            by_path[path] = {**ends[0], "all": ends} if path == "tenant_vxlan" else ends[0]
    return by_path


def devices(
    tenants: Iterable[Tenant],
    underlay_device: str,
    datapath: str,
    more: Iterable[str] = (),
    tunnels: int = 1,
) -> Devices:
    """Return ``{class: [{"name", "netns"}]}``, the devices of a node that a campaign can vary.

    ``more`` are names of further devices of the underlay, ``tunnels`` is the number of tunnels of a
    pair. The kernel's datapath makes the device of its tunnels itself, and names it after the UDP
    port.
    """
    bridged = [tenant["name"] for tenant in tenants if tenant.get("linux_bridge")]
    inside = [tenant["name"] for tenant in tenants if tenant.get("namespace", True)]
    outside = [tenant["name"] for tenant in tenants if not tenant.get("namespace", True)]
    return {
        "underlay": [{"name": name} for name in [underlay_device, *more]],
        "tenant": [{"name": name + DEVICE, "netns": name} for name in inside],
        "tenant_port": [
            {"name": name}
            for name in [
                *(name + PORT for name in inside),
                *(name + part for name in bridged for part in (LINUX_BRIDGE, INNER, OUTER)),
            ]
        ],
        "host": [{"name": name + DEVICE} for name in outside],
        "host_port": [{"name": name + PORT} for name in outside],
        "tunnel": [{"name": f"vxlan{number}"} for number in range(tunnels)]
        if datapath == "netdev"
        else [],
    }


def _check_ends(ends: Mapping[str, Sequence[str]], node: str) -> None:
    """Raise InputError where an address is not known, or a node has not as many as ``node``."""
    for name, addresses in ends.items():
        if not all(addresses):
            raise InputError(
                "its address on the underlay is not known",
                name,
                "Set offload_lab_underlay_address for it, or do not leave it out with --limit.",
            )
        if len(addresses) != len(ends[node]):
            raise InputError(
                f"it has {len(addresses)} ports, {node} has {len(ends[node])}",
                name,
                "With offload_lab_tunnel_per_port every node needs as many offload_lab_more_ports.",
            )


def tunnels(
    ends: Mapping[str, Sequence[str]], node: str, vni: int, *, remotes: list[str] | None = None
) -> list[Tunnel]:
    """Return the tunnels of a node, one over each of its ports: ``[{"name", "vni", "local",
    "remotes", "tag"}]``.

    ``ends`` are ``{node: [an address of each port of the underlay]}``. ``remotes`` are given for
    the first tunnel where it does not lead to all other nodes. Tunnel n has the VNI ``vni`` + n.
    Two tunnels between the same switches are a loop, so each is in a VLAN of its own inside them.
    """
    _check_ends(ends, node)
    several = len(ends[node]) > 1
    planned: list[Tunnel] = [
        {
            "name": f"vxlan{number}",
            "vni": vni + number,
            "local": local,
            "tag": _apart(number).get("tag", 0) if several else None,
            "remotes": [addresses[number] for name, addresses in ends.items() if name != node],
        }
        for number, local in enumerate(ends[node])
    ]
    if remotes is not None:
        planned[0]["remotes"] = remotes
    return planned


def tunnel_ports(
    planned: Iterable[Tunnel], datapath: str, port: int, csum: bool, *, tag: int | None = None
) -> list[dict[str, Any]]:
    """Return the ports of :func:`tunnels` as module ovs_ports takes them.

    The kernel's datapath has a port for each remote. They are protected where there are several:
    what came in by one never goes out by another, so broadcasts in the full mesh cannot loop. The
    userspace datapath has one device for all. ``tag`` is 0 where the switch has an uplink beside
    the tunnel, which is in a VLAN of its own.
    """
    if datapath not in DATAPATHS:
        raise InputError("not a datapath", repr(datapath), f"Use one of {', '.join(DATAPATHS)}.")
    ports: list[dict[str, Any]] = []
    for tunnel in planned:
        wanted = tag if tunnel["tag"] is None else tunnel["tag"]
        apart = {} if wanted is None else {"tag": wanted}
        if datapath == "netdev":
            ports.append({"name": tunnel["name"], **apart})
            continue
        ports += [
            {
                "name": f"vxlan{number}",
                "type": "vxlan",
                "protected": len(tunnel["remotes"]) > 1,
                "options": {
                    "remote_ip": address,
                    "key": tunnel["vni"],
                    "dst_port": port,
                    "csum": csum,
                },
                **apart,
            }
            for number, address in enumerate(tunnel["remotes"], len(ports))
        ]
    return ports
