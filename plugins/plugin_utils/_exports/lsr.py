# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of role network of the Linux system roles. Pure.

It names features as NetworkManager does, with underscores.
"""

from __future__ import annotations

from typing import Any

from ...module_utils._kinds.feature import FEATURE
from .._untrusted.variables import dump_variables
from .host_settings import (
    Export,
    HostDevice,
    HostSettings,
    expressed,
    head,
    not_expressed,
    short_name,
)
from .tuned import COALESCE

USE = """\
Merge the key ethtool into the profile that you have for the device: the role replaces a profile as a whole."""
# Features that NetworkManager knows and the role does not.
NEWER = frozenset(
    [
        "macsec-hw-offload",
        "rx-gro-list",
        "rx-udp-gro-forwarding",
        "tls-hw-rx-offload",
        "tx-gso-list",
        "tx-tunnel-remcsum-segmentation",
    ]
)
OPTIONS = {
    "coalesce": ("coalesce", COALESCE),
    "rings": ("ring", frozenset(["rx", "rx-mini", "rx-jumbo", "tx"])),
}


def _named(values: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in values.items()}


def _ethtool(device: HostDevice) -> tuple[dict[str, Any], list[str]]:
    """Return the key ethtool of a device, and what it cannot express."""
    known = [
        row
        for row in device.features
        if row not in NEWER and FEATURE.connection_property(row, True)
    ]
    section: dict[str, Any] = {}
    if known:
        section["features"] = _named({short_name(row): device.features[row] for row in known})
    left = not_expressed(device, "features", [row for row in device.features if row not in known])
    others, missing = expressed(device, OPTIONS)
    section.update({option: _named(values) for option, values in others.items()})
    return section, left + missing


def linux_system_roles(settings: HostSettings) -> Export:
    """Return the variables."""
    connections = []
    left = list(settings.left)
    for device in settings.devices:
        section, missing = _ethtool(device)
        left += missing
        if section:
            connections.append(
                {
                    "name": device.name,
                    "interface_name": device.name,
                    "type": "ethernet",
                    "ethtool": section,
                }
            )
    text = dump_variables({"network_connections": connections}, width=80)
    name = "linux-system-roles.network"
    return Export(f"---\n{head(settings, name, USE, left)}{text}", left)
