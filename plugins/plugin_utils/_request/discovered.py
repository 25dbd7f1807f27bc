# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbook discover shows: a row a device of each path, with the state of its offloads, whether a
campaign varies it, and what other traffic uses it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils._base.errors import LabError
from ...module_utils._base.network import device_key
from ...module_utils._ethtool.alias import resolve
from ...module_utils._ethtool.features import Features
from ...module_utils._iproute.walk import FoundPath, Shared, TunnelDevice, WalkedDevice
from .._paths.own_paths import Walked, class_of, left_out
from .._untrusted.texts import printable

OFFLOADS = ("tx", "rx", "tso", "gso", "gro")  # those of campaign integrity
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


def lines(hosts: Mapping[str, Mapping[str, Any]], inventory: str) -> list[str]:
    """Return the tables of all hosts, and the next command.

    A host is ``{"walked": what module discover_info returned, with allowed and varied, "read": by
    device what module ethtool_info returned}``.
    """
    found: list[str] = []
    for name in sorted(hosts):
        walked: Walked = hosts[name]["walked"]
        for path in walked["paths"]:
            found.append(f"{name}, path {path['name']} to {path['address']}:")
            found += [f"  {line}" for line in _path(path, walked, hosts[name].get("read") or {})]
        found += [f"{name}, {_tunnel(tunnel)}" for tunnel in walked["tunnels"]]
    has_path = any(host["walked"]["paths"] for host in hosts.values())
    last = NEXT.format(inventory=inventory) if has_path else NO_ENDS
    return [printable(line) for line in [*found, FIXED_IS, last]]


def _path(path: FoundPath, walked: Walked, read: Mapping[str, Any]) -> list[str]:
    """Return the table of a path, and why devices are left out."""
    inside = path["netns"] or ""
    rows = [_row(step, inside, walked, read) for step in path["devices"]]
    why = {_key(step): left_out(step, inside, walked) for step in path["devices"]}
    return _aligned([HEAD, *rows]) + [f"{key} no: {text}" for key, text in why.items() if text]


def _key(step: WalkedDevice) -> str:
    return device_key(step["device"], step["netns"] or None)


def _row(step: WalkedDevice, inside: str, walked: Walked, read: Mapping[str, Any]) -> list[str]:
    key = _key(step)
    known = read.get(key) or {}
    features: Features = known.get("features") or {}
    return [
        key,
        class_of(step, inside) or step["kind"],
        str(step["mtu"]),
        (known.get("driver") or {}).get("driver") or NONE,
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
    words = [f"tunnel {tunnel['device']}: {tunnel['kind']}"]
    words += [f"VNI {tunnel['id']}"] if tunnel["id"] is not None else []
    words += [f"UDP port {tunnel['port']}"] if tunnel["port"] else []
    words += [f"over {tunnel['under']}"] if tunnel["under"] else []
    return ", ".join(words)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
