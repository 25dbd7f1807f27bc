# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transmit packet steering: the CPUs whose packets a transmit queue takes. Pure."""

from __future__ import annotations

from .steering import Steering


class Xps(Steering):
    """The CPUs of transmit queues."""

    name = group = "xps"
    about = "chooses the transmit queue by the CPU that sends"
    availability = "`xps_cpus` in sysfs; devices with several transmit queues"
    file = "queues/tx-*/xps_cpus"
    lacks = "it has no queues that xps can steer"


XPS = Xps()
