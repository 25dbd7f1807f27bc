# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many flows the host remembers for receive flow steering. Pure."""

from __future__ import annotations

from typing import Any

from .host import HostKind
from .kind import KindState, power_of_two, require_power_of_two


class RpsSockFlowEntries(HostKind):
    """The size of the table of flows."""

    name = group = "rps_sock_flow_entries"
    about = "is how many flows the host remembers for `rfs`, which acts only where it is above 0"
    availability = "sysctl `net.core.rps_sock_flow_entries`; kernels with CONFIG_RPS"
    settings = ["flows"]
    file = "net/core/rps_sock_flow_entries"
    most = 1 << 29

    value = staticmethod(power_of_two)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return require_power_of_two(super().checked(name, value, state, where), f"{where} {name}")


RPS_SOCK_FLOW_ENTRIES = RpsSockFlowEntries()
