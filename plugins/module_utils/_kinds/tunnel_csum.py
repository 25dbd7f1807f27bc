# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outer UDP checksum of the tunnel; role tunnel sets it. Pure."""

from __future__ import annotations

from .kind import Kind, switch


class TunnelCsum(Kind):
    """The outer UDP checksum of the tunnel."""

    name = "tunnel_csum"
    about = "sets the outer UDP checksum of the tunnel"
    availability = "Open vSwitch or the kernel's VXLAN device"
    takes = "`off`, `on`"
    settings = ["csum"]
    levels = ["off", "on"]
    devices = ["tunnel"]

    value = staticmethod(switch)


TUNNEL_CSUM = TunnelCsum()
