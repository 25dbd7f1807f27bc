# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of MTU and state of links that exist."""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.module_utils._names import check_name, check_unique
from ansible_collections.offload.lab.plugins.module_utils._steps import batch

LARGEST = 65535  # bytes; what a device that tells no limit may have


def key(device):
    """Return the name by which results speak of a device: ``name`` or ``netns/name``."""
    return "{0}/{1}".format(device["netns"], device["name"]) if device["netns"] else device["name"]


def wanted_devices(devices, netns=None, mtu=None, up=None):
    """Return the checked list of devices; ``netns``, ``mtu`` and ``up`` are for those that give none."""
    wanted = [{
        "name": check_name(device["name"], "device"),
        "netns": check_name(device.get("netns") or netns, "network namespace", 255)
        if device.get("netns") or netns else None,
        "mtu": mtu if device.get("mtu") is None else device["mtu"],
        "up": up if device.get("up") is None else device["up"],
    } for device in devices]
    check_unique([key(device) for device in wanted], "device")
    return wanted


def _check(device, links):
    """Return the link of a device; raise InputError when there is none or the MTU is out of its range."""
    link = links[device["netns"]].get(device["name"])
    if link is None:
        raise InputError("there is no such network device", key(device), "Check its name: ip link")
    highest = link["max_mtu"] or LARGEST
    if device["mtu"] is not None and not link["min_mtu"] <= device["mtu"] <= highest:
        raise InputError("an MTU of {0} is out of the device's range".format(device["mtu"]), key(device),
                         "Use {0} to {1} bytes.".format(link["min_mtu"], highest))
    return link


def _line(device, link):
    """Return the line for ip, or None when the link is what is wanted."""
    words = []
    if device["mtu"] not in (None, link["mtu"]):
        words.append("mtu {0}".format(device["mtu"]))
    if device["up"] not in (None, link["up"]):
        words.append("up" if device["up"] else "down")
    return "link set dev {0} {1}".format(device["name"], " ".join(words)) if words else None


def plan(links, wanted):
    """Return ``(before, after, steps)``, the first two by :func:`key`; ``links`` are by namespace, then by name.

    A step is a process for each namespace. Every device is checked before any step is planned.
    """
    before, after, lines = {}, {}, {}
    for device in wanted:
        link = _check(device, links)
        before[key(device)] = {"mtu": link["mtu"], "up": link["up"]}
        after[key(device)] = dict((name, now if device[name] is None else device[name])
                                  for name, now in before[key(device)].items())
        line = _line(device, link)
        if line:
            lines.setdefault(device["netns"], []).append(line)
    steps = [step for netns in lines for step in batch(lines[netns], netns)]
    return before, after, steps
