# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interim tests of a campaign with ``until``: when the next one is due, and which visits it drops. Pure.

The campaign writes each decision to decisions.jsonl before the next visit, and keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...module_utils._base.errors import InputError
from .._statistics.looks import InterimTest, after_each_block, schedule
from .nouns import Campaign, Decided, Plan, Visit

SCHEMA = 1
BLOCKS = 16  # default of ``until: answered``
NAMED_BLOCKS = 4  # default of ``until: named``
ANSWERED, NAMED = "answered", "named"  # values of ``until``
INTEGRITY = "integrity"
# Designs that can name a fault; a check of the hops uses the second one.
NAMING = (INTEGRITY, "profiles")
# Designs whose profiles can leave the plan one by one.
DESIGNS = ("on_off", "one_at_a_time", "leave_one_out", "profiles")


def planned_tests(campaign: Campaign, blocks: int, where: str) -> list[InterimTest]:
    """Return the interim tests of a campaign with this number of blocks; none without ``until``."""
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
    tests = schedule(blocks)
    if not tests:
        raise InputError(
            f"{blocks} blocks leave no room for an interim test",
            where,
            "Give 12 blocks or more.",
        )
    return tests


def stages(ends: list[int], blocks: int) -> list[range]:
    """Return the stages of a plan: the blocks up to each of ``ends``, and the rest.

    A stage visits all MTUs. So the trials of a stage fill all tables.
    """
    all_ends = [0, *(block for block in ends if block < blocks), blocks]
    return [range(first + 1, last + 1) for first, last in zip(all_ends, all_ends[1:])]


def with_decisions(plan: Plan, decisions: list[Decided]) -> Plan:
    """Return a plan without the visits that interim tests dropped; ``looked`` has their decisions."""
    if not decisions:
        return plan
    visits = plan["visits"]
    for decision in decisions:
        visits = [visit for visit in visits if not _drops(decision, visit)]
    return {**plan, "visits": visits, "looked": decisions}


def _drops(decision: Decided, visit: Visit) -> bool:
    """Return whether the decision of an interim test drops a visit."""
    later = visit["block"] > decision["block"] and not visit.get("part")
    return later and (decision["answered"] or visit["profile"] in decision["settled"])


def due(plan: Plan, decisions: list[Decided], remaining: Iterable[Visit]) -> InterimTest | None:
    """Return the interim test that is due, or None: no visit of its blocks remains."""
    if decisions and decisions[-1]["answered"]:
        return None
    first = min((visit["block"] for visit in remaining), default=plan["blocks"] + 1)
    ready = [test for test in plan.get("looks") or () if test["block"] < first]
    return ready[len(decisions)] if len(ready) > len(decisions) else None


def decision_text(decision: Decided) -> str:
    """Return the decision of an interim test as a line of text."""
    begin = f"interim test after block {decision['block']}"
    if "named" in decision:
        named = ", ".join(decision["named"]) or "nothing"
        end = "; the check ends" if decision["answered"] else ""
        return f"{begin}: {named} is named{end}"
    settled = ", ".join(decision["settled"]) or "nothing"
    if decision["answered"]:
        return f"{begin}: {settled} settled; everything is answered, the campaign ends"
    still = ", ".join(f"{name} ({count})" for name, count in decision["open"].items())
    return f"{begin}: {settled} settled and out of the plan; open comparisons: {still}"
