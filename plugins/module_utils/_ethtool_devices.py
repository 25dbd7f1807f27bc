# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices are meant, and what is asked of each: the options of the ethtool modules, checked. Pure."""
from __future__ import annotations

import re
from collections import namedtuple

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError

# key: name, or netns/name; asked: {kind: {name: value}} for the kinds that are asked for
Device = namedtuple("Device", "key name netns asked")

KINDS = ("channels", "rings", "coalesce", "rx_flow_hash", "features", "features_wanted")
# IFNAMSIZ of the kernel is 16 with the final zero; it refuses "/", ":", white space and the names "." and "..".
# We refuse what a command would take for an option, or for all devices.
DEVICE_NAME = re.compile(r"^(?!-)(?!\.{1,2}\Z)[^\s/:*\x00-\x1f\ud800-\udfff]{1,15}\Z")
NETNS_NAME = re.compile(r"^(?!-)(?!\.{1,2}\Z)[^\s/\x00-\x1f\ud800-\udfff]{1,255}\Z")
BOOLEANS = {"on": True, "yes": True, "true": True, "1": True, "off": False, "no": False, "false": False, "0": False}


def key_of(name, netns):
    """Return the name under which results tell of a device: ``name``, or ``netns/name``."""
    return "{0}/{1}".format(netns, name) if netns else name


def parse_devices(items, netns=None, common=None):
    """Return a list of :class:`Device` for the option ``devices``: names, or dictionaries with ``name`` and ``netns``.

    ``common`` is ``{kind: {name: value}}`` asked of every device; what an item asks itself wins over it.
    Raises :class:`InputError` for names that no device can have, unknown keys, and devices named twice.
    """
    if netns:
        check_name(netns, NETNS_NAME, "netns", "network namespace")
    devices = [parse_device(item, netns, common or {}) for item in items]
    keys = [device.key for device in devices]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError("is named twice in devices", key, "Ask everything of a device in one item.")
    return devices


def parse_device(item, netns, common):
    """Return the :class:`Device` of one item of the option ``devices``."""
    item = item if isinstance(item, dict) else {"name": item}
    unknown = sorted(set(item) - {"name", "netns"} - set(KINDS))
    if unknown:
        raise InputError("{0!r} is no key of a device".format(unknown[0]), "devices",
                         "Keys are name, netns, {0}.".format(", ".join(KINDS)))
    name = check_name(item.get("name"), DEVICE_NAME, "devices", "network device")
    netns = item.get("netns") or netns
    if netns:
        check_name(netns, NETNS_NAME, "netns", "network namespace")
    key = key_of(name, netns)
    own = {kind: check_mapping(item[kind], kind, key) for kind in KINDS if item.get(kind)}
    return Device(key, name, netns, merge(common, own, key))


def merge(common, own, key):
    """Return what is asked of a device: what its item asks, over what is asked of all; exact bits stand alone."""
    if "features_wanted" in own:
        if "features" in own:
            raise InputError("features and features_wanted are both given", key, "Give one of them.")
        common = {kind: asked for kind, asked in common.items() if kind != "features"}
    kinds = set(common) | set(own)
    return {kind: dict(common.get(kind, {}), **own.get(kind, {})) for kind in kinds}


def check_name(name, pattern, where, what):
    """Return ``name`` if the kernel can have such a name; raises :class:`InputError` otherwise."""
    if not isinstance(name, str) or not pattern.match(name):
        raise InputError("{0!r} cannot be the name of a {1}".format(shortened(name), what), where, "Correct it.")
    return name


def check_mapping(value, kind, where):
    """Return ``value`` if it is a dictionary; raises :class:`InputError` otherwise."""
    if not isinstance(value, dict):
        raise InputError("{0!r} is no dictionary".format(shortened(value)), "{0}, {1}".format(where, kind),
                         "Give names and values, such as 'tso: false'.")
    return {str(name): item for name, item in value.items()}


def shortened(value):
    """Return a value as it goes into a message: at most 60 characters of it."""
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def as_bool(value, name, where):
    """Return the boolean that a user's value means; a survey or the command line gives text such as ``off``."""
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in BOOLEANS:
        raise InputError("{0!r} is no value for {1}".format(shortened(value), name), where, "Give on or off.")
    return BOOLEANS[text]
