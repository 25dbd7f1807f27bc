# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How devices are set now, of all that a snapshot restores by ethtool."""

from __future__ import annotations

from typing import Any

from .._kinds.devices import parse_devices
from .._kinds.host import HOST
from .._kinds.info import FLOW_TYPES, RESTORED, host_item, read, restore_item
from .identity import Item
from .snapshot import exists


def present(items: list[Any], netns: str | None = None) -> list[Any]:
    """Return those items of an option ``devices`` whose devices exist."""
    return [
        item
        for item, device in zip(items, parse_devices(items, netns))
        if exists({"name": device.name, "netns": device.netns})
    ]


def read_settings(items: list[Any], missing: str) -> list[Item]:
    """Return each device with its settings, and then the host with its own, in the form that module
    ethtool restores; raise for a device that is missing.
    """
    devices = read(
        {
            "devices": items if missing == "error" else present(items),
            "netns": None,
            "gather": RESTORED,
            "flow_types": FLOW_TYPES,
        }
    )
    found = [restore_item(device) for device in devices.values()]
    host = host_item() if found and HOST not in devices else {}
    return [*found, host] if host else found
