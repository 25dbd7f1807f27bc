# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: tenants that are hosts of their own.

What one has in the lab, and what each host does in a campaign of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._base.network import VXLAN_OVERHEAD
from .nouns import Devices, End, Port
from .paths import PATHS, tunnelled
from .plan import FLAT_TAG

GROUP = "lab_tenants"
CLASS = "tenant"  # of a guest's device; all other classes are its node's
OTHERS = ("underlay", "tenant_port", "host", "host_port", "tunnel")


class Pair(TypedDict):
    """Two hosts that measure together."""

    client: str
    server: str


class Member(TypedDict):
    """What a host does in a campaign."""

    member: bool
    end: str  # whose settings it gets
    partners: list[str]  # the hosts that it measures with; of a node "GUEST PARTNER" of its guests
    needed: list[str]  # hosts that must have taken the profile, too
    rests: dict[str, list[str]]  # {one of them: the partners that it takes with it when it has not}
    elsewhere: list[str]  # classes of devices that another host of this end has


NOBODY: Member = {
    "member": False,
    "end": "",
    "partners": [],
    "needed": [],
    "rests": {},
    "elsewhere": [],
}
Homes = Mapping[str, str]  # {guest: its node, or "" where that is not in the inventory}


def measuring(playing: Sequence[str], guests: Iterable[str]) -> list[str]:
    """Return the hosts that a campaign without pairs is for: the tenants that are hosts, or else
    the nodes.
    """
    found = [host for host in playing if host in set(guests)]
    return found or list(playing)


def homes_of(
    groups: Mapping[str, Sequence[str]], hostvars: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return ``{guest: its node}``, of all guests of an inventory."""
    return {
        host: str(hostvars[host].get("offload_lab_tenant_of") or "")
        for host in groups.get(GROUP, ())
    }


def first_pair(playing: Sequence[str]) -> list[Pair]:
    """Return the pair of a campaign that names none; none where there are not two hosts."""
    return [{"client": playing[0], "server": playing[1]}] if len(playing) > 1 else []


def around(variables: Mapping[str, Any]) -> int:
    """Return the bytes by which the MTU of a guest's device is less than that of its node's
    underlay.
    """
    if not tunnelled(variables.get("offload_lab_tenant_path") or "tenant_vxlan"):
        return 0
    return int(variables.get("offload_lab_encapsulation") or VXLAN_OVERHEAD[4])


def devices_of(device: str) -> Devices:
    """Return the devices of a guest by class."""
    return {**{name: [] for name in OTHERS}, CLASS: [{"name": device}]}


def in_lab(device: str, address: str, path: str, datapath: str) -> dict[str, Any]:
    """Return what a guest has in the lab, in the form of what a node has."""
    if CLASS not in PATHS.get(path, PATHS["physical"]).devices:
        names = [name for name, one in PATHS.items() if CLASS in one.devices]
        raise InputError(
            "not a path of tenants", f"offload_lab_tenant_path {path!r}", f"Use {', '.join(names)}."
        )
    end: End = {"netns": None, "address": address}
    inner, mine = tunnelled(path), devices_of(device)
    return {
        "tenants": [],
        "devices": mine,
        "endpoints": {path: end},
        "addresses": [address],
        "datapath": datapath,
        "links": {"outer": [] if inner else mine[CLASS], "inner": mine[CLASS] if inner else []},
        "guest_ports": [],
    }


def ports_of(node: str, guests: Mapping[str, Mapping[str, Any]], uplink: bool) -> list[Port]:
    """Return the ports of a node's switch for its guests, as module ovs_ports takes them.

    A guest without ``offload_lab_tenant_port`` is connected by its hypervisor. Beside an uplink the
    tunnel's tenants are in no VLAN, and the uplink's in one of their own.
    """
    ports: list[Port] = []
    for variables in guests.values():
        name = variables.get("offload_lab_tenant_port")
        if name and variables.get("offload_lab_tenant_of") == node:
            flat = not tunnelled(variables.get("offload_lab_tenant_path") or "tenant_vxlan")
            port: Port = {"name": name}
            ports.append({**port, "tag": FLAT_TAG if flat else 0} if uplink else port)
    return ports


def members(pairs: Sequence[Pair], homes: Homes) -> dict[str, Member]:
    """Return what each host does in a campaign: those of the pairs, and the nodes of those that are
    guests.
    """
    found: dict[str, Member] = {}
    clients, servers = [pair["client"] for pair in pairs], [pair["server"] for pair in pairs]
    for host in dict.fromkeys([*clients, *servers]):  # who is both is a client
        found[host] = {
            **NOBODY,
            "member": True,
            "end": "client" if host in clients else "server",
            "rests": {},
        }
    for host, member in found.items():
        member["partners"] = list(
            dict.fromkeys(
                [pair["server"] for pair in pairs if pair["client"] == host]
                + [pair["client"] for pair in pairs if pair["server"] == host]
            )
        )
        for partner in member["partners"]:
            for one in filter(None, (partner, homes.get(partner))):
                member["rests"].setdefault(one, []).append(partner)
        if homes.get(host):
            member["rests"][homes[host]] = member["partners"]
        member["needed"] = list(member["rests"])
        member["elsewhere"] = list(OTHERS) if homes.get(host) else []
    for guest in [host for host in found if homes.get(host)]:
        _add_node(found, homes[guest], guest)
    return found


def _add_node(found: dict[str, Member], node: str, guest: str) -> None:
    """Add a node to the members for the sake of its guest, whose end is its own, too."""
    mine = found.setdefault(
        node,
        {**NOBODY, "member": True, "end": found[guest]["end"], "rests": {}, "elsewhere": [CLASS]},
    )
    if mine["end"] != found[guest]["end"]:
        raise InputError(
            "its guests are at both ends of the campaign, and it can have the settings of one",
            node,
            "Make pairs whose clients and whose servers are on different nodes.",
        )
    for partner in found[guest]["partners"]:
        label = f"{guest} {partner}"
        mine["partners"] = [*mine["partners"], label]
        for one in (
            guest,
            *(one for one, lost in found[guest]["rests"].items() if partner in lost),
        ):
            if one != node:
                mine["rests"].setdefault(one, []).append(label)
    mine["needed"] = list(mine["rests"])
