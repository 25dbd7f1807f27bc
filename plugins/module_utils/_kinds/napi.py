# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of NAPI, the kernel's polling of a device: threads, timer and deferred interrupts. Pure."""

from __future__ import annotations

from typing import Any

from .._base.checks import boolean
from .kind import KindState, switch
from .sysfs import Number, Sysfs


class Threaded(Sysfs):
    """Whether the kernel polls in threads that the scheduler places.

    A device without NAPI, such as a veth without GRO, refuses to change it.
    """

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


class GroFlushTimeout(Number):
    """How long GRO keeps packets that it may merge with later ones, in nanoseconds."""

    name = group = "gro_flush_timeout"
    about = (
        "keeps packets that GRO may merge with later ones, in nanoseconds; 0 until the poll ends"
    )
    availability = "`gro_flush_timeout` in sysfs; every kernel, devices with NAPI"
    settings = ["ns"]
    file = "gro_flush_timeout"
    lacks = "the file gro_flush_timeout is not there or cannot be read"


GRO_FLUSH_TIMEOUT = GroFlushTimeout()


class NapiDeferHardIrqs(Number):
    """How many empty polls go by before a device's interrupts are on again.

    It acts with a ``gro_flush_timeout`` above 0, whose timer polls meanwhile.
    """

    name = group = "napi_defer_hard_irqs"
    about = "leaves interrupts off for this many empty polls; acts with a `gro_flush_timeout`"
    availability = "`napi_defer_hard_irqs` in sysfs; Linux 5.8 and later, devices with NAPI"
    settings = ["polls"]
    file = "napi_defer_hard_irqs"
    lacks = "this kernel has no napi_defer_hard_irqs, or the file cannot be read"
    most = 2**31 - 1


NAPI_DEFER_HARD_IRQS = NapiDeferHardIrqs()
