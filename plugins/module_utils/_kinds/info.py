# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of the module ethtool_info: everything that is asked for of all devices, and what of it
can be restored.
"""

from __future__ import annotations

from typing import Any, TypedDict

from .._base.network import HOST
from .._ethtool.read import (
    check_netns,
    list_devices,
    read_features,
    read_rss,
    read_single,
    read_tunnels,
)
from .._host.privileges import require
from .change import NodeReader
from .devices import by_namespace, parse_devices
from .feature import FEATURE
from .kind import Described, DeviceKind, Item
from .kinds import DEVICE_KINDS, OF_HOST
from .rss import check_flow_types

OTHERS = [kind for kind in DEVICE_KINDS.values() if kind is not FEATURE]
# The kinds that are asked for by name; all others together.
NAMED = ["features", "channels", "rings", "coalesce", "rx_flow_hash"]
RESTORED = [*NAMED, "others"]
SETTINGS = [*NAMED, "rss", "driver", "tunnels"]
KINDS = [*SETTINGS, "others", "statistics", "kernel_log"]
FLOW_TYPES = ["tcp4", "udp4", "tcp6", "udp6"]


class Gathering(TypedDict):
    """What is to be read, as the options of module ethtool_info have it."""

    devices: list[Any] | None  # None for all
    netns: str | None
    gather: list[str]
    flow_types: list[str]


def gathered_kinds(gather: list[str]) -> list[DeviceKind]:
    """Return the kinds, features apart, that the option ``gather`` names."""
    groups = (
        {kind.group for kind in OTHERS if kind.group not in NAMED} if "others" in gather else set()
    )
    return [kind for kind in OTHERS if kind.group in groups.union(gather)]


def read_namespace(
    names: list[str], netns: str | None, gathering: Gathering
) -> dict[str, Described]:
    """Return ``{name: {kind: what was read}}`` for the devices of one network namespace."""
    gather = gathering["gather"]
    # Where all devices are read, one may go away meanwhile; where they are named, that is an error.
    features = read_features(names, netns, skip_missing=gathering["devices"] is None)
    names = list(features)
    values = {
        name: FEATURE.described(features[name]) if "features" in gather else {} for name in names
    }
    reader = NodeReader()
    for kind in gathered_kinds(gather):
        states = kind.read(dict.fromkeys(names, gathering["flow_types"]), netns, reader)
        for name, state in states.items():
            values[name].update(kind.described(state))
    if "tunnels" in gather:
        for name, tables in read_tunnels(names, netns).items():
            values[name]["tunnels"] = tables
    for name in names:
        values[name].update(read_singles(name, netns, gather))
    return values


def read_singles(name: str, netns: str | None, gather: list[str]) -> Described:
    """Return what ethtool lists of one device at a time, of that which is to be read."""
    values: Described = {}
    if "rss" in gather:
        values["rss"] = read_rss(name, netns)
    for single in ("driver", "statistics"):
        if single in gather:
            values[single] = read_single(single, name, netns)
    return values


def read(gathering: Gathering) -> dict[str, Item]:
    """Return what was read of each device, by key."""
    check_flow_types(gathering["flow_types"], "flow_types")
    items = gathering["devices"]
    netns = gathering["netns"]
    parse_devices([], netns)
    if items is None:
        require_for(netns)
        items = list_devices(netns)
    devices = parse_devices(items, netns)
    by_key = {}
    for space, members in by_namespace(devices).items():
        require_for(space)
        values = read_namespace([device.name for device in members], space, gathering)
        for device in members:
            if device.name in values:
                item = {"name": device.name, "netns": device.netns}
                by_key[device.key] = {**item, **values[device.name]}
    return by_key


def restore_item(device: Item) -> Item:
    """Return what was read of a device and can be set, as an item of the option ``devices`` of the
    module ethtool.
    """
    item = {"name": device["name"], "netns": device["netns"]}
    if FEATURE.kept_as in device:
        item[FEATURE.kept_as] = FEATURE.kept(device)
    for kind in OTHERS:
        kept = kind.kept(device)
        if kept:
            item[kind.kept_as] = kept
    return item


def host_item() -> Item:
    """Return the settings of the whole host, as an item of the option ``devices`` of module ethtool;
    empty where it has none.
    """
    item: Item = {}
    reader = NodeReader()
    for kind in OF_HOST:
        state = kind.read({HOST: kind.settings or []}, None, reader)[HOST]
        kept = kind.kept(kind.described(state))
        if kept:
            item[kind.kept_as] = kept
    return {"name": HOST, "netns": None, **item} if item else {}


def require_for(netns: str | None) -> None:
    """Raise the error for a network namespace that is not there, or that this process may not
    enter.
    """
    check_netns(netns)
    require(["CAP_SYS_ADMIN"] if netns else [])
