# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools for which what is recommended is exported, with the names of their files. Pure."""

from __future__ import annotations

from collections.abc import Callable

from .host_settings import Export, HostSettings
from .lsr import linux_system_roles
from .netplan import netplan
from .nmstate import nmstate
from .talos import talos
from .tuned import tuned

FORMATS: dict[str, tuple[str, Callable[[HostSettings], Export]]] = {
    "tuned": ("tuned.conf", tuned),
    "nmstate": ("nmstate.yml", nmstate),
    "netplan": ("netplan.yaml", netplan),
    "talos": ("talos.yaml", talos),
    "linux_system_roles": ("network_connections.yml", linux_system_roles),
}
