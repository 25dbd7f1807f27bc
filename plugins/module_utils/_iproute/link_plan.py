# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pure planning of MTU and state of links that exist."""

from __future__ import annotations

from typing import Dict, Iterable, NamedTuple, Optional, TypedDict

from .._base import checks, network
from .._base.errors import InputError
from .._base.steps import Step, batch
from .parse import Link


class NamedLink(TypedDict):
    """A device, in the process's own network namespace (None) or in a named one."""

    name: str
    netns: str | None


class LinkOptions(NamedLink, total=False):
    """A device as a user asks for it."""

    mtu: int | None  # bytes
    up: bool | None


class WantedLink(NamedLink):
    """What is wanted of a device; None leaves what it has."""

    mtu: int | None
    up: bool | None


class LinkSettings(TypedDict):
    """What a device has."""

    mtu: int
    up: bool


class LinkPlan(NamedTuple):
    """From what the devices have to what is wanted; devices by key."""

    before: dict[str, LinkSettings]
    after: dict[str, LinkSettings]
    steps: list[Step]


LinksByNamespace = Dict[Optional[str], Dict[str, Link]]


def wanted_devices(
    devices: Iterable[LinkOptions],
    netns: str | None = None,
    mtu: int | None = None,
    up: bool | None = None,
) -> list[WantedLink]:
    """Return the checked list of devices; ``netns``, ``mtu`` and ``up`` are for those that give
    none.
    """
    links = [_wanted_device(device, netns, mtu, up) for device in devices]
    checks.unique([network.key_of(device) for device in links], "device")
    return links


def _wanted_device(
    device: LinkOptions, netns: str | None, mtu: int | None, up: bool | None
) -> WantedLink:
    namespace = device.get("netns") or netns
    own_mtu = device.get("mtu")
    own_state = device.get("up")
    return {
        "name": network.device_name(device["name"]),
        "netns": network.namespace_name(namespace) if namespace else None,
        "mtu": mtu if own_mtu is None else own_mtu,
        "up": up if own_state is None else own_state,
    }


def _check(device: WantedLink, links: LinksByNamespace) -> Link:
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


def _line(device: WantedLink, link: Link) -> str | None:
    """Return the line for ip, or None when the link is what is wanted."""
    settings = []
    if device["mtu"] not in (None, link["mtu"]):
        settings.append(f"mtu {device['mtu']}")
    if device["up"] not in (None, link["up"]):
        settings.append("up" if device["up"] else "down")
    return f"link set dev {device['name']} {' '.join(settings)}" if settings else None


def plan(links: LinksByNamespace, devices: Iterable[WantedLink]) -> LinkPlan:
    """Return the plan for devices, whose ``links`` are by namespace, then by name.

    A step is a process for each namespace. Every device is checked before any step is planned.
    """
    result = LinkPlan({}, {}, [])
    lines: dict[str | None, list[str]] = {}
    for device in devices:
        link = _check(device, links)
        key = network.key_of(device)
        result.before[key] = {"mtu": link["mtu"], "up": link["up"]}
        result.after[key] = {
            "mtu": link["mtu"] if device["mtu"] is None else device["mtu"],
            "up": link["up"] if device["up"] is None else device["up"],
        }
        line = _line(device, link)
        if line:
            lines.setdefault(device["netns"], []).append(line)
    for netns, in_netns in lines.items():
        result.steps.extend(batch(in_netns, netns))
    return result
