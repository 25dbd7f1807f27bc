# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnels of a node: where they lead, the VNI of each, and their ports on the switch. Pure.

Three ways to have one. The kernel's datapath has a port of Open vSwitch for each remote. On the
userspace datapath a VXLAN is a device of the kernel. Geneve and GRE are Open vSwitch's own there:
their packets leave by the uplink, between addresses that the bridges have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from ...module_utils._base.errors import InputError
from .._paths.lab_paths import USUAL_TUNNEL
from .tenants import FLAT_TAG, vlan_of

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
    trunks: NotRequired[list[int]]


class InTunnel(NamedTuple):
    """What kind of tunnel the lab has."""

    type: str = USUAL_TUNNEL
    vlan: int = 0  # that the frames keep in it, 0 for none
    per_port: bool = False  # one over each port of the underlay
    uplink: bool = False  # whether the switch has an uplink, too

    def is_own(self, datapath: str) -> bool:
        """Return whether the tunnel is Open vSwitch's own in userspace."""
        return datapath == "netdev" and self.type != USUAL_TUNNEL

    def is_device(self, datapath: str) -> bool:
        """Return whether the tunnel is a device of the kernel, which is a port of the switch."""
        return datapath == "netdev" and self.type == USUAL_TUNNEL


def check_tunnel(tunnel: InTunnel, datapath: str) -> None:
    """Raise InputError for a tunnel that this lab cannot have."""
    where = f"offload_lab_tunnel_type {tunnel.type}"
    if tunnel.is_own(datapath) and not tunnel.uplink:
        raise InputError(
            "the userspace datapath sends its packets by the uplink, and there is none",
            where,
            "Set offload_lab_uplink_device, a second device (in the single-host lab "
            "OFFLOAD_LAB_UPLINK=yes makes uplink0).",
        )
    if tunnel.per_port and (tunnel.type != USUAL_TUNNEL or tunnel.vlan):
        raise InputError(
            "a tunnel for each port is made of VXLAN, without a VLAN in it",
            where,
            "Leave out offload_lab_tunnel_per_port, or the other two.",
        )
    if tunnel.vlan == FLAT_TAG and tunnel.uplink:
        raise InputError(
            "the uplink has this VLAN inside the switch",
            f"offload_lab_tenant_vlan {FLAT_TAG}",
            "Use another number.",
        )


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
                "Give every node as many offload_lab_more_ports, or leave out offload_lab_tunnel_per_port.",
            )


def tunnels(
    ends: Mapping[str, Sequence[str]],
    node: str,
    vni: int,
    *,
    remotes: list[str] | None = None,
    kind: str = USUAL_TUNNEL,
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
                "name": f"{kind}{number}",
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
    planned: Iterable[Tunnel], datapath: str, port: int, csum: bool, tunnel: InTunnel
) -> list[TunnelPort]:
    """Return the ports of :func:`tunnels` as module ovs_ports takes them.

    A tunnel of Open vSwitch has a port for each remote. They are protected where there are several:
    what came in by one never goes out by another, so broadcasts in the full mesh cannot loop. A
    VXLAN of the userspace datapath has one device for all. The port is in VLAN 0 where the switch
    has an uplink in addition to the tunnel; the uplink has a separate VLAN. Frames that keep their
    VLAN pass a trunk of this VLAN.
    """
    if datapath not in DATAPATHS:
        raise InputError("not a datapath", repr(datapath), f"Use one of {', '.join(DATAPATHS)}.")
    ports: list[TunnelPort] = []
    for planned_tunnel in planned:
        tunnel_switch_ports: list[TunnelPort] = [{"name": planned_tunnel["name"]}]
        if not tunnel.is_device(datapath):
            tunnel_switch_ports = _switch_ports(planned_tunnel, len(ports), port, csum, tunnel.type)
        ports += [_in_vlan(each, planned_tunnel["tag"], tunnel) for each in tunnel_switch_ports]
    return ports


def _in_vlan(port: TunnelPort, tag: int | None, tunnel: InTunnel) -> TunnelPort:
    """Return the port with the VLAN, inside the switch, that it is in."""
    if tunnel.vlan:
        return {**port, "trunks": [tunnel.vlan]}
    if tag is None and tunnel.uplink:
        tag = 0
    return port if tag is None else {**port, "tag": tag}


def _switch_ports(tunnel: Tunnel, first: int, port: int, csum: bool, kind: str) -> list[TunnelPort]:
    """Return a port for each remote of a tunnel; their names are numbered from ``first``."""
    udp_port = {"dst_port": port} if kind == USUAL_TUNNEL else {}
    return [
        {
            "name": f"{kind}{number}",
            "type": kind,
            "protected": len(tunnel["remotes"]) > 1,
            "options": {"remote_ip": address, "key": tunnel["vni"], **udp_port, "csum": csum},
        }
        for number, address in enumerate(tunnel["remotes"], first)
    ]
