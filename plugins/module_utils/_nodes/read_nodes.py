# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what there is of the nodes of a single-host lab."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Callable, Dict, Iterable, TypedDict

from .._base.errors import ParseError
from .._host.netns import FOLDER as NETNS_FOLDER
from .._host.netns import path_of
from .._host.runner import CommandResult
from . import wire
from .node import PRIVATE, ROOT, fabric, home, lab_of
from .node_steps import MARKER, LabState, SeenNode
from .underlay import Links, NodeLink

Row = Dict[str, Any]  # of a device, as ip prints it
NAMESPACE = re.compile(r"(?:net|mnt|uts):\[(\d+)\]")
OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(TypedDict):
    """A line of mountinfo, in part."""

    target: str
    root: str
    fstype: str


def parse_mountinfo(text: str) -> list[Mount]:
    """Return the mounts of ``/proc/PID/mountinfo`` as a list of ``{target, root, fstype}``, in its
    order (proc(5)).
    """
    mounts: list[Mount] = []
    for number, line in enumerate(text.splitlines(), 1):
        before, dash, right = line.partition(" - ")
        fields = before.split(" ")
        kind = right.split(" ")
        if not dash or len(fields) < 6 or not kind[0]:
            raise ParseError(f"this is not a line of mountinfo: {before!r}", number)
        root, target = (
            OCTAL.sub(lambda match: chr(int(match.group(1), 8)), field) for field in fields[3:5]
        )
        mounts.append({"target": target, "root": root, "fstype": kind[0]})
    return mounts


def parse_links(text: str) -> Links:
    """Return the devices of ``ip -json address show`` by name, with what the plan needs of them."""
    try:
        return {link["ifname"]: _link(link) for link in json.loads(text or "[]") if link}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParseError(f"this is not what 'ip -json address show' prints ({error!r})", 1)


def _link(row: Row) -> NodeLink:
    return {
        "ifindex": row["ifindex"],
        "peer": row.get("link_index"),
        "mtu": row["mtu"],
        "up": "UP" in row["flags"],
        "master": row.get("master"),
        "addresses": [
            f"{info['local']}/{info['prefixlen']}"
            for info in row.get("addr_info", [])
            if info.get("scope") == "global"
        ],
    }


def mounts_of(
    names: Iterable[str], mounts: Iterable[Mount]
) -> tuple[dict[str, SeenNode], list[str]]:
    """Return what the mounts say: namespaces by name, homes, and each node's mnt and uts inode."""
    namespaces = {}
    for mount in mounts:
        match = NAMESPACE.fullmatch(mount["root"]) if mount["fstype"] == "nsfs" else None
        if match:
            namespaces[mount["target"]] = int(match.group(1))
    targets = [mount["target"] for mount in mounts]
    nodes: dict[str, SeenNode] = {
        name: {
            "netns": namespaces.get(path_of(name)),
            "mounted": home(name) in targets,
            "mnt": namespaces.get(home(name) + "/mnt"),
            "uts": namespaces.get(home(name) + "/uts"),
        }
        for name in names
    }
    homes = [target[len(ROOT) + 1 :] for target in targets if os.path.dirname(target) == ROOT]
    return nodes, homes


def read_links(runner: Callable[..., CommandResult], netns: str) -> Links:
    """Return the devices of a network namespace by name."""
    return parse_links(runner(["ip", "-json", "address", "show"], netns=netns).out)


def read_mountpoint(path: str) -> str:
    """Return the state of a directory that nodes mount on: ``missing``, ``ours`` (we made it) or
    ``present``.
    """
    if not os.path.isdir(path):
        return "missing"
    return "ours" if os.path.exists(os.path.join(path, MARKER)) else "present"


def read_state(runner: Callable[..., CommandResult], lab: str, listed: Iterable[str]) -> LabState:
    """Return what there is of a lab and of the ``listed`` names; ``runner`` runs an argument list."""
    claims = sorted(name for name in listdir(ROOT) if os.path.isdir(home(name)))
    names = sorted(set(listed) | {name for name in claims if lab_of(name) == lab})
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
        nodes, homes = mounts_of(names, parse_mountinfo(stream.read()))
    for name, node in nodes.items():
        node["ready"] = os.path.exists(home(name) + "/ready")
        node["nic"] = wire.running(name)
        node["layout"] = read_layout(name)
        node["links"] = read_links(runner, name) if name in claims and node["netns"] else {}
    return {
        "claims": claims,
        "homes": homes,
        "netns": listdir(NETNS_FOLDER),
        "nodes": nodes,
        "ports": nodes[fabric(lab)]["links"] if fabric(lab) in nodes else {},
        "mountpoints": {path: read_mountpoint(path) for path in PRIVATE},
    }


def read_layout(node: str) -> str:
    """Return what a node was made with, see :func:`.node.layout_of`."""
    try:
        with open(home(node) + "/layout", encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def listdir(path: str) -> list[str]:
    """Return the names in a directory, none if it is not there."""
    try:
        return sorted(os.listdir(path))
    except FileNotFoundError:
        return []
