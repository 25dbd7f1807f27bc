# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to last of each device: the settings that were asked for, as this device takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._ethtool import rps
from .._ethtool.change import plan_device, read_all
from .._ethtool.devices import parse_devices
from .._restore.snapshot import exists

ONLINE = "/sys/devices/system/cpu/online"


def resolve(items: list[dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return ``({device: settings}, notes)``; what a device cannot change is left out of its
    settings.
    """
    devices = parse_devices(
        [{key: value for key, value in item.items() if key != "rps"} for item in items]
    )
    notes = [
        f"{device.key} is in a network namespace, which the host's own configuration does not cover"
        for device in devices
        if device.netns
    ]
    here = [device for device in devices if not device.netns and exists({"name": device.name})]
    states = read_all(here)
    found: dict[str, dict[str, Any]] = {}
    for device in here:
        plans = plan_device(device, states[device.key], True)
        kinds = {
            kind: {
                name: value for name, value in plan["asked"].items() if name not in plan["fixed"]
            }
            for kind, plan in plans.items()
        }
        found[device.name] = {kind: values for kind, values in kinds.items() if values}
    with open(ONLINE) as stream:
        online = stream.read()
    for item, device in zip(items, devices):
        if item.get("rps") and device in here:
            mask = rps.wanted_mask(str(item["rps"]["cpus"]), online)
            found.setdefault(device.name, {})["rps"] = rps.format_mask(mask)
    return {name: kinds for name, kinds in found.items() if kinds}, notes


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
