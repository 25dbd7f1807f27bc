# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long GRO keeps packets that it may merge with later ones, in nanoseconds. Pure."""

from __future__ import annotations

from .sysfs import Number


class GroFlushTimeout(Number):
    """The timeout of GRO."""

    name = group = "gro_flush_timeout"
    about = (
        "keeps packets that GRO may merge with later ones, in nanoseconds; 0 until the poll ends"
    )
    availability = "`gro_flush_timeout` in sysfs; every kernel, devices with NAPI"
    settings = ["ns"]
    file = "gro_flush_timeout"
    lacks = "the file gro_flush_timeout is not there or cannot be read"


GRO_FLUSH_TIMEOUT = GroFlushTimeout()
