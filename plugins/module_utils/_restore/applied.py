# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure: what apply changed, with the originals: a snapshot of these settings alone, which revert
restores.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from .._base.network import key_of
from .snapshot import SCHEMA, Item, Other, Snapshot

KINDS = ("features_wanted", "channels", "rings", "coalesce", "rx_flow_hash")


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in old.items() if name in new and new[name] != value}


def originals(before: Snapshot, devices: Iterable[Item], other: Other) -> Snapshot:
    """Return the part of the snapshot ``before`` that has changed.

    ``devices`` and ``other`` are what the node has now, in the form in which a snapshot has them.
    """
    changed: list[Item] = []
    now = {key_of(device): device for device in devices}
    for device in before["devices"]:
        kinds = {
            kind: _differing(device.get(kind, {}), now.get(key_of(device), {}).get(kind, {}))
            for kind in KINDS
        }
        kinds = {kind: values for kind, values in kinds.items() if values}
        if kinds:
            changed.append(dict(kinds, name=device["name"], netns=device.get("netns")))
    rps = {
        name: _differing(queues, other.get("rps", {}).get(name, {}))
        for name, queues in before["other"].get("rps", {}).items()
    }
    return {
        "schema": SCHEMA,
        "devices": changed,
        "links": [],
        "other": {
            "rps": {name: queues for name, queues in rps.items() if queues},
            "rss": _differing(before["other"].get("rss", {}), other.get("rss", {})),
        },
    }


def merge(old: Snapshot | None, new: Snapshot) -> Snapshot | None:
    """Return both, an original that is kept already before a newer one; None where nothing was ever
    changed.
    """
    if old is None:
        return new if new["devices"] or any(new["other"].values()) else None
    devices = {key_of(device): dict(device) for device in old["devices"]}
    for device in new["devices"]:
        known = devices.setdefault(
            key_of(device), {"name": device["name"], "netns": device["netns"]}
        )
        for kind in KINDS:
            if kind in device:
                known[kind] = dict(device[kind], **known.get(kind, {}))
    rps = {
        name: dict(new["other"]["rps"].get(name, {}), **old["other"]["rps"].get(name, {}))
        for name in set(old["other"]["rps"]) | set(new["other"]["rps"])
    }
    return {
        **old,
        "devices": list(devices.values()),
        "other": {"rps": rps, "rss": dict(new["other"]["rss"], **old["other"]["rss"])},
    }
