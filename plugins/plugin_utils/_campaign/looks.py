# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The looks of a campaign that ends when it is answered: which visits are dropped, and which look
comes next. Pure.

What a look decided is kept in decisions.jsonl before the next visit, and never decided again.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...module_utils._base.errors import InputError
from .._statistics.looks import Look, after_each_block, schedule
from .nouns import Campaign, Decided, Plan, Visit

SCHEMA = 1
BLOCKS = 16  # at most, of a campaign that names none
NAMED_BLOCKS = 4  # the same, of a check that ends when a fault is named
ANSWERED, NAMED = "answered", "named"  # what ``until`` may be
INTEGRITY = "integrity"
# Designs that name a fault, the second one where a campaign asks for the hop.
NAMING = (INTEGRITY, "profiles")
DESIGNS = (
    "on_off",
    "one_at_a_time",
    "leave_one_out",
    "profiles",
)  # whose profiles can leave one by one


def looks_of(campaign: Campaign, blocks: int, where: str) -> list[Look]:
    """Return the looks of a campaign of so many blocks; none where it does not end when it is
    answered.
    """
    if not campaign["until"]:
        return []
    designs = NAMING if campaign["until"] == NAMED else DESIGNS
    if campaign["design"] not in designs:
        raise InputError(
            f"design {campaign['design']} cannot end when it is {campaign['until']}",
            where,
            f"Leave out 'until', or use {', '.join(designs)}.",
        )
    if campaign["until"] == NAMED:
        return after_each_block(blocks)
    looks = schedule(blocks)
    if not looks:
        raise InputError(
            f"{blocks} blocks leave no room for a look before the end",
            where,
            "Give 12 blocks or more.",
        )
    return looks


def stages(looks: list[int], blocks: int) -> list[range]:
    """Return the blocks between two looks, each after a block: in each stage all MTUs are visited,
    so that each look sees all tables.
    """
    ends = [0, *(block for block in looks if block < blocks), blocks]
    return [range(first + 1, last + 1) for first, last in zip(ends, ends[1:])]


def with_looks(plan: Plan, made: list[Decided]) -> Plan:
    """Return a plan without the visits that were dropped; ``looked`` are the looks that were made."""
    if not made:
        return plan
    visits = plan["visits"]
    for look in made:
        visits = [visit for visit in visits if not _drops(look, visit)]
    return {**plan, "visits": visits, "looked": made}


def _drops(look: Decided, visit: Visit) -> bool:
    """Return whether a visit is no longer needed after a look."""
    later = visit["block"] > look["block"] and not visit.get("part")
    return later and (look["answered"] or visit["profile"] in look["settled"])


def due(plan: Plan, made: list[Decided], left: Iterable[Visit]) -> Look | None:
    """Return the look that is due, or None: all visits of its blocks are made; ``left`` are those
    that are not.
    """
    if made and made[-1]["answered"]:
        return None
    first = min((visit["block"] for visit in left), default=plan["blocks"] + 1)
    done = [look for look in plan.get("looks") or () if look["block"] < first]
    return done[len(made)] if len(done) > len(made) else None


def look_text(look: Decided) -> str:
    """Return what a look decided, in a line."""
    if "named" in look:
        named = ", ".join(look["named"]) or "nothing"
        end = "; the check ends" if look["answered"] else ""
        return f"interim test after block {look['block']}: {named} is named{end}"
    settled = ", ".join(look["settled"]) or "nothing"
    if look["answered"]:
        return f"look after block {look['block']}: {settled} settled; everything is answered, the campaign ends"
    still = ", ".join(f"{name} ({count})" for name, count in look["open"].items())
    return f"look after block {look['block']}: {settled} settled and out of the plan; open comparisons: {still}"
