# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""manifest.json: what a campaign was measured on, of each node before and after it."""

from __future__ import annotations

import json
import os
from typing import Any, TypedDict, cast

from ...module_utils._base.errors import InputError
from ...module_utils._host import files, lease
from ...module_utils._host.files import write_changed
from ...module_utils._preflight.exchanged import Exchange
from .._untrusted.texts import clean_all

FILE = "manifest.json"
SCHEMA = 1


class NodeState(TypedDict, total=False):
    """What a node was at one moment; each part is what a module of the node returned."""

    host: dict[str, Any]
    links: dict[str, Any]
    programs: dict[str, Any]  # BPF, by device and hook
    ovs: dict[str, Any]
    devices: dict[str, Any]
    kernel_log: Any
    exchanges: list[Exchange]  # with other nodes, as the hosts were found
    classes: dict[str, list[str]]  # keys of ``devices``, by device class
    tenant_of: str  # the node of a tenant that is a host of its own, empty where it is not known


class NodeConditions(TypedDict, total=False):
    """What a node was before the campaign and after it."""

    before: NodeState
    after: NodeState


class Manifest(TypedDict):
    """The file."""

    schema: int
    campaign: str
    nodes: dict[str, NodeConditions]


def all_before(manifest: Manifest | None) -> dict[str, NodeState]:
    """Return what each node was before the campaign; an empty state where it is not recorded."""
    nodes = (manifest.get("nodes") if manifest else None) or {}
    return {node: parts.get("before") or {} for node, parts in nodes.items()}


def before_of(manifest: Manifest | None, node: str) -> NodeState:
    """Return what a node was before the campaign; an empty state where it is not recorded."""
    return all_before(manifest).get(node) or {}


def driver_of(before: NodeState, device: str) -> dict[str, str]:
    """Return the driver of a device with its versions, as ethtool lists them."""
    return ((before.get("devices") or {}).get(device) or {}).get("driver") or {}


def with_part(
    old: Manifest | None, campaign: str, node: str, part: str, conditions: NodeState
) -> Manifest:
    """Return the manifest with what a node is now; a campaign that goes on begins again for the
    node.
    """
    nodes = dict(old["nodes"]) if old and old.get("campaign") == campaign else {}
    if part == "before":
        nodes[node] = {"before": conditions}
    else:
        nodes[node] = {**nodes.get(node, {}), "after": conditions}
    return {"schema": SCHEMA, "campaign": campaign, "nodes": nodes}


def keep(folder: str, campaign: str, node: str, part: str, conditions: NodeState) -> bool:
    """Write what a node is now into the results folder, where nodes write together; return whether
    it changed.
    """
    path = os.path.join(folder, FILE)
    try:
        files.make_results_folder(folder)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(
            f"the folder cannot be opened ({error.strerror})",
            folder,
            "Give a folder you may write to.",
        )
    try:
        lease.wait_for(lock, folder)
        clean: NodeState = clean_all(conditions, f"{path}: {node}")
        manifest = with_part(_read(path), campaign, node, part, clean)
        return bool(
            write_changed(folder, {FILE: json.dumps(manifest, indent=4, sort_keys=True) + "\n"})
        )
    finally:
        os.close(lock)


def _read(path: str) -> Manifest | None:
    """Return the manifest in a file; None where none can be read, because it is then written again."""
    try:
        with open(path, encoding="utf-8") as stream:
            content = json.load(stream)
    except (OSError, ValueError):
        return None
    return (
        cast(Manifest, content)
        if isinstance(content, dict) and isinstance(content.get("nodes"), dict)
        else None
    )
