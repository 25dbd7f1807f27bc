# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to last of each device: the settings that were asked for, as this device takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict

from .._kinds.change import plan_device, read_all
from .._kinds.devices import Device, parse_devices
from .._kinds.kind import SettingPlan
from .._restore.snapshot import exists

DeviceSettings = Dict[str, Dict[str, Any]]  # {device: {group: values}}


def resolve(items: list[dict[str, Any]]) -> tuple[DeviceSettings, list[str]]:
    """Return ``({device: settings}, notes)``; what a device cannot change is left out of its
    settings.
    """
    devices = parse_devices(items)
    notes = [
        f"{device.key} is in a network namespace, which the host's own configuration does not cover"
        for device in devices
        if device.netns
    ]
    here = [device for device in devices if not device.netns and exists({"name": device.name})]
    found = _of_devices(here)
    return {name: groups for name, groups in found.items() if groups}, notes


def _of_devices(devices: list[Device]) -> DeviceSettings:
    states = read_all(devices)
    found: DeviceSettings = {}
    for device in devices:
        plans = plan_device(device, states[device.key], True)
        groups = {group: _changeable(plan) for group, plan in plans.items()}
        found[device.name] = {group: values for group, values in groups.items() if values}
    return found


def _changeable(plan: SettingPlan) -> dict[str, Any]:
    return {name: value for name, value in plan["asked"].items() if name not in plan["fixed"]}


def merge(
    old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the settings of both; where both have one, the newer.

    They are in the order in which the file of the originals keeps them, so that the same settings
    give the same text each time.
    """
    merged = {name: dict(kinds) for name, kinds in old.items()}
    for name, kinds in new.items():
        for kind, values in kinds.items():
            known = merged.setdefault(name, {}).get(kind, {})
            merged[name][kind] = dict(sorted({**known, **values}.items()))
    return merged
