# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets a second beside Mbit/s, where datagrams are small: there each packet costs, not its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .._campaign.nouns import Plan
from .._figures.nouns import NamedTable
from .._statistics import text

SMALL = 512  # bytes of a datagram
MOST = 8  # profiles in the sentence
PER_MEGABIT = 1e6 / 8  # bytes


def added(tables: Sequence[NamedTable], plan: Plan) -> list[NamedTable]:
    """Return the tables, those of small datagrams with a sentence and a note that gives their rates
    in packets a second.
    """
    sizes = {load["name"]: load["message_size"] for load in plan["workloads"]}
    return [_with_rates(table, sizes.get(table.workload)) for table in tables]


def _with_rates(table: NamedTable, size: int | None) -> NamedTable:
    medians = table.medians.get("throughput")
    if table.test != "UDP_STREAM" or not size or size > SMALL or not medians:
        return table
    words = _sentence(medians, size)
    return replace(table, packets=words, notes=[*table.notes, words])


def _sentence(medians: dict[str, float], size: int) -> str:
    rates = [
        f"{name} {text.number(megabits * PER_MEGABIT / size)}" for name, megabits in medians.items()
    ]
    more = "; …" if len(rates) > MOST else ""
    return f"Packets a second, of {size} bytes each: {'; '.join(rates[:MOST])}{more}."
