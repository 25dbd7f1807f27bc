# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive flow steering: how many flows each receive queue remembers, to find their programs' CPUs.
Pure.

It acts only where ``net.core.rps_sock_flow_entries`` is above 0, which is a kind of the host.
"""

from __future__ import annotations

from typing import Any

from .kind import KindState, power_of_two, require_power_of_two
from .sysfs import Number


class Rfs(Number):
    """The flows of receive queues."""

    name = group = "rfs"
    about = (
        "steers a flow to the CPU of the program that reads it; acts where `rps_sock_flow_entries` "
        "is above 0"
    )
    availability = "`rps_flow_cnt` in sysfs; every kernel and driver"
    settings = ["flows"]
    file = "queues/rx-*/rps_flow_cnt"
    lacks = "it has no receive queues that rfs can steer"

    value = staticmethod(power_of_two)

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        return require_power_of_two(super().checked(name, value, state, where), f"{where} {name}")


RFS = Rfs()
