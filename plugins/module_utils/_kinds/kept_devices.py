# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The devices that a snapshot is to keep before some profiles are set. Pure."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.network import HOST
from .command_levels import GROUP, Allowed, with_commands
from .devices import devices_of_classes
from .kind import NODE


def kept_devices(
    classes: Mapping[str, Any], profiles: Iterable[Mapping[str, Any]], allowed: Allowed
) -> list[dict[str, Any]]:
    """Return all devices of the host, the host itself where a profile sets it, and the commands that
    change each.
    """
    items: dict[tuple[str | None, str], dict[str, Any]] = {}
    for devices in classes.values():
        for device in devices:
            items[(device.get("netns") or None, device["name"])] = dict(device)
    for settings in profiles:
        if NODE in settings:
            items.setdefault((None, HOST), {"name": HOST})
        of_host = {
            key: groups for key, groups in settings.items() if classes.get(key) or key == NODE
        }
        for device in devices_of_classes(with_commands(of_host, allowed), classes, [GROUP]):
            item = items[(device["netns"], device["name"])]
            item[GROUP] = {**item.get(GROUP, {}), **device[GROUP]}
    return list(items.values())
