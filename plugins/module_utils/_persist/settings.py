# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to last of each device: the settings that were asked for, as this device takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict

from .._kinds import steering
from .._kinds.change import plan_device, read_all
from .._kinds.devices import KEYS, Device, parse_devices
from .._kinds.kind import SettingPlan
from .._kinds.kinds import STEERING
from .._restore.snapshot import exists

DeviceSettings = Dict[str, Dict[str, Any]]  # {device: {group: values, or a mask}}


def resolve(items: list[dict[str, Any]]) -> tuple[DeviceSettings, list[str]]:
    """Return ``({device: settings}, notes)``; what a device cannot change is left out of its
    settings.
    """
    devices = parse_devices(items, keys=(*KEYS, *STEERING))
    notes = [
        f"{device.key} is in a network namespace, which the host's own configuration does not cover"
        for device in devices
        if device.netns
    ]
    here = [device for device in devices if not device.netns and exists({"name": device.name})]
    found = _by_ethtool(here)
    for device in here:
        found[device.name].update(_masks(device))
    return {name: groups for name, groups in found.items() if groups}, notes


def _by_ethtool(devices: list[Device]) -> DeviceSettings:
    states = read_all(devices)
    found: DeviceSettings = {}
    for device in devices:
        plans = plan_device(device, states[device.key], True)
        groups = {group: _changeable(plan) for group, plan in plans.items()}
        found[device.name] = {group: values for group, values in groups.items() if values}
    return found


def _changeable(plan: SettingPlan) -> dict[str, Any]:
    return {name: value for name, value in plan["asked"].items() if name not in plan["fixed"]}


def _masks(device: Device) -> dict[str, str]:
    return {
        group: steering.format_mask(steering.asked_mask(device.asked[group], device.key))
        for group in STEERING
        if group in device.asked
    }


def merge(
    old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the settings of both, the newer ones before the older."""
    merged = {name: dict(kinds) for name, kinds in old.items()}
    for name, kinds in new.items():
        for kind, values in kinds.items():
            known = merged.setdefault(name, {}).get(kind)
            merged[name][kind] = {**known, **values} if isinstance(known, dict) else values
    return merged
