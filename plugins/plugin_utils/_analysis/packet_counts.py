# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packets of each profile and end of a table: medians of its trials."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .._trials.crossed import Counts
from .cube import Cube
from .result import PacketCounts


def _row(profile: str, end: str, counts: Sequence[Counts]) -> PacketCounts:
    cpu = [count.cpu_us for count in counts if count.cpu_us is not None]
    return PacketCounts(
        profile=profile,
        end=end,
        n=len(counts),
        per_mb=median(count.per_mb for count in counts),
        cut_per_mb=median(count.cut_per_mb for count in counts),
        merged_per_mb=median(count.merged_per_mb for count in counts),
        checksum_left=median(count.checksum_left for count in counts),
        cpu_us=median(cpu) if cpu else None,
    )


def counts_of_table(cube: Cube, table: int) -> list[PacketCounts]:
    """Return the rows of a table, by end, the control first."""
    rows = [
        _row(profile, end, counts)
        for (place, profile, end), counts in cube.crossed.items()
        if place == table
    ]
    order = {name: number for number, name in enumerate(cube.profiles)}
    return sorted(rows, key=lambda row: (row.end, order[row.profile]))
