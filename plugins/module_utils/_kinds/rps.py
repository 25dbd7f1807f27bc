# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive packet steering: the CPUs that process the packets of a receive queue. Pure."""

from __future__ import annotations

from .steering import Steering


class Rps(Steering):
    """The CPUs of receive queues."""

    name = group = "rps"
    about = "spreads received packets over CPUs in software"
    availability = "`rps_cpus` in sysfs; every kernel and driver"
    file = "queues/rx-*/rps_cpus"
    lacks = "it has no queues that rps can steer"


RPS = Rps()
