# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The campaign that asks which of the kernel's features a group breaks: ``tx`` and ``tso`` stand for
several, and each is varied by itself. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._campaign.factors import ENDS
from .._campaign.looks import INTEGRITY, NAMED, NAMED_BLOCKS
from .._campaign.nouns import Factor, Plan
from .._campaign.plan_file import paths_of
from .hop import blocks_for, seconds_for

CHECKSUMS = ("tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6")
TCP = ("tx-tcp-segmentation", "tx-tcp6-segmentation")
UDP = ("tx-udp-segmentation",)
GRE = ("tx-gre-segmentation", "tx-gre-csum-segmentation")
UDP_TUNNEL = ("tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation")
OF_TUNNELS = {"none": (), "gre": GRE}  # of all others UDP_TUNNEL
# What a device no longer does where the group is off, beside its work for a tunnel.
GROUPS = {"tx": (*CHECKSUMS, *TCP, *UDP), "tso": TCP}
MOST_FACTORS = 20  # each adds two visits to a block


def _of_tunnels(plan: Plan, paths: Iterable[str]) -> list[str]:
    """Return the features with which a device cuts packets inside the tunnels of these paths."""
    found: dict[str, None] = {}
    known = paths_of(plan)
    for path in paths:
        around = known.named(path).encapsulation.name
        found.update(dict.fromkeys(OF_TUNNELS.get(around, UDP_TUNNEL)))
    return list(found)


def _needs(bit: str) -> tuple[str, ...]:
    """Return the features without which one does nothing: a device cuts what it makes checksums of,
    and TCP inside a tunnel if it cuts TCP.
    """
    if bit in CHECKSUMS:
        return ()
    return CHECKSUMS if bit in TCP + UDP else (*CHECKSUMS, TCP[0])


def _factors(factor: Factor, bits: Iterable[str]) -> list[dict[str, Any]]:
    """Return a factor for each feature of a group, at the devices and ends where the group varied."""
    place = factor["name"].partition("_at_")[2]
    side = next(name for name, ends in ENDS.items() if ends == factor["sides"])
    return [
        {
            "name": f"{bit}_at_{place}" if place else bit,
            "settings": [bit],
            "devices": list(factor["devices"]),
            "sides": side,
            "needs": list(_needs(bit)),
        }
        for bit in bits
    ]


def bits_campaign(
    plan: Plan, off: Sequence[str], paths: Iterable[str], rate: float = 1.0
) -> dict[str, Any] | None:
    """Return the campaign for what a cure switches off, on the paths on which that is to blame; None
    where none of it is a group.

    ``rate`` is the share of the trials that were in trouble before. Features that no device can vary
    leave the campaign when it is planned.
    """
    paths = list(paths)
    tunnels = _of_tunnels(plan, paths)
    factors: list[dict[str, Any]] = []
    for factor in plan["factors"]:
        if factor["name"] in off:
            if factor["settings"][0] not in GROUPS or len(factor["settings"]) > 1:
                return None
            factors += _factors(factor, [*GROUPS[factor["settings"][0]], *tunnels])
    if not 0 < len(factors) <= MOST_FACTORS:
        return None
    return {
        "name": f"{plan['name']}-bits"[:64],
        "design": INTEGRITY,
        "until": NAMED,
        "blocks": max(
            NAMED_BLOCKS, blocks_for(rate) // 2
        ),  # each feature is on in half of the profiles
        "control_visits": 2,  # all off is the one profile without the feature that others need
        "paths": paths,
        "mtus": list(plan["mtus"]),
        "factors": factors,
        "workloads": ["payload"],
        "duration": seconds_for(plan, rate),
        "confirm": 0,
    }
