# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a campaign spends its time budget: the length of a cell and the number of blocks. Pure.

The campaign decides after the first blocks, and again after the blocks of that decision. It uses the
scatter inside blocks and the clock, never the effects. It writes each decision to decisions.jsonl
before it acts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .._statistics.effects import Scatter
from . import lengths
from .lengths import MOST_BLOCKS, first_blocks
from .nouns import Campaign, CellScatter, Plan, Spending, Visit
from .visits import seconds_of, visits_of, visits_per_block, workloads_at

SCHEMA = 1
LEAST_NOISE = 1e-9  # of a logarithm: it limits the weight of a block without scatter
KEPT = 0.1  # share of the rest that the first decision leaves to the second: visits vary in length


def comparisons(design: str, profiles: int, factors: int) -> int:
    """Return the number of effects that a table has per metric."""
    return factors if design in ("full_factorial", "screen") else max(1, profiles - 1)


def effects_of(plan: Plan) -> int:
    """Return the number of effects that the report tests together: all tables, throughput and CPU."""
    tables = (
        max(1, len(plan["pairs"])) * len(plan["paths"]) * len(plan["mtus"]) * len(plan["workloads"])
    )
    return 2 * tables * comparisons(plan["design"], len(plan["profiles"]), len(plan["factors"]))


class Costs(NamedTuple):
    """The measured costs of a block, in seconds."""

    spent: float  # by all blocks so far
    reserved: float  # for the confirmation
    overhead: float  # of a visit: all but the cells whose length is chosen
    visits: int  # of a block, at all MTUs
    shortest: Sequence[float]  # lengths of a visit's cells whose length is chosen
    serial_share: float = 1.0  # of these cells, measured one after the other

    def cells(self, seconds: float) -> float:
        """Return the time of a visit's cells of this length."""
        return self.serial_share * sum(max(seconds, least) for least in self.shortest)

    def block(self, seconds: float) -> float:
        """Return the time of a block with cells of this length."""
        return self.visits * (self.overhead + self.cells(seconds))

    def length(self, seconds: float) -> float:
        """Return the common length with the same mean scatter as cells of at least ``seconds``."""
        return len(self.shortest) / sum(1 / max(seconds, least) for least in self.shortest)


class Choice(NamedTuple):
    """The choice of a length: what may be chosen, and what is measured already."""

    lengths: Sequence[float]  # of a cell, in seconds
    effects: int  # that the report tests together
    blocks: int  # measured already
    seconds: float  # of their cells


def best_length(
    scatter: Scatter, choice: Choice, costs: Costs, remaining_s: float
) -> tuple[float, int]:
    """Return the seconds of a cell and the number of blocks that show the smallest effect in the
    remaining time.

    More blocks always reduce the scatter of the mean. Longer cells reduce only the scatter of cells.
    """
    candidates = []
    for seconds in choice.lengths:
        more = min(MOST_BLOCKS - choice.blocks, int(remaining_s / costs.block(seconds)))
        blocks = choice.blocks + more
        size = detectable(scatter, choice, costs, seconds, more)
        candidates.append((size, -blocks, seconds))
    _size, blocks, seconds = min(candidates)
    return seconds, -blocks


def detectable(scatter: Scatter, choice: Choice, costs: Costs, seconds: float, more: int) -> float:
    """Return the smallest effect that ``more`` blocks with cells of ``seconds`` let a campaign find.

    The unit is arbitrary, but the same for all lengths.
    """
    from .._statistics.power import factor  # noqa: PLC0415

    blocks = choice.blocks + more
    multiple = factor(blocks, choice.effects)
    if multiple is None:
        return math.inf
    earlier = choice.blocks * scatter.noise(costs.length(choice.seconds)) ** 2
    later = more * scatter.noise(costs.length(seconds)) ** 2
    return multiple * math.sqrt((earlier + later) / blocks)


def weight(scatter: Scatter, seconds: float) -> float:
    """Return the weight of a block with cells of this length: 1 / scatter.

    Each block then adds a term of equal scatter to the sum, so the sign-flip test keeps its level.
    1 / variance would make the mean slightly more precise. But then a few long blocks outweigh the
    short ones, and effects that the short blocks have shown could be lost.
    """
    return 1 / max(LEAST_NOISE, scatter.noise(seconds))


def block_weights(plan: Plan) -> list[float] | None:
    """Return the weight of each block of a plan, 1 on average; None where all are equal.

    Blocks with longer cells are more precise if cells scatter. The scatter is the one from which the
    campaign chose the length, so the weights use no later trial.
    """
    scatter = _scatter_decided(plan)
    if scatter is None or not plan["visits"]:
        return None
    visits = {visit["block"]: visit for visit in plan["visits"]}
    weights = [_weight_at(plan, visits[block], scatter) for block in sorted(visits)]
    mean = sum(weights) / len(weights)
    alike = max(weights) - min(weights) < LEAST_NOISE * mean
    return None if alike else [each / mean for each in weights]


def _scatter_decided(plan: Plan) -> Scatter | None:
    """Return the scatter from which the campaign chose the length of later cells, or None."""
    stored = [decision["scatter"] for decision in plan.get("spent") or () if decision["seconds"]]
    if not stored or stored[0] is None:
        return None
    return Scatter(stored[0]["cell"], stored[0]["visit"], 0.0, 1.0)


def _weight_at(plan: Plan, visit: Visit, scatter: Scatter) -> float:
    """Return the weight of a visit's block: the mean over the workloads whose length is chosen."""
    loads = workloads_at(plan, visit)
    each = [weight(scatter, seconds_of(loads[name])) for name in plan["time"]["workloads"]]
    return sum(each) / len(each)


def with_spending(plan: Plan, decisions: list[Spending]) -> Plan:
    """Return a plan with the blocks of its decisions; its key ``spent`` has the decisions."""
    if not decisions:
        return plan
    first = decisions[0]["block"]
    visits = [visit for visit in plan["visits"] if visit["block"] <= first]
    for number, decision in enumerate(decisions, 1):
        blocks = range(decision["block"] + 1, decision["blocks"] + 1)
        decided: Plan = {**plan, "spent": decisions[:number]}
        visits += visits_of(decided, plan["profiles"], plan["control"], blocks)
    return {
        **plan,
        "blocks": decisions[-1]["blocks"],
        "visits": visits,
        "spent": decisions,
        "estimated_s": plan["time"]["budget"],
    }


def with_length_of_plan(campaign: Campaign, old: Plan) -> Campaign:
    """Return a campaign with the length of cells of its existing plan."""
    durations = {load["name"]: load["duration"] for load in old["workloads"]}
    return {
        **campaign,
        "lengths": old["time"]["lengths"],
        "first": first_blocks(old["time"]),
        "scatter": old["time"]["scatter"],
        "workloads": [
            {**load, "duration": durations.get(load["name"], load["duration"])}
            if load["name"] in campaign["chosen"]
            else load
            for load in campaign["workloads"]
        ],
    }


def with_length_by_scatter(campaign: Campaign, seconds: float, scatter: Scatter) -> Campaign:
    """Return a campaign with the length of cells that the scatter of an earlier campaign gives."""
    shortest = campaign["chosen"]
    workloads = [lengths.with_length(load, seconds, shortest) for load in campaign["workloads"]]
    return {
        **campaign,
        "lengths": [],
        "first": lengths.FIRST_BLOCKS,
        "scatter": as_stored(scatter),
        "workloads": workloads,
    }


def first_part(plan: Plan) -> Plan:
    """Return a plan with only the visits before the first decision."""
    first = first_blocks(plan["time"])
    return {**plan, "visits": [visit for visit in plan["visits"] if visit["block"] <= first]}


def is_due(decisions: list[Spending], remaining: Iterable[Visit]) -> bool:
    """Return whether a decision is due: no visit remains, and the last decision added blocks."""
    added = not decisions or decisions[-1]["blocks"] > decisions[-1]["block"]
    return added and not any(True for _visit in remaining)


def spending_text(decision: Spending) -> str:
    """Return a decision as a line of text."""
    block = decision["block"]
    blocks = decision["blocks"]
    if blocks == block:
        return f"time budget: after block {block} no further block fits"
    cells = f"cells of {decision['seconds']:g} s, " if decision["seconds"] else ""
    reason = _reason(decision)
    return f"time budget: {cells}{blocks} blocks, {blocks - block} more than so far{reason}"


def _reason(decision: Spending) -> str:
    scatter = decision["scatter"]
    if not scatter or scatter["visit"] is None:
        return ""
    return (
        f"; cells of 1 s scatter by {100 * scatter['cell']:.1f} %, whole visits by "
        f"{100 * scatter['visit']:.1f} %, and a visit has an overhead of {decision['beside']:.1f} s"
    )


def as_stored(scatter: Scatter) -> CellScatter:
    """Return a scatter in the form of plan.json and decisions.jsonl."""
    cell = scatter.trial * math.sqrt(scatter.seconds)
    visit = scatter.visit
    return {"cell": round(cell, 5), "visit": None if visit is None else round(visit, 5)}


def visits_of_block(plan: Plan) -> int:
    """Return the number of visits of a block, at all MTUs."""
    return len(plan["mtus"]) * visits_per_block(plan, len(plan["profiles"]))
