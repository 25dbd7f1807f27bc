# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the CPUs of a host have done since it booted: the difference of two such readings is a
window.
"""

from __future__ import annotations

import os
import time
from typing import Any

KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def parse(text: str, hertz: int) -> dict[str, float]:
    """Return ``{kind: seconds}`` of all CPUs together, from /proc/stat."""
    fields = text.split("\n", 1)[0].split()[1 : 1 + len(KINDS)]
    return {kind: int(ticks) / hertz for kind, ticks in zip(KINDS, fields)}


def read() -> dict[str, Any]:
    """Return ``{"time", "boot_id", "seconds": {kind: s}}`` of now."""
    with open("/proc/stat") as stat, open("/proc/sys/kernel/random/boot_id") as boot:
        return {
            "time": time.time(),
            "boot_id": boot.read().strip(),
            "seconds": parse(stat.read(), os.sysconf("SC_CLK_TCK")),
        }
