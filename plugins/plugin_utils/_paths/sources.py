# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where paths come from. The lab is one source; one that is there already is an entry of another.

A path of another source says in ``nodes`` what each node has of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from .lab_paths import LAB_PATHS
from .own_paths import OwnPath, as_paths
from .path import FORWARDERS, UNDERLAY, Devices, Endpoints, Path

FACT = "__offload_lab_own_paths"
SOURCES: list[tuple[Path, ...]] = [LAB_PATHS]


def take(variables: Mapping[str, Any] | None) -> None:
    """Take the paths of the network that is there already, where a host's variables have them."""
    own = _own_of(variables or {})
    SOURCES[:] = [LAB_PATHS, as_paths(own)]


def _own_of(variables: Mapping[str, Any]) -> Mapping[str, OwnPath]:
    """Return the paths that the nodes have found. A host that forwards has no end of one, and takes
    them from a node.
    """
    own: Mapping[str, OwnPath] = variables.get(FACT) or {}
    forwarders = (variables.get("groups") or {}).get(FORWARDERS, ())
    if own or variables.get("inventory_hostname") not in forwarders:
        return own
    for host in variables["ansible_play_hosts"]:
        found: Mapping[str, OwnPath] | None = variables["hostvars"][host].get(FACT)
        if found:
            return found
    return {}


def all_paths() -> dict[str, Path]:
    """Return the paths of all sources, by name."""
    return {path.name: path for path in chain.from_iterable(SOURCES)}


def path_named(name: str) -> Path:
    """Return a path; one of no source, such as that of an imported log, is plain."""
    return all_paths().get(name) or Path(name, (UNDERLAY,))


def encapsulations(names: Iterable[str]) -> dict[str, str]:
    """Return by path what is put around the packets of those that are there already."""
    known = all_paths()
    there = {name: known[name] for name in names if name in known and known[name].nodes}
    return {name: path.encapsulation.name for name, path in there.items()}


def device_classes(names: Iterable[str]) -> list[str]:
    """Return the device classes that the packets of these paths meet, each once."""
    classes: list[str] = []
    for name in names:
        classes += path_named(name).devices
    return list(dict.fromkeys(classes))


def add_existing(node: str, endpoints: Endpoints, devices: Devices) -> None:
    """Add to a node's ends and devices what it has of the paths that are there already."""
    for path in all_paths().values():
        there = path.nodes.get(node)
        if there is None:
            continue
        endpoints[path.name] = there["end"]
        for name, own in there["devices"].items():
            known = devices.setdefault(name, [])
            known += [device for device in own if device not in known]
