# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How devices are set now, of all that a snapshot restores by ethtool."""

from __future__ import annotations

from typing import Any

from .._base.network import HOST
from .._kinds.devices import parse_devices
from .._kinds.info import FLOW_TYPES, RESTORED, Gathering, host_item, read, restore_item
from .._kinds.kind import Item
from .snapshot import exists


def present(items: list[Any], netns: str | None = None) -> list[Any]:
    """Return those items of an option ``devices`` whose devices exist."""
    return [
        item
        for item, device in zip(items, parse_devices(items, netns))
        if exists({"name": device.name, "netns": device.netns})
    ]


def read_settings(items: list[Any], missing: str) -> list[Item]:
    """Return each device with its settings, in the form that module ethtool restores; raise for one
    that is missing. The device ``lo`` is the host itself, whose settings come last.
    """
    requested = items if missing == "error" else present(items)
    of_devices = [item for item in requested if not _is_host(item)]
    gathering: Gathering = {
        "devices": of_devices,
        "netns": None,
        "gather": RESTORED,
        "flow_types": FLOW_TYPES,
    }
    devices = read(gathering) if of_devices else {}
    settings = [restore_item(device) for device in devices.values()]
    host = host_item() if len(of_devices) < len(requested) else {}
    return [*settings, host] if host else settings


def _is_host(item: Any) -> bool:
    [device] = parse_devices([item])
    return device.name == HOST and not device.netns
