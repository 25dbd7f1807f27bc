# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device classes that one host of an existing path lacks and the other host has. Pure.

Packets leave the two hosts in different ways, or a campaign may not change the device of one host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from .._paths.lab_paths import Paths
from .._paths.path import Path
from .nouns import Outline


def lacking(campaign: Outline, known: Paths) -> dict[str, list[str]]:
    """Return, by host, the varied device classes of existing paths without a device at the host."""
    paths = [known.named(name) for name in campaign["paths"]]
    varied = set(chain.from_iterable(factor["devices"] for factor in campaign["factors"]))
    classes: list[str] = []
    hosts: list[str] = []
    for path in paths:
        if path.nodes:
            classes += path.devices
            hosts += path.nodes
    varied_classes = [name for name in dict.fromkeys(classes) if name in varied]
    absent = {host: _absent(host, varied_classes, paths) for host in dict.fromkeys(hosts)}
    return {host: names for host, names in absent.items() if names}


def _absent(host: str, classes: Iterable[str], paths: Iterable[Path]) -> list[str]:
    """Return the classes without a device of a host on any of these paths."""
    present: set[str] = set()
    for path in paths:
        present.update(_classes_at(host, path))
    return [name for name in classes if name not in present]


def _classes_at(host: str, path: Path) -> Iterable[str]:
    """Return the classes of the devices that a host has on a path; each host of a lab has all."""
    if not path.nodes:
        return path.devices
    return path.nodes[host]["devices"] if host in path.nodes else ()


def left_out(campaign: Outline, known: Paths) -> dict[str, str]:
    """Return, by host that lacks device classes, a sentence on the factors that leave them out there."""
    return {
        host: _sentence(campaign, host, absent) for host, absent in lacking(campaign, known).items()
    }


def _sentence(campaign: Outline, host: str, absent: Sequence[str]) -> str:
    names = [
        factor["name"]
        for factor in campaign["factors"]
        if not set(absent).isdisjoint(factor["devices"])
    ]
    return (
        f"not varied at class {' and '.join(absent)} of {host}: {', '.join(names)}. "
        "Its path has no such device that a campaign may change"
    )
