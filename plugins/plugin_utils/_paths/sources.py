# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths that a campaign may name: those of the lab, and those of a network that exists already.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .lab_paths import LAB_PATHS
from .own_paths import OwnPath, as_paths
from .path import UNDERLAY, Devices, Endpoints, Path


@dataclass(frozen=True)
class Paths:
    """Paths by name."""

    by_name: Mapping[str, Path]

    def named(self, name: str) -> Path:
        """Return a path; an unknown one, such as that of an imported log, is plain."""
        return self.by_name.get(name) or Path(name, (UNDERLAY,))

    def existing(self) -> list[str]:
        """Return the names of the paths that exist without the lab."""
        return [name for name, path in self.by_name.items() if path.nodes]

    def classes(self, names: Iterable[str]) -> list[str]:
        """Return the device classes that the packets of these paths meet, each once."""
        classes: list[str] = []
        for name in names:
            classes += self.named(name).devices
        return list(dict.fromkeys(classes))

    def add_existing(self, node: str, endpoints: Endpoints, devices: Devices) -> None:
        """Add to a node's ends and devices what it has of the paths that exist already."""
        for path in self.by_name.values():
            there = path.nodes.get(node)
            if there is None:
                continue
            endpoints[path.name] = there["end"]
            for name, own in there["devices"].items():
                known = devices.setdefault(name, [])
                known += [device for device in own if device not in known]


LAB = Paths({path.name: path for path in LAB_PATHS})


def with_own(own: Mapping[str, OwnPath] | None) -> Paths:
    """Return the paths of the lab, and those of a network that exists already."""
    return Paths({**LAB.by_name, **{path.name: path for path in as_paths(own or {})}})
