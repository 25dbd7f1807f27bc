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
    found = "`rps_cpus` in sysfs; every kernel and driver"
    queues = "rx"
    file = "rps_cpus"
    kept_too = ("rps_flow_cnt",)


RPS = Rps()
