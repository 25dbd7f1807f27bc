# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threaded NAPI: the kernel polls a device in threads that the scheduler places. Pure.

A device without NAPI, such as a veth without GRO, refuses to change it.
"""

from __future__ import annotations

from typing import Any

from .._base.checks import boolean
from .kind import KindState, switch
from .sysfs import Sysfs


class Threaded(Sysfs):
    """Whether NAPI runs in threads."""

    name = group = "threaded"
    about = "polls the device in kernel threads instead of soft interrupts"
    availability = (
        "`threaded` in sysfs; Linux 5.12 and later, devices with NAPI (veth: with GRO on)"
    )
    settings = ["napi"]
    levels = ["off", "on"]
    file = "threaded"
    lacks = "this kernel has no threaded NAPI, or the file cannot be read"

    value = staticmethod(switch)

    def from_text(self, text: str) -> bool:
        if text not in ("0", "1"):
            raise ValueError(text)
        return text == "1"

    def to_text(self, value: Any) -> str:
        return "1" if value else "0"

    def checked(self, name: str, value: Any, state: KindState, where: str) -> bool:
        return boolean(value, f"{where} {name}")


THREADED = Threaded()
