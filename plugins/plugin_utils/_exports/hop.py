# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The campaigns that follow a cure. Pure.

One asks at which hop a setting breaks: it is varied at each class of devices and at each end
separately. Two ask which feature of a group breaks: ``tx`` and ``tso`` stand for several of the
kernel's features. First the features are varied that cut the path's TCP, then each of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NotRequired, TypedDict

from .._analysis.blame import OF_SINGLES
from .._analysis.cure import OF_TROUBLE
from .._campaign.factors import ENDS, FactorEntry
from .._campaign.interim import INTEGRITY, NAMED, NAMED_BLOCKS
from .._campaign.nouns import Factor, Plan
from .._campaign.plan_file import paths_of
from .._statistics.rules import ALPHA

TROUBLED = 8.0  # trials in trouble that each profile should have if it does not cure
FEWEST_BLOCKS = 4  # where nearly each trial is in trouble
# The same, where an end has one class of devices, and so one profile with it on
FEWEST_OF_ONE_CLASS = 6
NEARLY_EACH = 0.9
SHORT = 2.0  # s of a check that such a fault needs
MOST_BLOCKS = 24
MOST_FACTORS = 12  # each adds a visit to a block


def _hop(factor: Factor, side: str, devices: str) -> FactorEntry:
    """Return a factor that varies a setting at one class of devices of one end."""
    return {
        "name": f"{factor['name']}_at_{side}_{devices}",
        "kind": factor["kind"],
        "settings": list(factor["settings"]),
        "levels": list(factor["levels"]),
        "devices": [devices],
        "sides": next(name for name, ends in ENDS.items() if ends == [side]),
    }


def _chains(plan: Plan, off: Sequence[str]) -> dict[str, list[FactorEntry]]:
    """Return the hops of each setting at each end, by a name for both."""
    chains: dict[str, list[FactorEntry]] = {}
    for factor in plan["factors"]:
        if factor["name"] not in off or factor["kind"] != "feature":
            continue
        for side in factor["sides"]:
            name = f"{factor['name']}_at_{side}"
            chains[name] = [_hop(factor, side, devices) for devices in factor["devices"]]
    return chains


def _profiles(chains: Mapping[str, Sequence[FactorEntry]]) -> dict[str, dict[str, str]]:
    """Return all off, and of each end all its hops on, and all but each.

    One end at a time: what both ends break would hide what one of them does.
    """
    every = itertools.chain.from_iterable(chains.values())
    all_off = dict.fromkeys([hop["name"] for hop in every], "off")
    profiles = {"all_off": all_off}
    for chain, hops in chains.items():
        on = {**all_off, **dict.fromkeys([hop["name"] for hop in hops], "on")}
        profiles[chain] = on
        for hop in hops if len(hops) > 1 else ():
            profiles[f"not_{hop['name']}"] = {**on, hop["name"]: "off"}
    return profiles


class FollowUp(TypedDict):
    """A campaign that recommended.yml suggests, as a campaign file has it."""

    name: str
    design: str
    until: NotRequired[str]
    control: NotRequired[str]
    profiles: NotRequired[Mapping[str, Mapping[str, str]]]
    blocks: int
    control_visits: int
    paths: list[str]
    mtus: Sequence[int | None]
    factors: list[FactorEntry]
    workloads: list[str]
    duration: float
    confirm: int


def blocks_for(rate: float) -> int:
    """Return how many blocks show a fault that strikes this share of the trials."""
    if rate >= NEARLY_EACH:
        return FEWEST_BLOCKS
    return min(MOST_BLOCKS, math.ceil(TROUBLED / max(rate, TROUBLED / MOST_BLOCKS)))


def fewest_blocks(profiles: int, broken: int, tests: int) -> int:
    """Return in how many blocks one of these tests shows a fault: ``broken`` of the profiles are in
    trouble in each trial, and the others in none.
    """
    level = ALPHA * OF_TROUBLE * OF_SINGLES / tests
    return next(
        blocks
        for blocks in itertools.count(2)
        if math.comb(profiles * blocks, broken * blocks) * level > 1
    )


def seconds_for(plan: Plan, rate: float, enough: float | None) -> float:
    """Return how long a check takes to see such a fault, in seconds."""
    seconds = max((float(load["duration"]) for load in plan["workloads"]), default=4.0)
    if rate < NEARLY_EACH:
        return seconds
    return min(enough or SHORT, seconds)


def _fewest(chains: Mapping[str, Sequence[FactorEntry]]) -> int:
    """Return how many blocks name the hop of a fault that strikes each trial."""
    single = any(len(hops) == 1 for hops in chains.values())
    return FEWEST_OF_ONE_CLASS if single else FEWEST_BLOCKS


def hop_campaign(
    plan: Plan,
    off: Sequence[str],
    paths: Iterable[str],
    rate: float = 1.0,
    enough: float | None = None,
) -> FollowUp | None:
    """Return the campaign for the settings that a cure switches off, on the paths that they break;
    None if it would show nothing new. ``rate`` is the share of earlier trials in trouble: a rare
    fault needs more blocks. ``enough`` is the length of a check in seconds that shows it,
    where it strikes often in these.

    Other settings stay unchanged on the hosts, so the settings that these need are on.
    """
    chains = _chains(plan, off)
    factors = list(itertools.chain.from_iterable(chains.values()))
    switched_off = [factor for factor in plan["factors"] if factor["name"] in off]
    if not len(switched_off) < len(factors) <= MOST_FACTORS:
        return None
    return {
        "name": f"{plan['name']}-hop"[:64],
        "design": "profiles",
        "until": NAMED,
        "control": "all_off",
        "profiles": _profiles(chains),
        "blocks": max(blocks_for(rate), _fewest(chains)),
        "control_visits": 1,
        "paths": list(paths),
        "mtus": list(plan["mtus"]),
        "factors": factors,
        "workloads": ["payload"],
        "duration": seconds_for(plan, rate, enough),
        "confirm": 0,
    }


CHECKSUMS = ("tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6")
TCP6 = "tx-tcp6-segmentation"
TCP = ("tx-tcp-segmentation", TCP6)
UDP = ("tx-udp-segmentation",)
GRE = ("tx-gre-segmentation", "tx-gre-csum-segmentation")
UDP_TUNNEL = ("tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation")
OF_TUNNELS = {"none": (), "gre": GRE}  # of all others UDP_TUNNEL
# What a device no longer does where the group is off, in addition to its work for a tunnel.
GROUPS = {"tx": (*CHECKSUMS, *TCP, *UDP), "tso": TCP}
MOST_BITS = 20  # each adds two visits to a block


def _of_tunnels(plan: Plan, paths: Iterable[str]) -> list[str]:
    """Return the features with which a device cuts packets inside the tunnels of these paths."""
    features: dict[str, None] = {}
    plan_paths = paths_of(plan)
    for path in paths:
        around = plan_paths.named(path).encapsulation.name
        features.update(dict.fromkeys(OF_TUNNELS.get(around, UDP_TUNNEL)))
    return list(features)


def _cuts_ipv6(plan: Plan, paths: Iterable[str]) -> bool:
    """Return whether TCP over IPv6 may be cut on these paths. The ends of the lab's paths are not in
    the plan, so they may have any address.
    """
    plan_paths = paths_of(plan)
    for path in paths:
        ends = [existing["end"] for existing in plan_paths.named(path).nodes.values()]
        if not ends or any(":" in end["address"] for end in ends):
            return True
    return False


def _needs(bit: str) -> tuple[str, ...]:
    """Return the features without which one does nothing: a device cuts what it makes checksums of,
    and TCP inside a tunnel if it cuts TCP.
    """
    if bit in CHECKSUMS:
        return ()
    return CHECKSUMS if bit in TCP + UDP else (*CHECKSUMS, TCP[0])


def _factors(factor: Factor, bits: Iterable[str]) -> list[FactorEntry]:
    """Return a factor for each feature of a group, at the devices and ends where the group varied."""
    hop = factor["name"].partition("_at_")[2]
    side = next(name for name, ends in ENDS.items() if ends == factor["sides"])
    return [
        {
            "name": f"{bit}_at_{hop}" if hop else bit,
            "settings": [bit],
            "devices": list(factor["devices"]),
            "sides": side,
            "needs": list(_needs(bit)),
        }
        for bit in bits
    ]


def bits_campaign(
    plan: Plan,
    off: Sequence[str],
    paths: Iterable[str],
    rate: float = 1.0,
    enough: float | None = None,
) -> FollowUp | None:
    """Return the campaign for the settings that a cure switches off, on the paths that they break;
    None if none of them is a group.

    ``rate`` and ``enough`` are the same as of :func:`hop_campaign`. Planning the campaign removes features that
    no device can vary.
    """
    paths = list(paths)
    tunnels = _of_tunnels(plan, paths)
    unused = set() if _cuts_ipv6(plan, paths) else {TCP6}
    factors: list[FactorEntry] = []
    for factor in plan["factors"]:
        if factor["name"] in off:
            if factor["settings"][0] not in GROUPS or len(factor["settings"]) > 1:
                return None
            bits = [*GROUPS[factor["settings"][0]], *tunnels]
            factors += _factors(factor, [bit for bit in bits if bit not in unused])
    if not 0 < len(factors) <= MOST_BITS:
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
        "duration": seconds_for(plan, rate, enough),
        "confirm": 0,
    }


def _cut_tcp(plan: Plan, paths: Sequence[str]) -> list[str]:
    """Return the features with which a device cuts the TCP of these paths."""
    tunnels = _of_tunnels(plan, paths)
    if tunnels:
        return tunnels
    return list(TCP) if _cuts_ipv6(plan, paths) else [TCP[0]]


def _without_each(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return all off, all on, and all but each of several factors."""
    on = dict.fromkeys(names, "on")
    profiles = {"all_off": dict.fromkeys(names, "off"), "all_on": on}
    if len(names) > 1:
        profiles.update((f"not_{name}", {**on, name: "off"}) for name in names)
    return profiles


def likely_campaign(
    plan: Plan,
    off: Sequence[str],
    paths: Iterable[str],
    rate: float = 1.0,
    enough: float | None = None,
) -> FollowUp | None:
    """Return the campaign that varies only the features with which a device cuts the TCP of these paths;
    None where the cure is no single group, or the fault does not strike nearly each trial.

    Its profiles are named before it begins, so one of them that is clean is confirmed. All other
    features stay unchanged on the hosts.
    """
    paths = list(paths)
    groups = [factor for factor in plan["factors"] if factor["name"] in off]
    single = len(groups) == 1 and groups[0]["settings"] in [[name] for name in GROUPS]
    if not single or rate < NEARLY_EACH:
        return None
    factors: list[FactorEntry] = [
        {**entry, "needs": []} for entry in _factors(groups[0], _cut_tcp(plan, paths))
    ]
    names = [factor["name"] for factor in factors]
    profiles = _without_each(names)
    return {
        "name": f"{plan['name']}-likely"[:64],
        "design": "profiles",
        "control": "all_off",
        "profiles": profiles,
        "blocks": fewest_blocks(len(profiles), len(names), len(names) * len(paths)),
        "control_visits": 1,
        "paths": paths,
        "mtus": list(plan["mtus"]),
        "factors": factors,
        "workloads": ["payload"],
        "duration": seconds_for(plan, rate, enough),
        "confirm": 0,
    }
