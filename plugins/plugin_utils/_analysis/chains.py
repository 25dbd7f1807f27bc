# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hops of a campaign that varies a setting at each class of devices and at each end separately,
and the settings that must be on for each hop to break. Pure.

Work that a device leaves undone, such as a checksum, is done by the last device that the packet
meets, or by the first device whose offload is off. So an offload of sent packets breaks at a hop
only while it is on there and at all hops before. An offload of received packets breaks while it is
on there.
"""

from __future__ import annotations

from typing import NamedTuple

from .._campaign.nouns import Factor, Plan
from .._paths.path import UNDERLAY
from .result import Hop

# The node receives by a tenant's port what the tenant sends: that port sends to the tenant alone.
ON_THE_WAY_OUT = ("host", "tenant", "tunnel", UNDERLAY)


class Explanation(NamedTuple):
    """A hop, and what has to be on for it to break."""

    hop: Hop
    condition: dict[str, bool]  # the hop's own factor first


def _is_on_the_way_out(factor: Factor) -> bool:
    return factor["devices"][0] in ON_THE_WAY_OUT


def _rank(factor: Factor) -> int:
    """Return the place of a hop on the way out; hops that are not on it come first."""
    return ON_THE_WAY_OUT.index(factor["devices"][0]) if _is_on_the_way_out(factor) else -1


def chains(plan: Plan) -> list[list[Factor]]:
    """Return the factors that are one setting at the hops of one end, in the order of a packet that
    is sent; none for a campaign that does not vary a setting at several hops.
    """
    by_end: dict[tuple[tuple[str, ...], str], list[Factor]] = {}
    for factor in plan["factors"]:
        if len(factor["devices"]) != 1 or len(factor["sides"]) != 1:
            return []
        by_end.setdefault((tuple(factor["settings"]), factor["sides"][0]), []).append(factor)
    if len(by_end) == len(plan["factors"]) and len({key[0] for key in by_end}) == len(by_end):
        return []
    return [sorted(factors, key=_rank) for factors in by_end.values()]


def explanations(chain: list[Factor]) -> list[Explanation]:
    """Return the hops of one end at which a setting can break."""
    hops: list[Explanation] = []
    before: list[str] = []
    for factor in chain:
        hop = Hop(tuple(factor["settings"]), factor["sides"][0], factor["devices"][0])
        hops.append(Explanation(hop, {factor["name"]: True}))
        if not _is_on_the_way_out(factor):
            continue
        before.insert(0, factor["name"])
        if len(before) > 1:
            hops.append(Explanation(hop, dict.fromkeys(before, True)))
    return hops
