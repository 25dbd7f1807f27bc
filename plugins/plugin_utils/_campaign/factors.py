# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factors, which a campaign varies, and the settings that their levels give a profile. Pure.

:class:`.nouns.Factor` lists the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NotRequired, TypedDict

from ...module_utils._kinds.kind import group_of
from .._paths.path import FORWARDER
from .nouns import Factor, Levels, Settings

ENDS = {
    "tx": ["client"],
    "rx": ["server"],
    "both": ["client", "server"],
    FORWARDER: [FORWARDER],
}


class FactorEntry(TypedDict):
    """An entry of a campaign's ``factors``."""

    name: str
    kind: NotRequired[str]
    levels: NotRequired[Any]
    sides: NotRequired[str | list[str]]
    devices: NotRequired[list[str]]
    settings: NotRequired[list[str]]
    needs: NotRequired[list[str]]


def all_off(factors: Iterable[Factor]) -> Levels:
    """Return the first level of each factor."""
    return {factor["name"]: factor["levels"][0] for factor in factors}


def all_on(factors: Iterable[Factor]) -> Levels:
    """Return the last level of each factor."""
    return {factor["name"]: factor["levels"][-1] for factor in factors}


def level_name(level: bool | int | str) -> str:
    """Return a level as text: YAML reads ``off`` and ``on`` without quotes as bool."""
    return {False: "off", True: "on"}[level] if isinstance(level, bool) else str(level)


def _group(factor: Factor, level: str) -> Mapping[str, object]:
    """Return the settings of a level, such as ``{"features": {"tso": True}}``."""
    value = factor["values"][level]
    settings = value if isinstance(value, dict) else dict.fromkeys(factor["settings"], value)
    group = group_of(factor["kind"])
    return {group: settings} if group else settings


def _merge(ends: Settings, factor: Factor, added: Mapping[str, object]) -> None:
    """Add settings to each device of a factor."""
    for side, device in product(factor["sides"], factor["devices"]):
        target = ends[side].setdefault(device, {})
        for key, value in added.items():
            if isinstance(value, dict):
                target.setdefault(key, {}).update(value)
            else:
                target[key] = value


def settings_of(factors: Iterable[Factor], levels: Levels, with_needs: bool = False) -> Settings:
    """Return the settings of a profile.

    With ``with_needs``, a factor that is not at its first level switches on the features that it needs.
    """
    factors = list(factors)
    ends: Settings = {"client": {}, "server": {}}
    if any(FORWARDER in factor["sides"] for factor in factors):
        ends[FORWARDER] = {}
    needed: list[Factor] = []
    for factor in factors:
        level = levels[factor["name"]]
        _merge(ends, factor, _group(factor, level))
        if with_needs and level != factor["levels"][0]:
            needed.append(factor)
    for factor in needed:
        _merge(ends, factor, {"features": dict.fromkeys(factor["needs"], True)})
    return ends
