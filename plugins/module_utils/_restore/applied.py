# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what apply changed, with the originals: a snapshot of these settings alone, which revert
restores; and which of these settings differ now.
"""

from __future__ import annotations

from typing import Any, Iterable, TypedDict, cast

from .._base.network import key_of
from .._kinds.kind import Item, Values
from .._kinds.kinds import DEVICE_KINDS
from .snapshot import SCHEMA, AppliedSettings, Snapshot

# What a kind is called, by the key under which its settings are kept.
KEPT = {kind.kept_as: group for group, kind in DEVICE_KINDS.items()}


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


def _differing(old: Values, new: Values) -> Values:
    return {name: value for name, value in old.items() if name in new and new[name] != value}


def _changed_settings(before: Item, now: Item) -> Item:
    """Return the originals of one device, by key."""
    differing = {key: _differing(before.get(key, {}), now.get(key, {})) for key in KEPT}
    return {key: values for key, values in differing.items() if values}


def _device_of(item: Item) -> Item:
    """Return the device alone, with its identity where that is known."""
    device = {"name": item["name"], "netns": item.get("netns")}
    return {**device, "identity": item["identity"]} if item.get("identity") else device


def originals(before: Snapshot, devices: Iterable[Item]) -> Snapshot:
    """Return the part of the snapshot ``before`` that has changed.

    ``devices`` are as the node has them now, in the form in which a snapshot has them.
    """
    changed: list[Item] = []
    now = {key_of(device): device for device in devices}
    for device in before["devices"]:
        settings = _changed_settings(device, now.get(key_of(device), {}))
        if settings:
            changed.append({**settings, **_device_of(device)})
    return {
        "schema": SCHEMA,
        "devices": changed,
        "links": [],
        "other": {},
    }


def settings_now(changed: Iterable[Item], now: Iterable[Item]) -> list[Item]:
    """Return what the settings that have changed are now, of each device of the originals."""
    there = {key_of(device): device for device in now}
    items: list[Item] = []
    for device in changed:
        values = there.get(key_of(device), {})
        item = _device_of(device)
        for key in KEPT:
            if key in device:
                item[key] = {name: values.get(key, {}).get(name) for name in device[key]}
        items.append(item)
    return items


def record(
    old: AppliedSettings | None, set_now: Iterable[Item], since: float, boot_id: str
) -> AppliedSettings:
    """Return what was applied, with what has been set now; the newer value of a setting wins."""
    devices = {key_of(device): dict(device) for device in (old["devices"] if old else ())}
    for device in set_now:
        item = devices.setdefault(key_of(device), _device_of(device))
        for key in KEPT:
            if key in device:
                item[key] = {**item.get(key, {}), **device[key]}
    return {"since": since, "boot_id": boot_id, "devices": list(devices.values())}


def merge(old: Snapshot | None, new: Snapshot) -> Snapshot | None:
    """Return both, an original that is kept already before a newer one; None where nothing was ever
    changed.
    """
    if old is None:
        return new if new["devices"] else None
    return {**old, "devices": _merged_devices(old["devices"], new["devices"])}


def _merged_devices(old: Iterable[Item], new: Iterable[Item]) -> list[Item]:
    devices = {key_of(device): dict(device) for device in old}
    for device in new:
        item = devices.setdefault(key_of(device), _device_of(device))
        for key in KEPT:
            if key in device:
                item[key] = dict(device[key], **item.get(key, {}))
    return list(devices.values())


def still_applied(
    kept: Iterable[Item], set_then: Iterable[Item], now: Iterable[Item]
) -> list[Item]:
    """Return the originals ``kept`` of those settings that are as they were applied."""
    applied_by_key = {key_of(device): device for device in set_then}
    now_by_key = {key_of(device): device for device in now}
    items: list[Item] = []
    for device in kept:
        key = key_of(device)
        settings = _unchanged(device, applied_by_key.get(key, {}), now_by_key.get(key, {}))
        if settings:
            items.append({**settings, **_device_of(device)})
    return items


def _unchanged(kept: Item, set_then: Item, now: Item) -> Item:
    """Return the originals of one device's settings that are as they were applied, by key."""
    item: Item = {}
    for key in KEPT:
        then, current = set_then.get(key, {}), now.get(key, {})
        values = {
            name: value
            for name, value in kept.get(key, {}).items()
            if name in then and then[name] == current.get(name)
        }
        if values:
            item[key] = values
    return item


def _rows(applied: Item, now: Item) -> list[Drifted]:
    rows: list[Drifted] = []
    for key, group in KEPT.items():
        there: dict[str, Any] = now.get(key, {})
        for name, value in applied.get(key, {}).items():
            if there.get(name) != value:
                values = {"applied": _plain(value), "now": _plain(there.get(name))}
                rows.append(cast(Drifted, {"kind": group, "name": name, **values}))
    return rows


def _plain(value: Any) -> Any:
    """Return a value, of a command without the command."""
    return value.get("value") if isinstance(value, dict) else value


def _count(applied: Item) -> int:
    return sum(len(applied.get(key, {})) for key in KEPT)


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
