# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's counters say at one moment."""

from __future__ import annotations

from typing import TypedDict


class CounterReading(TypedDict):
    """The state of an end at one moment."""

    time: float  # s since the epoch
    stat: str  # raw, as the next
    softirqs: str
    boot_id: str
    hertz: int
    features: dict[str, str | None]
    throttled: int
    errors: dict[str, int]  # counted since boot
    alarms: list[str]  # of the kernel's log since the snapshot before
