# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tenants that are hosts of their own, called guests: their devices, their nodes' ports for them,
and what each host does in a campaign of them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._base.network import VXLAN_OVERHEAD
from .._paths.lab_paths import LAB, TENANT, USUAL_TENANT_PATH
from .._paths.path import CampaignHost, Devices, Pair
from .tenants import FLAT_TAG

GROUP = "lab_tenants"
# The classes of devices that are not a guest's, but its node's
OTHERS = ("underlay", "tenant_port", "host", "host_port", "tunnel")
Variables = Mapping[str, Any]  # of a host, as Ansible has them


class GuestPort(TypedDict):
    """A port of a switch for a guest."""

    name: str
    tag: NotRequired[int]  # VLAN inside the switch, 0 for none


Homes = Mapping[str, str]  # {guest: its node, or "" where that is not in the inventory}


def measuring(playing: Sequence[str], guests: Iterable[str]) -> list[str]:
    """Return the hosts that a campaign without pairs is for: the tenants that are hosts, or else
    the nodes.
    """
    there = set(guests)
    return [host for host in playing if host in there] or list(playing)


def homes_of(
    groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Variables]
) -> dict[str, str]:
    """Return ``{guest: its node}``, of all guests of an inventory."""
    return {
        host: str(hostvars[host].get("offload_lab_tenant_of") or "")
        for host in groups.get(GROUP, ())
    }


def first_pair(playing: Sequence[str]) -> list[Pair]:
    """Return the pair of a campaign that names none; none where there are not two hosts."""
    return [{"client": playing[0], "server": playing[1]}] if len(playing) > 1 else []


def _tunnelled(guest: Variables) -> bool:
    return LAB.named(guest.get("offload_lab_tenant_path") or USUAL_TENANT_PATH).tunnelled


def around(variables: Variables) -> int:
    """Return by how many bytes the MTU of a guest's device is less than the MTU of its node's
    underlay.
    """
    if not _tunnelled(variables):
        return 0
    return int(variables.get("offload_lab_encapsulation") or VXLAN_OVERHEAD[4])


def devices_of(device: str) -> Devices:
    """Return the devices of a guest by class."""
    return {**{name: [] for name in OTHERS}, TENANT: [{"name": device}]}


def ports_of(node: str, guests: Mapping[str, Variables], uplink: bool) -> list[GuestPort]:
    """Return the ports of a node's switch for its guests, as module ovs_ports takes them.

    The hypervisor connects a guest without ``offload_lab_tenant_port``. With an uplink, the
    tunnel's tenants are in no VLAN, and the uplink's tenants in a separate VLAN.
    """
    ports: list[GuestPort] = []
    for guest in guests.values():
        name = guest.get("offload_lab_tenant_port")
        if not name or guest.get("offload_lab_tenant_of") != node:
            continue
        if uplink:
            ports.append({"name": name, "tag": 0 if _tunnelled(guest) else FLAT_TAG})
        else:
            ports.append({"name": name})
    return ports


def members(pairs: Sequence[Pair], homes: Homes) -> dict[str, CampaignHost]:
    """Return what each host does in a campaign: the hosts of the pairs, and the nodes of guests
    among them.
    """
    clients = [pair["client"] for pair in pairs]
    servers = [pair["server"] for pair in pairs]
    hosts: dict[str, CampaignHost] = {}
    for host in dict.fromkeys([*clients, *servers]):
        end = "client" if host in clients else "server"  # a host that is both is a client
        hosts[host] = _of_pairs(host, end, pairs, homes)
    for guest in [host for host in hosts if homes.get(host)]:
        _add_node(hosts, homes[guest], guest)
    return hosts


def _partners(host: str, pairs: Sequence[Pair]) -> list[str]:
    servers = [pair["server"] for pair in pairs if pair["client"] == host]
    clients = [pair["client"] for pair in pairs if pair["server"] == host]
    return list(dict.fromkeys(servers + clients))


def _of_pairs(host: str, end: str, pairs: Sequence[Pair], homes: Homes) -> CampaignHost:
    """Return what a host of a pair does.

    It needs its partners, their nodes where they are guests, and its own node where it is one.
    """
    partners = _partners(host, pairs)
    home = homes.get(host)
    lost_without: dict[str, list[str]] = {}
    for partner in partners:
        for needed in filter(None, (partner, homes.get(partner))):
            lost_without.setdefault(needed, []).append(partner)
    if home:
        lost_without[home] = partners
    return {
        "member": True,
        "end": end,
        "pairs": [pair for pair in pairs if pair["client"] == host],
        "partners": partners,
        "needed": list(lost_without),
        "lost_without": lost_without,
        "elsewhere": list(OTHERS) if home else [],
    }


def _add_node(hosts: dict[str, CampaignHost], node: str, guest: str) -> None:
    """Add the node of a guest to the members; it is at the guest's end."""
    its_guest = hosts[guest]
    mine: CampaignHost = hosts.setdefault(
        node,
        {
            "member": True,
            "end": its_guest["end"],
            "pairs": [],
            "partners": [],
            "needed": [],
            "lost_without": {},
            "elsewhere": [TENANT],
        },
    )
    if mine["end"] != its_guest["end"]:
        raise InputError(
            "its guests are at both ends of the campaign, and it can have the settings of one",
            node,
            "Make pairs whose clients and whose servers are on different nodes.",
        )
    for partner in its_guest["partners"]:
        label = f"{guest} {partner}"
        mine["partners"] = [*mine["partners"], label]
        lost_with = [host for host, lost in its_guest["lost_without"].items() if partner in lost]
        for host in (guest, *lost_with):
            if host != node:
                mine["lost_without"].setdefault(host, []).append(label)
    mine["needed"] = list(mine["lost_without"])
