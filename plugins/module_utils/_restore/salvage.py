# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore from a snapshot of an odd shape: each part of it alone, so one that is not understood, or that
fails, leaves the others to be restored.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, cast

from .._base import network
from . import restore
from .snapshot import Snapshot

Content = Dict[str, Any]  # of a snapshot's file, whatever is in it


def _rows(content: Content, key: str) -> list[Any]:
    rows = content.get(key)
    return rows if isinstance(rows, list) else []


def _same(device: Any, other: Any) -> bool:
    """Return whether two rows of a snapshot are of one device."""
    pair = (device, other)
    if not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in pair):
        return False
    return network.key_of(device) == network.key_of(other)


def parts(content: Content) -> Iterator[tuple[str, Content]]:
    """Yield ``(name, snapshot)`` for each link, each device and each other thing of a snapshot."""
    empty = {**content, "devices": [], "links": [], "other": {}}
    for row in _rows(content, "links"):
        yield f"link {row!r:.80}", {**empty, "links": [row]}
    for row in _rows(content, "devices"):
        links = [link for link in _rows(content, "links") if _same(link, row)]
        name = row.get("name") if isinstance(row, dict) else row
        yield f"device {name!r:.80}", {**empty, "devices": [row], "links": links}
    other = content.get("other")
    for name, row in other.items() if isinstance(other, dict) else ():
        yield f"{name!r:.80}", {**empty, "other": {name: row}}


def restore_parts(path: str) -> list[str]:
    """Restore each part of a snapshot that can be restored; return what is wrong with the others."""
    try:
        with open(path) as stream:
            content = json.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        return [f"{path} cannot be read ({error})"]
    if not isinstance(content, dict):
        return [f"{path} is not a snapshot"]
    problems = []
    for name, part in parts(content):
        try:
            restore.bring_back(cast(Snapshot, part))
        except Exception as error:  # whatever it is, the other parts must be restored
            problems.append(f"{name}: {error!r:.300}")
    return problems
