# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The five paths: where each begins and ends, what its packets meet, and whether they go through
the tunnel.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .nouns import Tenant


class Path(NamedTuple):
    """One way between two nodes."""

    devices: tuple[str, ...]  # the device classes whose features its packets meet
    tunnelled: bool  # through vxlan0


PATHS = {
    "physical": Path(("underlay",), tunnelled=False),
    "physical_vxlan": Path(("underlay", "host"), tunnelled=True),
    "tenant": Path(("underlay", "tenant"), tunnelled=False),
    "tenant_vxlan": Path(("underlay", "tenant"), tunnelled=True),
    "tenant_bridge_vxlan": Path(("underlay", "tenant"), tunnelled=True),
}


def path_of(tenant: Tenant) -> str:
    """Return the path that a tenant, or the host's veth, is the end of."""
    if not tenant.get("namespace", True):
        return "physical_vxlan"
    if tenant.get("flat"):
        return "tenant"
    return "tenant_bridge_vxlan" if tenant.get("linux_bridge") else "tenant_vxlan"


def device_classes(paths: Iterable[str]) -> list[str]:
    """Return the device classes that the packets of these paths meet, each once."""
    return list(dict.fromkeys(device for path in paths for device in PATHS[path].devices))


def tunnelled(path: str) -> bool:
    """Return whether a path goes through the tunnel; one that is not of the lab does not."""
    return path in PATHS and PATHS[path].tunnelled
