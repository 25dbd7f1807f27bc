# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbook discover shows: a row a device of each path, with the state of its offloads, whether a
campaign varies it, and what other traffic uses it. What a campaign does to these devices, shown
before the first change. Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from ...module_utils._base.errors import LabError
from ...module_utils._base.network import device_key
from ...module_utils._ethtool.features import Features, resolve
from ...module_utils._iproute.walk import FoundPath, Shared, TunnelDevice, WalkedDevice
from .._campaign.dry_run import length
from .._campaign.nouns import Plan
from .._campaign.visits import confirmation_cost
from .._paths.own_paths import Walked, class_of, left_out
from .._untrusted.texts import printable

OFFLOADS = ("tx", "rx", "tso", "gso", "gro")  # the offloads of campaign integrity
HEAD = ["device", "class", "MTU", "driver", *OFFLOADS, "varied", "shared by"]
FIXED = "*"
MIXED = "mixed"
ON_OFF = {True: "on", False: "off"}
FIXED_IS = (
    f"{FIXED} the device cannot change it; varied: a campaign sets it; shared by: other traffic"
)
NONE = "-"
NEXT = "Next, is an offload broken here? ansible-playbook -i {inventory} offload.lab.integrity"
NO_ENDS = (
    "No host has offload_lab_ends. Give each host its end of a path, such as offload_lab_ends: "
    "[{name: pods, netns: NAME}]"
)


class DeviceReading(TypedDict, total=False):
    """What module ethtool_info returned of a device."""

    features: Features
    driver: dict[str, str]


class DiscoveredHost(TypedDict):
    """What module discover_info returned, with allowed and varied, and the readings of its devices."""

    walked: Walked
    read: NotRequired[Mapping[str, DeviceReading]]


def lines(hosts: Mapping[str, DiscoveredHost], inventory: str) -> list[str]:
    """Return the tables of all hosts, and the next command."""
    rows: list[str] = []
    for name in sorted(hosts):
        walked = hosts[name]["walked"]
        for path in walked["paths"]:
            rows.append(f"{name}, path {path['name']} to {path['address']}:")
            rows += [f"  {line}" for line in _path(path, walked, hosts[name].get("read") or {})]
        rows += [f"{name}, {_tunnel(tunnel)}" for tunnel in walked["tunnels"]]
    has_path = any(host["walked"]["paths"] for host in hosts.values())
    last = NEXT.format(inventory=inventory) if has_path else NO_ENDS
    return [printable(line) for line in [*rows, FIXED_IS, last]]


def _path(path: FoundPath, walked: Walked, read: Mapping[str, DeviceReading]) -> list[str]:
    """Return the table of a path, and why devices are left out."""
    inside = path["netns"] or ""
    rows = [_row(step, inside, walked, read) for step in path["devices"]]
    why = {_key(step): left_out(step, inside, walked) for step in path["devices"]}
    return _aligned([HEAD, *rows]) + [f"{key} no: {text}" for key, text in why.items() if text]


def _key(step: WalkedDevice) -> str:
    return device_key(step["device"], step["netns"] or None)


def _row(
    step: WalkedDevice, inside: str, walked: Walked, read: Mapping[str, DeviceReading]
) -> list[str]:
    key = _key(step)
    reading = read.get(key) or {}
    features: Features = reading.get("features") or {}
    return [
        key,
        class_of(step, inside) or step["kind"],
        str(step["mtu"]),
        (reading.get("driver") or {}).get("driver") or NONE,
        *(state(name, features, key) for name in OFFLOADS),
        "no" if left_out(step, inside, walked) else "yes",
        others(step.get("shared")) or NONE,
    ]


def state(name: str, features: Features, device: str) -> str:
    """Return how an offload is: on, off, or mixed where its bits differ; with * where none can change."""
    try:
        bits = [features[bit] for bit in resolve(name, features, device)]
    except LabError:
        return NONE
    changeable = [bit for bit in bits if not bit["fixed"]]
    active = {bit["active"] for bit in changeable or bits}
    word = MIXED if len(active) > 1 else ON_OFF[active.pop()]
    return word if changeable else f"{word}{FIXED}"


def others(shared: Shared | None) -> str:
    """Return what else uses a device: ``3 ports, 2 routes``; empty where nothing does."""
    if not shared:
        return ""
    counts = {
        "port": shared["ports"],
        "route": shared["routes"],
        "tunnel": shared["tunnels"],
    }
    return ", ".join(
        f"{number} {name}{'s' * (number != 1)}" for name, number in counts.items() if number
    )


def _tunnel(tunnel: TunnelDevice) -> str:
    parts = [f"tunnel {tunnel['device']}: {tunnel['kind']}"]
    parts += [f"VNI {tunnel['id']}"] if tunnel["id"] is not None else []
    parts += [f"UDP port {tunnel['port']}"] if tunnel["port"] else []
    parts += [f"over {tunnel['under']}"] if tunnel["under"] else []
    return ", ".join(parts)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


SHARED = (
    "What other traffic uses one of these devices has each setting, too: where a setting breaks it, that traffic "
    "breaks while the setting is on."
)
FEWER = "For fewer devices: -e '{offload_lab_varied_devices: [NAME]}'"


def disturbance_lines(plan: Plan, by_node: Mapping[str, Walked]) -> list[str]:
    """Return the paragraph; nothing where no path of the plan was there already.

    ``by_node`` is what each node found on its paths.
    """
    varied = {node: _varied(plan, node_walked) for node, node_walked in by_node.items()}
    if not any(varied.values()):
        return []
    _blocks, confirmed, _seconds = confirmation_cost(plan, len(plan["profiles"]))
    visits = len(plan["visits"]) + confirmed
    names = ", ".join(factor["name"] for factor in plan["factors"])
    paragraph = [
        f"This sets {names} of the devices below, at most {visits} times within about "
        f"{length(plan['estimated_s'])}, and then restores them:"
    ]
    paragraph += [f"  {node}: {', '.join(map(_named, steps))}" for node, steps in varied.items()]
    shared = any(map(_used, itertools.chain.from_iterable(varied.values())))
    return [*paragraph, *([SHARED] if shared else []), FEWER]


def _varied(plan: Plan, walked: Walked) -> list[WalkedDevice]:
    """Return the devices of a node that the plan varies, each once."""
    classes = set(itertools.chain.from_iterable(factor["devices"] for factor in plan["factors"]))
    by_device: dict[tuple[str, str], WalkedDevice] = {}
    for path in walked["paths"]:
        inside = path["netns"] or ""
        for step in path["devices"] if path["name"] in plan["paths"] else ():
            if class_of(step, inside) in classes and not left_out(step, inside, walked):
                by_device.setdefault((step["netns"], step["device"]), step)
    return list(by_device.values())


def _used(step: WalkedDevice) -> str:
    return others(step.get("shared"))


def _named(step: WalkedDevice) -> str:
    key = device_key(step["device"], step["netns"] or None)
    used = _used(step)
    return f"{key} (other traffic: {used})" if used else key
