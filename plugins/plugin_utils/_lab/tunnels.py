# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnels of a node: where they lead, the VNI of each, and their ports on the switch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from ...module_utils._base.errors import InputError
from .tenants import vlan_of

DATAPATHS = ("system", "netdev")


class Tunnel(TypedDict):
    """A tunnel to other nodes."""

    name: str
    vni: int
    local: str  # address of the underlay
    remotes: list[str]
    tag: int | None  # VLAN inside the switch, 0 for none


class TunnelPort(TypedDict):
    """A port of the switch, as module ovs_ports takes it."""

    name: str
    type: NotRequired[str]
    protected: NotRequired[bool]
    options: NotRequired[dict[str, Any]]
    tag: NotRequired[int]


def _check_ends(ends: Mapping[str, Sequence[str]], node: str) -> None:
    """Raise InputError where an address is not known, or a node has fewer or more than ``node``."""
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
    """Return the tunnels of a node, one over each of its ports. Tunnel n has the VNI ``vni`` + n.

    ``ends`` are ``{node: [an address of each port of the underlay]}``. ``remotes`` are given for
    the first tunnel where it does not lead to all other nodes. Two tunnels between the same
    switches are a loop, so each is in a VLAN of its own inside them.
    """
    _check_ends(ends, node)
    several = len(ends[node]) > 1
    others = [addresses for name, addresses in ends.items() if name != node]
    planned: list[Tunnel] = []
    for number, local in enumerate(ends[node]):
        planned.append(
            {
                "name": f"vxlan{number}",
                "vni": vni + number,
                "local": local,
                "tag": vlan_of(number).get("tag", 0) if several else None,
                "remotes": [addresses[number] for addresses in others],
            }
        )
    if remotes is not None:
        planned[0]["remotes"] = remotes
    return planned


def tunnel_ports(
    planned: Iterable[Tunnel], datapath: str, port: int, csum: bool, *, tag: int | None = None
) -> list[TunnelPort]:
    """Return the ports of :func:`tunnels` as module ovs_ports takes them.

    The kernel's datapath has a port for each remote. They are protected where there are several:
    what came in by one never goes out by another, so broadcasts in the full mesh cannot loop. The
    userspace datapath has one device for all. ``tag`` is 0 where the switch has an uplink beside
    the tunnel, which is in a VLAN of its own.
    """
    if datapath not in DATAPATHS:
        raise InputError("not a datapath", repr(datapath), f"Use one of {', '.join(DATAPATHS)}.")
    ports: list[TunnelPort] = []
    for tunnel in planned:
        own: list[TunnelPort] = [{"name": tunnel["name"]}]
        if datapath == "system":
            own = _kernel_ports(tunnel, len(ports), port, csum)
        vlan = tag if tunnel["tag"] is None else tunnel["tag"]
        if vlan is not None:
            own = [{**one, "tag": vlan} for one in own]
        ports += own
    return ports


def _kernel_ports(tunnel: Tunnel, first: int, port: int, csum: bool) -> list[TunnelPort]:
    """Return a port for each remote of a tunnel; their names are numbered from ``first``."""
    return [
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
        }
        for number, address in enumerate(tunnel["remotes"], first)
    ]
