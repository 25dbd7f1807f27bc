# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive flow steering: how many flows each receive queue remembers, to find their programs' CPUs.
Pure.

It acts only where ``net.core.rps_sock_flow_entries`` is above 0. That is a sysctl of the whole
host, not a setting of a device, so it is neither varied nor restored here.
"""

from __future__ import annotations

from typing import Any

from .._base.errors import InputError
from .kind import KindState, number
from .sysfs import Number


class Rfs(Number):
    """The flows of receive queues."""

    name = group = "rfs"
    about = (
        "steers a flow to the CPU of the program that reads it; acts with the host's sysctl "
        "`net.core.rps_sock_flow_entries`, which is not a device's and stays as it is"
    )
    found = "`rps_flow_cnt` in sysfs; every kernel and driver"
    settings = ["flows"]
    file = "queues/rx-*/rps_flow_cnt"
    lacks = "it has no receive queues that rfs can steer"

    def value(self, level: str) -> int:
        flows = number(level)
        if flows & (flows - 1):
            raise ValueError("0 or a power of two; the kernel rounds other numbers up")
        return flows

    def checked(self, name: str, value: Any, state: KindState, where: str) -> int:
        flows = super().checked(name, value, state, where)
        if flows & (flows - 1):
            raise InputError(
                "is not a power of two, to which the kernel would round it up",
                f"{where} {name} {flows}",
                "Give 0 or a power of two, such as 4096.",
            )
        return flows


RFS = Rfs()
