# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a campaign spends its time budget: how long cells measure, and how many blocks there are. Pure.

It is decided from scatter inside blocks and from the clock, never from effects: after the first
blocks, and again when these are made. What was decided is kept in decisions.jsonl before it acts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .._statistics.components import Scatter
from . import lengths
from .design import MOST_BLOCKS, control_visits, first_blocks, visits_of, workloads_at
from .nouns import Campaign, CellScatter, Plan, Spending, Visit
from .workloads import seconds_of

SCHEMA = 1
LEAST_NOISE = 1e-9  # of a logarithm: what does not scatter counts for much, not for everything
KEPT = 0.1  # of what is left, which the first decision leaves to the second: visits vary in length


class Costs(NamedTuple):
    """What a block takes, as it was seen: seconds."""

    spent: float  # by all blocks so far
    reserved: float  # for the confirmation
    beside: float  # of a visit, beside the cells whose length is chosen
    visits: int  # of a block, at all MTUs
    shortest: Sequence[float]  # of the cells of a visit whose length is chosen
    at_once: float = 1.0  # what part of these are measured one after the other

    def cells(self, seconds: float) -> float:
        """Return how long the cells of a visit take where so many seconds are chosen."""
        return self.at_once * sum(max(seconds, least) for least in self.shortest)

    def block(self, seconds: float) -> float:
        """Return how long a block takes where so many seconds are chosen."""
        return self.visits * (self.beside + self.cells(seconds))

    def length(self, seconds: float) -> float:
        """Return a length at which all cells together scatter as those that are chosen so."""
        return len(self.shortest) / sum(1 / max(seconds, least) for least in self.shortest)


class Choice(NamedTuple):
    """What may be chosen, for which question."""

    lengths: Sequence[float]  # of a cell, s
    effects: int  # that the report tests together
    made: int  # blocks
    seconds: float  # of their cells


def best_length(scatter: Scatter, choice: Choice, costs: Costs, left: float) -> tuple[float, int]:
    """Return the seconds of a cell with which the time that is left shows the smallest effect, and
    how many blocks there are then.

    The mean over all blocks scatters less with more blocks, and with longer cells only as far as
    it is cells that scatter.
    """
    found = []
    for seconds in choice.lengths:
        more = min(MOST_BLOCKS - choice.made, int(left / costs.block(seconds)))
        blocks = choice.made + more
        size = detectable(scatter, choice, costs, seconds, more)
        found.append((size, -blocks, seconds))
    _size, blocks, seconds = min(found)
    return seconds, -blocks


def detectable(scatter: Scatter, choice: Choice, costs: Costs, seconds: float, more: int) -> float:
    """Return the smallest effect that is found with so many more blocks of such cells, up to a
    factor that all choices share.
    """
    from .._statistics.power import factor  # noqa: PLC0415

    blocks = choice.made + more
    known = factor(blocks, choice.effects)
    if known is None:
        return math.inf
    made = choice.made * scatter.noise(costs.length(choice.seconds)) ** 2
    later = more * scatter.noise(costs.length(seconds)) ** 2
    return known * math.sqrt((made + later) / blocks)


def weight(scatter: Scatter, seconds: float) -> float:
    """Return what a block counts whose cells measure so long: one over the scatter of its values.

    What blocks add to the sum then scatters alike, so a choice of signs is as rare as with blocks
    that are alike. One over the variance would make the mean a little surer; but few long blocks
    would outweigh the short ones, and what these have shown would not be shown any more.
    """
    return 1 / max(LEAST_NOISE, scatter.noise(seconds))


def block_weights(plan: Plan) -> list[float] | None:
    """Return what each block of a plan counts, 1 on average; None where all count alike.

    Blocks with longer cells know more, as far as it is cells that scatter. The scatter is the one
    from which the length was chosen, so nothing is looked at again.
    """
    scatter = _scatter_decided(plan)
    if scatter is None or not plan["visits"]:
        return None
    visits = {visit["block"]: visit for visit in plan["visits"]}
    weights = [_weight_at(plan, visits[block], scatter) for block in sorted(visits)]
    mean = sum(weights) / len(weights)
    alike = max(weights) - min(weights) < LEAST_NOISE * mean
    return None if alike else [own / mean for own in weights]


def _scatter_decided(plan: Plan) -> Scatter | None:
    """Return the scatter from which the length of later cells was chosen; None where none was."""
    decided = [one["scatter"] for one in plan.get("spent") or () if one["seconds"]]
    if not decided or decided[0] is None:
        return None
    return Scatter(decided[0]["cell"], decided[0]["visit"], 0.0, 1.0)


def _weight_at(plan: Plan, visit: Visit, scatter: Scatter) -> float:
    """Return what a visit's block counts: the mean over the workloads whose length is chosen."""
    loads = workloads_at(plan, visit)
    each = [weight(scatter, seconds_of(loads[name])) for name in plan["time"]["workloads"]]
    return sum(each) / len(each)


def with_spending(plan: Plan, made: list[Spending]) -> Plan:
    """Return a plan with the blocks that were decided; ``spent`` are these decisions."""
    if not made:
        return plan
    first = made[0]["block"]
    visits = [visit for visit in plan["visits"] if visit["block"] <= first]
    for number, one in enumerate(made, 1):
        blocks = range(one["block"] + 1, one["blocks"] + 1)
        decided: Plan = {**plan, "spent": made[:number]}
        visits += visits_of(decided, plan["profiles"], plan["control"], blocks)
    last = made[-1]
    return {
        **plan,
        "blocks": last["blocks"],
        "visits": visits,
        "spent": made,
        "estimated_s": plan["time"]["budget"],
    }


def as_chosen(campaign: Campaign, old: Plan) -> Campaign:
    """Return a campaign with the length of cells that its plan has already."""
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


def chosen_before(campaign: Campaign, seconds: float, scatter: Scatter) -> Campaign:
    """Return a campaign whose cells have the length that the scatter of an earlier one asks for."""
    shortest = campaign["chosen"]
    workloads = [lengths.with_length(load, seconds, shortest) for load in campaign["workloads"]]
    return {
        **campaign,
        "lengths": [],
        "first": lengths.FIRST_BLOCKS,
        "scatter": told(scatter),
        "workloads": workloads,
    }


def first_part(plan: Plan) -> Plan:
    """Return a plan with the visits that are made before anything is decided."""
    first = first_blocks(plan["time"])
    return {**plan, "visits": [visit for visit in plan["visits"] if visit["block"] <= first]}


def is_due(made: list[Spending], left: Iterable[Visit]) -> bool:
    """Return whether it is to be decided now: all blocks are made, and the last decision added some."""
    added = not made or made[-1]["blocks"] > made[-1]["block"]
    return added and not any(True for _visit in left)


def spending_text(one: Spending) -> str:
    """Return what was decided, in a line."""
    more = one["blocks"] - one["block"]
    if not more:
        return f"time budget: after block {one['block']} no further block fits"
    cells = f"cells of {one['seconds']:g} s, " if one["seconds"] else ""
    return f"time budget: {cells}{one['blocks']} blocks, {more} more than were made{_why(one)}"


def _why(one: Spending) -> str:
    scatter = one["scatter"]
    if not scatter or scatter["visit"] is None:
        return ""
    return (
        f"; cells of 1 s scatter by {100 * scatter['cell']:.1f} %, whole visits by "
        f"{100 * scatter['visit']:.1f} %, and a visit takes {one['beside']:.1f} s beside its cells"
    )


def told(scatter: Scatter) -> CellScatter:
    """Return the scatter from which a length was chosen, as it is kept."""
    cell = scatter.trial * math.sqrt(scatter.seconds)
    visit = scatter.visit
    return {"cell": round(cell, 5), "visit": None if visit is None else round(visit, 5)}


def visits_of_block(plan: Plan) -> int:
    """Return how many visits a block has, at all MTUs."""
    return len(plan["mtus"]) * (len(plan["profiles"]) + control_visits(plan) - 1)
