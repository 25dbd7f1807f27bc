# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A state of nmstate: the section ethtool of an interface. Pure.

It names features as the kernel does, and sets them by NetworkManager: a feature that NetworkManager
does not know cannot be set.
"""

from __future__ import annotations

from typing import Any

import yaml

from ...module_utils._kinds.feature import FEATURE
from .host_settings import (
    Export,
    HostDevice,
    HostSettings,
    expressed,
    head,
    kernel_name,
    not_expressed,
)
from .tuned import COALESCE

USE = "Apply it with: nmstatectl apply FILE"
OPTIONS = {
    "coalesce": ("coalesce", COALESCE),
    "rings": ("ring", frozenset(["rx", "rx-mini", "rx-jumbo", "tx"])),
    "pause": ("pause", frozenset(["autoneg", "rx", "tx"])),
}


def _ethtool(device: HostDevice) -> tuple[dict[str, Any], list[str]]:
    """Return the section ethtool of a device, and what it cannot express."""
    known = [row for row in device.features if FEATURE.connection_property(row, True)]
    section: dict[str, Any] = {}
    if known:
        section["feature"] = {kernel_name(row): device.features[row] for row in known}
    left = not_expressed(device, "features", [row for row in device.features if row not in known])
    others, missing = expressed(device, OPTIONS)
    return {**section, **others}, left + missing


def nmstate(settings: HostSettings) -> Export:
    """Return the state."""
    interfaces = []
    left = list(settings.left)
    for device in settings.devices:
        section, missing = _ethtool(device)
        left += missing
        if section:
            interfaces.append({"name": device.name, "type": "ethernet", "ethtool": section})
    text = yaml.safe_dump({"interfaces": interfaces}, sort_keys=False)
    return Export(f"---\n{head(settings, 'nmstate', USE, left)}{text}", left)
