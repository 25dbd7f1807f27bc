# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state in which the hosts are, as a profile of a check of the payload. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ...module_utils._base.errors import InputError
from ...module_utils._ethtool.alias import resolve
from ...module_utils._ethtool.features import Feature
from .._campaign.looks import INTEGRITY
from .._campaign.nouns import Campaign, Factor, Plan
from .._campaign.profiles import AS_FOUND, MIXED, UNKNOWN
from .fixed import DevicesAndFeatures, devices_read


def with_as_found(
    campaign: Campaign, nodes: Sequence[DevicesAndFeatures], old: Plan | None
) -> Campaign:
    """Return a campaign of design integrity with the levels that its factors have as found.

    ``old`` is the plan of a campaign that goes on: its state stays, as the hosts may be in any other
    one now. Only features can be read, so a campaign with another kind of factor stays as it is.
    """
    factors = campaign["factors"]
    if campaign["design"] != INTEGRITY or any(factor["kind"] != "feature" for factor in factors):
        return campaign
    if old:
        planned = old["profiles"].get(AS_FOUND)
        return {**campaign, "as_found": planned["levels"]} if planned else campaign
    if not any(readings for _classes, readings in nodes):
        return campaign
    return {**campaign, "as_found": {one["name"]: _level(one, nodes) for one in factors}}


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
