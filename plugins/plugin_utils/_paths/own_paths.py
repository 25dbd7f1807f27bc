# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of an existing network, from what module discover_info read at their ends. Pure.

A path is made of the ends of one name at the nodes. Its devices are what packets meet on the way out
of each node; a bridge has no settings of its own and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NotRequired, TypedDict

from ...module_utils._base.errors import InputError
from ...module_utils._base.network import device_key
from ...module_utils._iproute.walk import TUNNELS, FoundPath, TunnelDevice, WalkedDevice
from .lab_paths import OwnPath
from .path import UNDERLAY, Devices, End, Existing

INSIDE = "tenant"  # the class of devices in the namespace where a path begins
PORT = "tenant_port"  # of their other ends on the node
TUNNEL = "tunnel"
CLASSES = (UNDERLAY, INSIDE, PORT, TUNNEL)
NO_SETTINGS = ("bridge", "openvswitch", "loopback")


class Walked(TypedDict):
    """What module discover_info returns of a node, as far as paths need it."""

    paths: list[FoundPath]
    tunnels: list[TunnelDevice]
    management: list[str]  # devices that carry the controller's connection
    allowed: NotRequired[list[str]]  # the devices that the user allows a campaign to change
    varied: NotRequired[list[str]]  # the only devices that a campaign may change; empty: all


def walked_of(variables: Mapping[str, Any]) -> Walked | None:
    """Return what a node found on its paths, with what its user allows; None without paths."""
    walked: Walked | None = variables.get("__offload_lab_walked")
    if not walked or not walked["paths"]:
        return None
    return {
        **walked,
        "allowed": variables.get("offload_lab_allow_management_device") or [],
        "varied": variables.get("offload_lab_varied_devices") or [],
    }


def class_of(step: WalkedDevice, inside: str) -> str | None:
    """Return the class of a device; None for one that has no settings."""
    if step["kind"] in NO_SETTINGS:
        return None
    if inside and step["netns"] == inside:
        return INSIDE
    if step["kind"] in TUNNELS:
        return TUNNEL
    return PORT if step["how"].startswith("the other end of") else UNDERLAY


def left_out(step: WalkedDevice, inside: str, walked: Walked) -> str:
    """Return why no campaign changes a device of a path; empty where one may."""
    kept = set(walked["management"]) - set(walked.get("allowed") or ())
    if class_of(step, inside) is None:
        return "it has no settings of its own"
    if not step["netns"] and step["device"] in kept:
        return "it carries the controller's connection (offload_lab_allow_management_device)"
    if walked.get("varied") and not _names(step) & set(walked["varied"]):
        return "it is not in offload_lab_varied_devices"
    return ""


def _names(step: WalkedDevice) -> set[str]:
    """Return how a user may name a device: ``flannel.1``, or ``cni-1/eth0`` in a namespace."""
    return {step["device"], device_key(step["device"], step["netns"] or None)}


def _devices(path: FoundPath, walked: Walked) -> Devices:
    """Return the devices of an end by class, without those that no campaign may change."""
    inside = path["netns"] or ""
    devices: Devices = {}
    for step in path["devices"]:
        name = class_of(step, inside)
        on_node = not step["netns"]
        if name is None or left_out(step, inside, walked):
            continue
        of_class = devices.setdefault(name, [])
        if on_node:
            of_class.append({"name": step["device"]})
        else:
            of_class.append({"name": step["device"], "netns": step["netns"]})
    return devices


def _end(node: str, path: FoundPath) -> Existing:
    where = f"{node}, path {path['name']}"
    if (path["netns"] or "").startswith("/"):
        raise InputError(
            "the network namespace in which the path begins has no name",
            where,
            "Give it one: ip netns attach NAME PID, and take netns: NAME.",
        )
    if not path["local"]:
        raise InputError(
            f"the route to {path['address']} does not say from which address packets are sent",
            where,
            "Give the device by which they leave an address.",
        )
    return {"end": {"netns": path["netns"], "address": path["local"]}, "devices": {}}


def _tunnel_of(path: FoundPath, tunnels: Iterable[TunnelDevice]) -> TunnelDevice | None:
    """Return the VXLAN device that the packets of a path go through, None without one."""
    met = [step["device"] for step in path["devices"] if step["kind"] == "vxlan"]
    return next((tunnel for tunnel in tunnels if tunnel["device"] in met), None)


def _mtu_of(path: FoundPath) -> int:
    """Return the smallest MTU that packets of a path meet before they are encapsulated."""
    least = path["devices"][0]["mtu"]
    for step in path["devices"]:
        least = min(least, step["mtu"])
        if step["kind"] in TUNNELS:
            break
    return least


def other_ends(paths: Iterable[FoundPath]) -> list[End]:
    """Return, for each end of a node, the namespace and the address of its peer."""
    return [{"netns": path["netns"], "address": path["address"]} for path in paths]


def own_paths(walked: Mapping[str, Walked]) -> dict[str, OwnPath]:
    """Return the paths of these nodes by name.

    Raises InputError for an end that cannot be measured.
    """
    paths: dict[str, OwnPath] = {}
    _check_varied(walked)
    for node, node_walked in walked.items():
        for path_end in node_walked["paths"]:
            _add(paths, node, path_end, node_walked)
    for name, path in paths.items():
        _check_addresses(name, path, walked)
    return paths


def _add(
    paths: dict[str, OwnPath],
    node: str,
    path_end: FoundPath,
    node_walked: Walked,
) -> None:
    """Add the end of a path at a node."""
    tunnel = _tunnel_of(path_end, node_walked["tunnels"])
    existing = _end(node, path_end)
    existing["devices"] = _devices(path_end, node_walked)
    path = paths.setdefault(
        path_end["name"],
        {
            "classes": [],
            "vni": tunnel["id"] if tunnel else None,
            "port": tunnel["port"] if tunnel else None,
            "mtu": _mtu_of(path_end),
            "nodes": {},
        },
    )
    path["mtu"] = min(path["mtu"], _mtu_of(path_end))
    path["nodes"][node] = existing
    there = {*path["classes"], *existing["devices"]}
    path["classes"] = [name for name in CLASSES if name in there]


def _check_varied(walked: Mapping[str, Walked]) -> None:
    """Raise where the user names a device that is on no path of any node."""
    there: set[str] = set()
    named: list[str] = []
    for node_walked in walked.values():
        named += node_walked.get("varied") or []
        for path in node_walked["paths"]:
            there = there.union(*map(_names, path["devices"]))
    for name in named:
        if name not in there:
            raise InputError(
                f"no path has the device {name}",
                "offload_lab_varied_devices",
                f"Use {', '.join(sorted(there))}.",
            )


def _check_addresses(name: str, path: OwnPath, walked: Mapping[str, Walked]) -> None:
    """Raise where an end goes to an address that no other end of the path has."""
    if len(path["nodes"]) < 2:
        node = next(iter(path["nodes"]))
        raise InputError(
            f"only {node} has an end of it",
            f"path {name}",
            "Give another node an end of the same name in offload_lab_ends.",
        )
    ends = {node: existing["end"]["address"] for node, existing in path["nodes"].items()}
    for node in path["nodes"]:
        for path_end in walked[node]["paths"]:
            others = [address for other, address in ends.items() if other != node]
            if path_end["name"] == name and path_end["address"] not in others:
                raise InputError(
                    f"{node} has it go to {path_end['address']}, and the other ends are "
                    f"{', '.join(others)}",
                    f"path {name}",
                    "Give each end the address of the other one.",
                )
