# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the present features of devices change in a campaign before it is planned. Pure.

A screen, a search and a check of the payload leave out the factors that the hardware cannot vary.
Their visits are few, and each profile differs in many factors: one that nothing can change would
cost visits and show nothing. Other designs keep such a factor: the plan warns of it, and its
verdict says ``unsupported``.

A check of the payload also visits the state of the hosts as found, as a profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from ...module_utils._base import network
from ...module_utils._base.errors import InputError
from ...module_utils._ethtool.features import Feature, resolve
from .._campaign.interim import INTEGRITY
from .._campaign.nouns import AS_FOUND, MIXED, UNKNOWN, Campaign, Factor, Plan

DESIGNS = ("screen", "search", "integrity")
# A node: its devices by class, and what module ethtool_info returned of them, by name or
# netns/name.
DevicesAndFeatures = tuple[
    Mapping[str, Sequence[Mapping[str, Any]]], Mapping[str, Mapping[str, Any]]
]


def devices_read(
    factor: Factor, nodes: Iterable[DevicesAndFeatures]
) -> Iterator[tuple[str, dict[str, Feature]]]:
    """Yield ``(name, features)`` of each device that a factor is for and that was read."""
    for classes, readings in nodes:
        for group in factor["devices"]:
            for device in classes.get(group) or ():
                key = network.key_of(device)
                if (readings.get(key) or {}).get("features"):
                    yield key, readings[key]["features"]


def _can_vary(factor: Factor, features: dict[str, Feature], device: str) -> bool:
    try:
        bits = [resolve(name, features, device) for name in factor["settings"]]
    except InputError:
        return True  # reported elsewhere: the task that sets it names the feature and similar ones
    return any(not features[bit]["fixed"] for bit in chain.from_iterable(bits))


def fixed(factor: Factor, nodes: Sequence[DevicesAndFeatures]) -> str | None:
    """Return why a factor cannot be varied on any of the devices that were read, or None."""
    if factor["kind"] != "feature":
        return None
    devices = list(devices_read(factor, nodes))
    if not devices or any(_can_vary(factor, features, device) for device, features in devices):
        return None
    return f"it is fixed on {', '.join(dict.fromkeys(device for device, _features in devices))}"


def warnings(campaign: Campaign, nodes: Sequence[DevicesAndFeatures]) -> Iterator[str]:
    """Yield what a plan warns of that keeps factors although they cannot be varied, one sentence
    each.
    """
    reasons = {factor["name"]: fixed(factor, nodes) for factor in campaign["factors"]}
    for name, reason in reasons.items():
        if reason:
            yield f"{name} cannot be varied: {reason}. What needs it is measured without it, and not compared."
    if reasons and all(reasons.values()):
        yield "No factor can be varied here, so the report will compare nothing."


def without_fixed(
    campaign: Campaign, nodes: Sequence[DevicesAndFeatures], planned: Mapping[str, str] | None
) -> Campaign:
    """Return the campaign without the factors that cannot be varied; they are in ``untestable``
    with the reason.

    ``planned`` is ``untestable`` of an existing plan: its choice stays.
    """
    if campaign["design"] not in DESIGNS:
        return campaign
    reason_of = {
        factor["name"]: fixed(factor, nodes) if planned is None else planned.get(factor["name"])
        for factor in campaign["factors"]
    }
    reasons = {name: reason for name, reason in reason_of.items() if reason}
    varied = [factor for factor in campaign["factors"] if factor["name"] not in reasons]
    if not varied:
        listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        raise InputError(
            f"no factor can be varied here ({listed})",
            f"campaign {campaign['name']}",
            "Give factors that 'ethtool -k' does not call fixed, or other devices.",
        )
    return cast(
        Campaign,
        {**campaign, "factors": varied, "untestable": {**campaign["untestable"], **reasons}},
    )


def with_as_found(
    campaign: Campaign, nodes: Sequence[DevicesAndFeatures], old: Plan | None
) -> Campaign:
    """Return a campaign of design integrity with the levels that its factors have as found.

    ``old`` is the plan of a campaign that goes on: its state stays, because the hosts may be in
    another one now. Only features can be read, so a campaign with another kind of factor stays
    unchanged.
    """
    factors = campaign["factors"]
    if campaign["design"] != INTEGRITY or any(factor["kind"] != "feature" for factor in factors):
        return campaign
    if old:
        planned = old["profiles"].get(AS_FOUND)
        return {**campaign, "as_found": planned["levels"]} if planned else campaign
    if not any(readings for _classes, readings in nodes):
        return campaign
    return {
        **campaign,
        "as_found": {factor_read["name"]: _level(factor_read, nodes) for factor_read in factors},
    }


def _level(factor: Factor, nodes: Sequence[DevicesAndFeatures]) -> str:
    """Return the level that a factor has at the devices that can vary it."""
    states = set[bool]()
    for device, features in devices_read(factor, nodes):
        states |= _states(factor, features, device)
    if len(states) == 1:
        return factor["levels"][-1 if True in states else 0]
    return MIXED if states else UNKNOWN


def _states(factor: Factor, features: dict[str, Feature], device: str) -> set[bool]:
    """Return whether a factor is on at a device; nothing where the device cannot vary it."""
    try:
        bits = set(
            chain.from_iterable(resolve(name, features, device) for name in factor["settings"])
        )
    except InputError:
        return set()
    active = {features[bit]["active"] for bit in bits if not features[bit]["fixed"]}
    return {any(active)} if active else set()
