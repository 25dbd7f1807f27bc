# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host between the nodes that forwards their packets: which it is, its devices, and what it does in
a campaign. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from .._paths.lab_paths import TENANT
from .._paths.path import FORWARDER, FORWARDERS, UNDERLAY, Devices, Pair
from . import guests
from .guests import OTHERS, CampaignHost, Homes
from .lab_node import InLab


def forwarders_of(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the hosts of an inventory that forward."""
    return list(groups.get(FORWARDERS, ()))


def without(hosts: Iterable[str], forwarders: Collection[str]) -> list[str]:
    """Return the hosts of a play that may be the ends of a pair."""
    return [host for host in hosts if host not in forwarders]


def devices_of(names: Iterable[str]) -> Devices:
    """Return the devices of a forwarder by class: all of them are the underlay's."""
    empty: Devices = {name: [] for name in (*OTHERS, TENANT)}
    return {**empty, UNDERLAY: [{"name": name} for name in names]}


def in_lab(names: Iterable[str], datapath: str, *, ours: bool) -> InLab:
    """Return what a forwarder has in the lab: devices, and no end of a path. Only the single-host
    lab's forwarder, ``ours``, gets the MTU of a campaign; an existing one keeps its MTU.
    """
    devices = devices_of(names)
    return {
        "tenants": [],
        "devices": devices,
        "links": {"outer": devices[UNDERLAY] if ours else [], "inner": []},
        "endpoints": {},
        "addresses": [],
        "datapath": datapath,
        "guest_ports": [],
    }


def members(
    pairs: Sequence[Pair], homes: Homes, forwarders: Iterable[str]
) -> dict[str, CampaignHost]:
    """Return what each host does in a campaign; no pair measures without the forwarders."""
    campaign_hosts = guests.members(pairs, homes)
    labels = [f"{pair['client']} {pair['server']}" for pair in pairs]
    hosts = list(campaign_hosts)
    for forwarder in forwarders:
        for host in hosts:
            campaign_hosts[host]["needed"].append(forwarder)
            campaign_hosts[host]["rests"][forwarder] = list(campaign_hosts[host]["partners"])
        rests = {host: _with(host, pairs) for host in hosts}
        campaign_hosts[forwarder] = {
            "member": True,
            "end": FORWARDER,
            "pairs": [],
            "partners": labels,
            "needed": hosts,
            "rests": rests,
            "elsewhere": [],
        }
    return campaign_hosts


def _with(host: str, pairs: Iterable[Pair]) -> list[str]:
    return [f"{pair['client']} {pair['server']}" for pair in pairs if host in pair.values()]
