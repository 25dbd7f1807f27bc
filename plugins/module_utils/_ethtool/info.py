# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of the module ethtool_info: everything that is asked for of all devices, and what of it
can be restored.
"""

from __future__ import annotations

from typing import Any

from .._host.privileges import require
from .devices import parse_devices
from .features import (
    Features,
    group_members,
    single_bits,
    wanted,
)
from .read import (
    check_netns,
    list_devices,
    read_features,
    read_flow_hash,
    read_rss,
    read_settings,
    read_single,
)
from .settings_plan import check_flow_types

RESTORED = ["features", "channels", "rings", "coalesce", "rx_flow_hash"]
SETTINGS = [*RESTORED, "rss", "driver", "tunnels"]
KINDS = [*SETTINGS, "statistics", "kernel_log"]
FLOW_TYPES = ["tcp4", "udp4", "tcp6", "udp6"]


def describe_features(features: Features) -> dict[str, Any]:
    """Return what is reported about the features of a device."""
    return {
        "features": features,
        "features_wanted": {
            bit: wanted(feature)
            for bit, feature in single_bits(features).items()
            if not feature["fixed"]
        },
        "groups": group_members(features),
    }


def read_namespace(
    names: list[str], netns: str | None, params: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return ``{name: {kind: what was read}}`` for the devices of one network namespace."""
    gather, flow_types = params["gather"], params["flow_types"]
    # Where all devices are read, one may go away meanwhile; where they are named, that is an error.
    features = read_features(names, netns, skip_missing=params["devices"] is None)
    names = list(features)
    values = {
        name: describe_features(features[name]) if "features" in gather else {} for name in names
    }
    for kind in ("channels", "rings", "coalesce", "tunnels"):
        if kind in gather:
            for name, state in read_settings(kind, names, netns).items():
                values[name][kind] = state
    singles = {
        "rx_flow_hash": lambda name: read_flow_hash(name, flow_types, netns),
        "rss": lambda name: read_rss(name, netns),
        "driver": lambda name: read_single("driver", name, netns),
        "statistics": lambda name: read_single("statistics", name, netns),
    }
    for kind in (kind for kind in singles if kind in gather):
        for name in names:
            values[name][kind] = singles[kind](name)
    return values


def read(params: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what was read of each device, by key."""
    check_flow_types(params["flow_types"], "flow_types")
    items, netns = params["devices"], params["netns"]
    parse_devices([], netns)
    if items is None:
        require_for(netns)
        items = list_devices(netns)
    devices = parse_devices(items, netns)
    by_key = {}
    for space in sorted({device.netns or "" for device in devices}):
        require_for(space)
        members = [device for device in devices if (device.netns or "") == space]
        values = read_namespace([device.name for device in members], space, params)
        by_key.update(
            {
                device.key: dict(
                    {"name": device.name, "netns": device.netns}, **values[device.name]
                )
                for device in members
                if device.name in values
            }
        )
    return by_key


def restore_item(device: dict[str, Any]) -> dict[str, Any]:
    """Return what was read of a device and can be set, as an item of the option ``devices`` of the
    module ethtool.
    """
    item = {"name": device["name"], "netns": device["netns"]}
    if "features_wanted" in device:
        item["features_wanted"] = device["features_wanted"]
    for kind in RESTORED[1:]:  # features have their wanted bits
        current = {
            name: value
            for name, value in device.get(kind, {}).get("current", {}).items()
            if value is not None
        }
        if current:
            item[kind] = current
    return item


def require_for(netns: str | None) -> None:
    """Raise the error for a network namespace that is not there, or that this process may not
    enter.
    """
    check_netns(netns)
    require(["CAP_SYS_ADMIN"] if netns else [])
