# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices are meant, and what is asked of each: the options of the ethtool modules, checked.

Pure.
"""

from __future__ import annotations

import difflib
import itertools
from typing import Any, Collection, Iterable, Mapping, NamedTuple, Sequence

from .._base import network
from .._base.checks import shown
from .._base.errors import InputError
from .kind import NODE, Asked, Item, Values
from .kinds import DEVICE_KINDS


class Device(NamedTuple):
    """A network device and what is asked of it."""

    key: str  # name, or netns/name
    name: str
    netns: str | None
    requested: Asked  # by kind, see KEYS


# The keys of the kinds that module ethtool sets.
KEYS = [*itertools.chain.from_iterable(kind.keys for kind in DEVICE_KINDS.values())]
# The option ``missing`` of modules.
MISSING = {"type": "str", "choices": ["error", "skip"], "default": "error"}


def parse_devices(
    items: Iterable[Any],
    netns: str | None = None,
    common: Asked | None = None,
    keys: Collection[str] = KEYS,
) -> list[Device]:
    """Return a list of :class:`Device` for the option ``devices``: names, or dictionaries with
    ``name`` and ``netns``.

    ``common`` is ``{kind: {name: value}}`` asked of every device; what an item asks itself wins
    over it. ``keys`` are the kinds that may be asked for. Raises :class:`InputError` for
    names that no device can have, unknown keys, and devices named twice.
    """
    if netns:
        network.namespace_name(netns)
    devices = [parse_device(item, netns, common or {}, keys) for item in items]
    named = [device.key for device in devices]
    for key in named:
        if named.count(key) > 1:
            raise InputError(
                "appears twice in devices", key, "Put everything for a device into one item."
            )
    return devices


def by_namespace(devices: Iterable[Device]) -> dict[str, list[Device]]:
    """Return devices by network namespace, in the order of their names; "" is the host's own."""
    members: dict[str, list[Device]] = {}
    for device in devices:
        members.setdefault(device.netns or "", []).append(device)
    return dict(sorted(members.items()))


def devices_of_classes(
    settings: Asked,
    classes: Mapping[str, Sequence[network.NamedDevice]],
    keys: Collection[str] = KEYS,
    elsewhere: Iterable[str] = (),
) -> list[Item]:
    """Return the option ``devices`` for ``settings`` by device class, where ``classes`` has the
    devices of each.

    Kinds that are not among ``keys`` are left out, and classes that are ``elsewhere``, on another
    host. Of a device in two classes the later one wins. The host itself is a class that need not be
    given.
    """
    classes = {NODE: [{"name": network.HOST}], **classes}
    items: dict[tuple[str | None, str], Item] = {}
    for name, of_kinds in settings.items():
        if name in elsewhere:
            continue
        of_class = check_mapping(of_kinds, "settings", f"class {name}")
        groups = {kind: values for kind, values in of_class.items() if kind in keys and values}
        for device in _of_class(name, classes) if groups else ():
            netns = device.get("netns") or None
            item = items.setdefault(
                (netns, device["name"]), {"name": device["name"], "netns": netns}
            )
            _add(item, groups)
    return list(items.values())


def _of_class(
    name: str, classes: Mapping[str, Sequence[network.NamedDevice]]
) -> Sequence[network.NamedDevice]:
    if not classes.get(name):
        raise InputError(
            "the node has no device of this class",
            f"class {name}",
            f"Use one of {', '.join(sorted(classes))}.",
        )
    return classes[name]


def _add(item: Item, groups: Asked) -> None:
    """Ask more of a device; the later value of a name wins."""
    for kind, values in groups.items():
        item[kind] = {**item.get(kind, {}), **values}


def parse_device(item: Any, netns: str | None, common: Asked, keys: Collection[str]) -> Device:
    """Return the :class:`Device` of one item of the option ``devices``."""
    item = item if isinstance(item, dict) else {"name": item}
    unknown = sorted(set(item) - {"name", "netns"} - set(keys))
    if unknown:
        close = difflib.get_close_matches(unknown[0], keys, n=3, cutoff=0.5)
        raise InputError(
            f"{unknown[0]!r} is not a key of a device",
            "devices",
            f"Did you mean {' or '.join(close)}?" if close else f"Keys are {', '.join(keys)}.",
        )
    name = network.device_name(item.get("name"))
    netns = item.get("netns") or netns
    if netns:
        network.namespace_name(netns)
    key = network.device_key(name, netns)
    of_device = {kind: check_mapping(item[kind], kind, key) for kind in keys if item.get(kind)}
    return Device(key, name, netns, merge(common, of_device, key))


def merge(common: Asked, of_device: Asked, key: str) -> dict[str, Values]:
    """Return what is asked of a device: what its item asks, over what is asked of all; exact bits
    stand alone.
    """
    if "features_wanted" in of_device:
        if "features" in of_device:
            raise InputError(
                "features and features_wanted are both given", key, "Give one of them."
            )
        common = {kind: values for kind, values in common.items() if kind != "features"}
    kinds = set(common) | set(of_device)
    return {kind: dict(common.get(kind, {}), **of_device.get(kind, {})) for kind in kinds}


def check_mapping(value: Any, kind: str, where: str) -> Values:
    """Return ``value`` if it is a dictionary; raises :class:`InputError` otherwise."""
    if not isinstance(value, dict):
        raise InputError(
            f"{shown(value)} is not a dictionary",
            f"{where}, {kind}",
            "Give names and values, such as 'tso: false'.",
        )
    return {str(name): item for name, item in value.items()}
