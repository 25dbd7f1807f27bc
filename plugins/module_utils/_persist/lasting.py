# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to last of each device, as this device takes it, and which devices it does not last at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Dict

from .._iproute.parse import Link
from .._iproute.read import read
from .._kinds.change import plan_device, read_all
from .._kinds.devices import Device, parse_devices
from .._kinds.kind import Asked, Item, SettingPlan, Values
from .._kinds.kinds import DEVICE_KINDS

IN_NAMESPACE = "it is in the network namespace of a container, a pod or the lab"
OF_CONTAINER = "it is the port of a container or pod, and a new one has another name"
NO_PROGRAM = "no program of the host sets it"

DeviceSettings = Dict[str, Dict[str, Values]]  # {device: {group: values}}


def resolve(items: list[Item]) -> tuple[DeviceSettings, dict[str, str]]:
    """Return ``({device: settings}, {device: why its settings cannot last})``; what a device cannot
    change is left out of its settings.
    """
    devices = parse_devices(items)
    links = read() if devices else {}
    reasons = {device.key: _why_left_out(device, links) for device in devices}
    reasons.update(_not_lasting(devices))
    matching = [device for device in devices if device.name in links and not reasons[device.key]]
    settings = _of_devices(matching)
    return (
        {name: groups for name, groups in settings.items() if groups},
        {key: reason for key, reason in reasons.items() if reason},
    )


def _not_lasting(devices: list[Device]) -> dict[str, str]:
    """Return why some kinds of settings cannot last, by device and kind."""
    reasons: dict[str, str] = {}
    for device in devices:
        for group, kind in DEVICE_KINDS.items():
            if not kind.lasts and kind.asked_of(device.requested):
                reasons[f"{device.key} {group}"] = NO_PROGRAM
    return reasons


def _why_left_out(device: Device, links: Mapping[str, Link]) -> str:
    """Return why the settings of a device cannot last; nothing where they can."""
    if device.netns:
        return IN_NAMESPACE
    link = links.get(device.name)
    return OF_CONTAINER if link and is_port_of_container(link) else ""


def is_port_of_container(link: Link) -> bool:
    """Return whether a link is the host's end of the veth of a container or pod.

    Its other end is in another namespace. A host that is a container itself has such a device, too,
    but with an address, and in no bridge.
    """
    if link["kind"] != "veth" or link["peer_netns"] is None:
        return False
    return bool(link["master"]) or not link["global"]


def _of_devices(devices: list[Device]) -> DeviceSettings:
    states = read_all(devices)
    by_name: DeviceSettings = {}
    for device in devices:
        plans = plan_device(device, states[device.key], True)
        lasting = {group: plan for group, plan in plans.items() if DEVICE_KINDS[group].lasts}
        groups = {group: _changeable(plan) for group, plan in lasting.items()}
        by_name[device.name] = {group: values for group, values in groups.items() if values}
    return by_name


def _changeable(plan: SettingPlan) -> Values:
    return {name: value for name, value in plan["requested"].items() if name not in plan["fixed"]}


def merge(old: Mapping[str, Asked], new: Mapping[str, Asked]) -> DeviceSettings:
    """Return the settings of both; where both have one, the newer.

    They are in the order in which the file of the originals keeps them, so that the same settings
    give the same text each time.
    """
    merged = {name: dict(kinds) for name, kinds in old.items()}
    for name, kinds in new.items():
        for kind, values in kinds.items():
            earlier = merged.setdefault(name, {}).get(kind, {})
            merged[name][kind] = dict(sorted({**earlier, **values}.items()))
    return merged
