# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: which applied settings are no longer as they were applied."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, TypedDict

from .._base.network import key_of
from .._kinds.kinds import DEVICE_KINDS
from .identity import Item

# What a kind is called, by the key under which its settings are kept.
GROUPS = {kind.kept_as: group for group, kind in DEVICE_KINDS.items()}


class Drifted(TypedDict):
    """A setting that is no longer as it was applied; None for what is not there."""

    kind: str
    name: str
    applied: Any
    now: Any


class DeviceDrift(TypedDict):
    """What became of the settings that were applied to a device."""

    device: str
    settings: int
    missing: bool
    drifted: list[Drifted]


def _rows(applied: Item, now: Item) -> list[Drifted]:
    rows: list[Drifted] = []
    for key, group in GROUPS.items():
        there: dict[str, Any] = now.get(key, {})
        for name, value in applied.get(key, {}).items():
            if there.get(name) != value:
                rows.append({"kind": group, "name": name, "applied": value, "now": there.get(name)})
    return rows


def _count(applied: Mapping[str, Any]) -> int:
    return sum(len(applied.get(key, {})) for key in GROUPS)


def drift(applied: Iterable[Item], now: Iterable[Item]) -> list[DeviceDrift]:
    """Return what became of each device; ``now`` has the devices that are there."""
    there = {key_of(device): device for device in now}
    drifted: list[DeviceDrift] = []
    for device in applied:
        key = key_of(device)
        rows = _rows(device, there[key]) if key in there else []
        drifted.append(
            {
                "device": key,
                "settings": _count(device),
                "missing": key not in there,
                "drifted": rows,
            }
        )
    return drifted
