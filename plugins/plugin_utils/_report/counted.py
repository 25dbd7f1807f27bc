# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An effect explained in packets: how many crossed the stack, how many the device cut, how many GRO
merged, and the CPU time of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .._analysis.result import PacketCounts
from .._figures.nouns import NamedTable
from .phrases import ENDS

MOST = 3  # profiles in addition to the control
ACTS = 0.25  # from this share of the larger count on, two counts differ
NEXT_TO_NOTHING = 1.0  # packets per MB
ByProfile = Mapping[str, PacketCounts]


class Named(NamedTuple):
    """The control of a campaign, and how the report calls each profile."""

    control: str
    names: Mapping[str, str]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}".replace(".0", "")


def _row(label: str, row: PacketCounts, rows: Iterable[PacketCounts]) -> str:
    """Return a profile's counts in words; what no profile has is left out."""
    rows = list(rows)
    parts = [f"{label} {_number(row.per_mb)}"]
    if any(other.cut_per_mb >= NEXT_TO_NOTHING for other in rows):
        parts.append(f"the device cut {_number(row.cut_per_mb)}")
    if any(other.merged_per_mb >= NEXT_TO_NOTHING for other in rows):
        parts.append(f"GRO merged {_number(row.merged_per_mb)}")
    if row.cpu_us:
        parts.append(f"{_number(row.cpu_us)} µs of CPU time each")
    return ", ".join(parts)


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > max(NEXT_TO_NOTHING, ACTS * max(one, other))


def acts(control: PacketCounts, row: PacketCounts) -> bool:
    """Return whether a profile changes what happens to the packets."""
    pairs = (
        (control.per_mb, row.per_mb),
        (control.cut_per_mb, row.cut_per_mb),
        (control.merged_per_mb, row.merged_per_mb),
    )
    checksums = abs(control.checksum_left - row.checksum_left) > ACTS
    return checksums or any(_differ(one, other) for one, other in pairs)


def _ends(counts: Sequence[PacketCounts]) -> dict[str, dict[str, PacketCounts]]:
    by_end: dict[str, dict[str, PacketCounts]] = {}
    for row in counts:
        by_end.setdefault(row.end, {})[row.profile] = row
    return by_end


def _without_effect(table: NamedTable) -> Iterator[str]:
    """Yield the profiles that are shown to make no difference."""
    for quantity in table.quantities:
        if quantity.group in ("main", "profiles"):
            yield from (row.profile for row in quantity.rows if row.effect.outcome == "same")


def _idle(table: NamedTable, ends: Mapping[str, ByProfile], named: Named) -> list[str]:
    """Return whether each profile without an effect acts on packets at all."""
    control, names = named
    sentences = []
    for profile in dict.fromkeys(_without_effect(table)):
        pairs = [(rows.get(control), rows.get(profile)) for rows in ends.values()]
        changes = [acts(base, row) for base, row in pairs if base and row]
        if any(changes):
            sentences.append(f"{names[profile]} makes no difference, although it acts on packets.")
        elif changes:
            sentences.append(f"{names[profile]} makes no difference: packets are the same.")
    return sentences


def explained(table: NamedTable, named: Named) -> str:
    """Return what the counts say of a table's effects; empty where there are no counts."""
    control, names = named
    ends = _ends(table.counts or ())
    sentences = []
    for end, rows in ends.items():
        if control not in rows:
            continue
        others = [profile for profile in rows if profile != control and profile in names]
        shown = [control, *others[:MOST]]
        listed = "; ".join(_row(names[profile], rows[profile], rows.values()) for profile in shown)
        more = "; …" if len(others) > MOST else ""
        sentences.append(f"Packets per MB{ENDS[end]}: {listed}{more}.")
    return " ".join([*sentences, *_idle(table, ends, named)])
