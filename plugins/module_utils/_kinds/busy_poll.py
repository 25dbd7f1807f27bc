# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long select and poll ask the devices themselves for packets. Pure."""

from __future__ import annotations

from .host import HostKind


class BusyPoll(HostKind):
    """The time of busy polling."""

    name = group = "busy_poll"
    about = "lets select and poll ask devices for packets themselves, for this number of microseconds; 0 never"
    availability = "sysctl `net.core.busy_poll`; kernels with CONFIG_NET_RX_BUSY_POLL"
    settings = ["us"]
    file = "net/core/busy_poll"


BUSY_POLL = BusyPoll()
