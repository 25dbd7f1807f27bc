# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How devices are set now, of all that a snapshot restores by ethtool."""

from __future__ import annotations

from typing import Any, Iterable

from .._base.errors import InputError
from .._base.network import HOST, key_of
from .._kinds.change import NodeReader
from .._kinds.command import COMMAND
from .._kinds.devices import Device, parse_devices
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
    return _with_commands(parse_devices(requested), [*settings, host] if host else settings)


def places(items: Iterable[Item]) -> list[Item]:
    """Return devices as :func:`read_settings` takes them: name, namespace, and the commands that it
    reads back.
    """
    keys = ("name", "netns", COMMAND.group)
    return [{key: item[key] for key in keys if key in item} for item in items]


def _with_commands(requested: Iterable[Device], settings: list[Item]) -> list[Item]:
    """Add the values of the commands that are requested to devices with their settings."""
    by_key = {key_of(item): item for item in settings}
    reader = NodeReader()
    for device in requested:
        commands = COMMAND.asked_of(device.requested)
        if commands:
            state = COMMAND.read({device.name: commands}, device.netns, reader)[device.name]
            item = by_key.setdefault(device.key, {"name": device.name, "netns": device.netns})
            item[COMMAND.kept_as] = COMMAND.kept(COMMAND.described(state))
    return list(by_key.values())


def check_commands(items: Iterable[Item]) -> None:
    """Raise :class:`InputError` for a command that cannot be read back, before anything changes."""
    for item in items:
        for name, kept in item.get(COMMAND.group, {}).items():
            if kept["value"] is None:
                raise InputError(
                    f"the command could not be restored: {kept['reason']}",
                    f"{key_of(item)}: command {name}",
                    "Correct offload_lab_commands, or leave the command out. Nothing was changed.",
                )


def _is_host(item: Any) -> bool:
    [device] = parse_devices([item])
    return device.name == HOST and not device.netns
