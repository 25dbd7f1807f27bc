# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factors: what a campaign varies. The kinds are in module_utils/_kinds.

A factor, as plan.json has it: ``name``, ``kind``, ``levels`` (names, the first is "off"),
``values`` {level: value}, ``settings`` (what takes the value), ``devices`` (device classes),
``sides`` (ends), ``needs`` (features).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NotRequired, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._kinds.kinds import KINDS
from .._paths.lab_paths import LAB, Paths
from .._paths.path import FORWARDER, UNDERLAY
from .nouns import Factor, Levels, Settings

ENDS = {
    "tx": ["client"],
    "rx": ["server"],
    "both": ["client", "server"],
    FORWARDER: [FORWARDER],
}


def level_name(level: bool | int | str) -> str:
    """Return a level as text: YAML reads a bare ``off`` or ``on`` as a bool."""
    return {False: "off", True: "on"}[level] if isinstance(level, bool) else str(level)


def _value(kind: str, value: Any, where: str) -> Any:
    """Return a level's value as it is set; a mapping names its settings itself."""
    if isinstance(value, dict):
        return {name: _value(kind, level, where) for name, level in value.items()}
    try:
        return KINDS[kind].value(level_name(value))
    except ValueError as allowed:
        raise InputError(f"{value!r} is not a level of kind {kind}", where, f"Give {allowed}.")


def _levels(asked: Any, kind: str, where: str) -> dict[str, object]:
    """Return ``{level name: value}`` in the order given."""
    levels = asked if asked is not None else KINDS[kind].levels
    if levels is None:
        raise InputError(
            f"kind {kind} needs levels", where, "Give two or more, such as levels: [1, 4]."
        )
    pairs = levels.items() if isinstance(levels, dict) else [(level, level) for level in levels]
    values = {level_name(name): _value(kind, value, where) for name, value in pairs}
    if len(values) < 2:
        raise InputError("the levels are all the same", where, "Give two different levels or more.")
    return values


class AskedFactor(TypedDict):
    """An entry of a campaign's ``factors``."""

    name: str
    kind: NotRequired[str]
    levels: NotRequired[Any]
    sides: NotRequired[str | list[str]]
    devices: NotRequired[list[str]]
    settings: NotRequired[list[str]]
    needs: NotRequired[list[str]]


class Varied(TypedDict):
    """What a campaign says of all its factors."""

    sides: str | list[str]
    paths: list[str]


def _kind_of(asked: AskedFactor, where: str) -> str:
    """Return the kind of a factor, which its name tells where it has none."""
    kind = asked.get("kind", asked["name"] if asked["name"] in KINDS else "feature")
    if kind not in KINDS:
        raise InputError(f"{kind!r} is not a kind of setting", where, f"Use {', '.join(KINDS)}.")
    if asked.get("needs") and kind != "feature":
        raise InputError(
            "only a factor of kind feature can need features", where, "Leave 'needs' out."
        )
    return kind


def _devices_at(side: str, devices: list[str]) -> list[str]:
    """Return the classes of a factor's devices at a side: a forwarder has devices of an underlay alone."""
    if side == FORWARDER and UNDERLAY in devices:
        return [UNDERLAY]
    return devices


def read_factor(asked: str | AskedFactor, campaign: Varied, known: Paths = LAB) -> list[Factor]:
    """Return the factors, one or one an end, of an entry of a campaign's ``factors`` (a name or a
    mapping).
    """
    asked = {"name": asked} if isinstance(asked, str) else asked
    where = f"factor {asked['name']}"
    kind = _kind_of(asked, where)
    values = _levels(asked.get("levels"), kind, where)
    devices = asked.get("devices") or KINDS[kind].devices or known.classes(campaign["paths"])
    sides = asked.get("sides", campaign["sides"])
    sides = sides if isinstance(sides, list) else [sides]
    return [
        {
            "name": f"{asked['name']}@{side}" if len(sides) > 1 else asked["name"],
            "kind": kind,
            "levels": list(values),
            "values": values,
            "settings": asked.get("settings") or KINDS[kind].settings or [asked["name"]],
            "devices": _devices_at(side, devices),
            "sides": ENDS[side],
            "needs": asked.get("needs", []),
        }
        for side in sides
    ]


def _group(factor: Factor, level: str) -> Mapping[str, object]:
    """Return what one level adds to the settings of a device, such as ``{"features": {"tso":
    True}}``.
    """
    value = factor["values"][level]
    settings = value if isinstance(value, dict) else dict.fromkeys(factor["settings"], value)
    group = KINDS[factor["kind"]].group
    return {group: settings} if group else settings


def _merge(ends: Settings, factor: Factor, added: Mapping[str, object]) -> None:
    """Add to the settings of each device that a factor is for."""
    for side, device in product(factor["sides"], factor["devices"]):
        target = ends[side].setdefault(device, {})
        for key, value in added.items():
            if isinstance(value, dict):
                target.setdefault(key, {}).update(value)
            else:
                target[key] = value


def settings_of(factors: Iterable[Factor], levels: Levels, with_needs: bool = False) -> Settings:
    """Return ``{end: {device class: settings}}`` of a profile; ``levels`` is ``{factor: level}``.

    With ``with_needs``, features that a factor needs are on at its levels other than the first.
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
