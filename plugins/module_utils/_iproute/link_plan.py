# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of MTU and state of links that exist."""

from __future__ import annotations

from typing import Any

from .._base import checks, network
from .._base.errors import InputError
from .._base.steps import Step, batch
from .parse import Link


def wanted_devices(
    devices: list[dict[str, Any]],
    netns: str | None = None,
    mtu: int | None = None,
    up: bool | None = None,
) -> list[dict[str, Any]]:
    """Return the checked list of devices; ``netns``, ``mtu`` and ``up`` are for those that give
    none.
    """
    wanted = [
        {
            "name": network.device_name(device["name"]),
            "netns": network.namespace_name(device.get("netns") or netns)
            if device.get("netns") or netns
            else None,
            "mtu": mtu if device.get("mtu") is None else device["mtu"],
            "up": up if device.get("up") is None else device["up"],
        }
        for device in devices
    ]
    checks.unique([network.key_of(device) for device in wanted], "device")
    return wanted


def _check(device: dict[str, Any], links: dict[str | None, dict[str, Link]]) -> Link:
    """Return the link of a device; raise InputError when there is none or the MTU is out of its
    range.
    """
    link = links[device["netns"]].get(device["name"])
    if link is None:
        raise InputError(
            "there is no such network device", network.key_of(device), "Check its name: ip link"
        )
    highest = link["max_mtu"] or network.MAX_MTU
    if device["mtu"] is not None and not link["min_mtu"] <= device["mtu"] <= highest:
        raise InputError(
            f"an MTU of {device['mtu']} is out of the device's range",
            network.key_of(device),
            f"Use {link['min_mtu']} to {highest} bytes.",
        )
    return link


def _line(device: dict[str, Any], link: Link) -> str | None:
    """Return the line for ip, or None when the link is what is wanted."""
    words = []
    if device["mtu"] not in (None, link["mtu"]):
        words.append(f"mtu {device['mtu']}")
    if device["up"] not in (None, link["up"]):
        words.append("up" if device["up"] else "down")
    return f"link set dev {device['name']} {' '.join(words)}" if words else None


def plan(
    links: dict[str | None, dict[str, Link]], wanted: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any], list[Step]]:
    """Return ``(before, after, steps)``, the first two by key; ``links`` are by namespace, then by
    name.

    A step is a process for each namespace. Every device is checked before any step is planned.
    """
    before: dict[str, dict[str, Any]] = {}
    after: dict[str, dict[str, Any]] = {}
    lines: dict[str | None, list[str]] = {}
    for device in wanted:
        link = _check(device, links)
        before[network.key_of(device)] = {"mtu": link["mtu"], "up": link["up"]}
        after[network.key_of(device)] = {
            name: now if device[name] is None else device[name]
            for name, now in before[network.key_of(device)].items()
        }
        line = _line(device, link)
        if line:
            lines.setdefault(device["netns"], []).append(line)
    steps = [step for netns in lines for step in batch(lines[netns], netns)]
    return before, after, steps
