# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many polls that find nothing go by before a device's interrupts are on again. Pure.

It acts with a ``gro_flush_timeout`` above 0, whose timer polls meanwhile.
"""

from __future__ import annotations

from .sysfs import Number


class NapiDeferHardIrqs(Number):
    """The number of empty polls without interrupts."""

    name = group = "napi_defer_hard_irqs"
    about = "leaves interrupts off for this many empty polls; acts with a `gro_flush_timeout`"
    availability = "`napi_defer_hard_irqs` in sysfs; Linux 5.8 and later, devices with NAPI"
    settings = ["polls"]
    file = "napi_defer_hard_irqs"
    lacks = "this kernel has no napi_defer_hard_irqs, or the file cannot be read"
    most = 2**31 - 1


NAPI_DEFER_HARD_IRQS = NapiDeferHardIrqs()
