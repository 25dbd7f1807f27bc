# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The own namespaces of reproduce.sh: which path they can have, and what stands in for each device."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ..._paths.lab_paths import LAB_PATHS
from ..._paths.path import UNDERLAY, Path
from ..._untrusted.texts import comment
from .ends import OWN
from .features import DeviceFeature, EndSettings

SOFTWARE = ("veth", "vxlan")  # drivers whose faults need no card
FIRST = ("192.0.2.1", "192.0.2.2")  # addresses in the script's own namespaces
INNER = ("198.51.100.1", "198.51.100.2")
THROUGH_SWITCH = {path.name for path in LAB_PATHS if path.kind or path.like}


def layers_of(path: Path, nodes: Iterable[EndSettings]) -> tuple[str, str]:
    """Return what a path in own namespaces has, and why there is none."""
    features = list(chain.from_iterable(node.broken + node.cured for node in nodes))
    others = sorted({feature.driver for feature in features} - set(SOFTWARE))
    if others:
        return "card", f"the fault is one of driver {comment(others[0]) or 'unknown'}"
    if path.name in THROUGH_SWITCH:
        return "card", "the path leads through Open vSwitch"
    if path.encapsulation.name not in ("none", "vxlan"):
        return "card", f"the path has a tunnel of type {comment(path.encapsulation.name)}"
    if not path.tunnelled:
        return "none", ""
    inner = {feature.device_class for feature in features} - {UNDERLAY, "tunnel"}
    return ("bridge" if inner else "vxlan"), ""


def _stand_in(feature: DeviceFeature, layers: str) -> str:
    """Return the device of the script's own namespaces that stands for a device."""
    if layers == "none" or feature.device_class == UNDERLAY:
        return "eth0"
    return {"tunnel": "vxlan0", "tenant": "tenant0"}.get(feature.device_class, "port0")


def stand_ins(layers: str, ends: Iterable[EndSettings]) -> list[EndSettings]:
    """Return the ends in the script's own namespaces."""
    addresses = FIRST if layers == "none" else INNER
    ours: list[EndSettings] = []
    for end, address in zip(ends, addresses):
        broken = [_moved(feature, layers) for feature in end.broken]
        cured = [_moved(feature, layers) for feature in end.cured]
        ours.append(EndSettings(OWN, address, broken, cured))
    return ours


def _moved(feature: DeviceFeature, layers: str) -> DeviceFeature:
    return feature._replace(netns=OWN, device=_stand_in(feature, layers))
