# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which factors the hardware cannot vary: a screen, a search and a check of the payload leave them
out before they are planned. Pure.

Their visits are few, and each profile differs in many factors: one that nothing can change would
cost visits and show nothing. Other designs keep such a factor: the plan warns of it, and its
verdict says ``unsupported``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from ...module_utils._base import network
from ...module_utils._base.errors import InputError
from ...module_utils._ethtool.alias import resolve
from ...module_utils._ethtool.features import Feature
from .._campaign.nouns import Campaign, Factor

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

    ``planned`` is ``untestable`` of the plan that is there already: its choice stays.
    """
    if campaign["design"] not in DESIGNS:
        return campaign
    known = {
        factor["name"]: fixed(factor, nodes) if planned is None else planned.get(factor["name"])
        for factor in campaign["factors"]
    }
    reasons = {name: reason for name, reason in known.items() if reason}
    left = [factor for factor in campaign["factors"] if factor["name"] not in reasons]
    if not left:
        told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        raise InputError(
            f"no factor can be varied here ({told})",
            f"campaign {campaign['name']}",
            "Give factors that 'ethtool -k' does not call fixed, or other devices.",
        )
    return cast(
        Campaign, {**campaign, "factors": left, "untestable": {**campaign["untestable"], **reasons}}
    )
