# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the rest of a time budget is spent, from the measured scatter inside blocks and the clock.
Pure.

No effect is examined: profiles and blocks are taken out of the values first.

Where a campaign's scatter comes from: blocks, visits, cells, and other work of the machine.
Pure.

Only what scatters inside blocks makes an answer unsure: a block's own level cancels out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .._campaign.lengths import first_blocks
from .._campaign.nouns import Campaign, Plan, Spending
from .._campaign.spending import (
    KEPT,
    Choice,
    Costs,
    as_stored,
    best_length,
    effects_of,
    visits_of_block,
    with_length_by_scatter,
)
from .._campaign.visits import (
    VISIT_SECONDS,
    chosen_length,
    confirmation_cost,
    seconds_of,
    workloads_at,
)
from .._statistics.effects import Scatter, components, goes_with, logs
from .._statistics.libraries import np
from .._statistics.text import shortened
from .._trials import progress
from .._trials.nouns import Trial
from .cube import Cube, scatter_of
from .metrics import ENDS, MAIN
from .result import Meanwhile, Scattered

CAUSES = {  # the CPU time of an end, in per cent, that no profile asks for
    "steal": "CPU time that the hypervisor took",
    "user": "CPU time of programs",
}
LEAST = 0.1  # a smaller share is not worth a sentence
HALF = (0.4, 0.6)  # what is called half


def decide(plan: Plan, trials: Iterable[Trial], decided: list[Spending]) -> Spending:
    """Return what follows the measured blocks of a plan."""
    block = plan["blocks"] if decided else min(first_blocks(plan["time"]), plan["blocks"])
    measured_plan: Plan = {**plan, "blocks": block}
    starts: progress.Starts = {}
    scatter = scatter_of(measured_plan, _seen(starts, trials))
    seconds = chosen_length(plan) or _planned_length(plan)
    costs = _costs(measured_plan, starts, seconds)
    remaining = plan["time"]["budget"] - costs.spent - costs.reserved
    chosen = None if decided else _chosen(measured_plan, scatter, costs, remaining)
    block_cost = costs.block(chosen or seconds)
    usable = remaining if decided or remaining < 2 * block_cost else (1 - KEPT) * remaining
    return {
        "block": block,
        "blocks": block + max(0, int(usable / block_cost)),
        "seconds": chosen,
        "spent": round(costs.spent, 1),
        "beside": round(costs.overhead, 2),
        "scatter": as_stored(scatter) if chosen and scatter else None,
    }


def _chosen(plan: Plan, scatter: Scatter | None, costs: Costs, remaining: float) -> float | None:
    """Return how long the cells of later blocks measure; None where that is not chosen, or nothing
    is known of the scatter of visits.
    """
    lengths = plan["time"]["lengths"]
    if not lengths or scatter is None or scatter.visit is None:
        return None
    choice = Choice(lengths, effects_of(plan), plan["blocks"], _planned_length(plan))
    return best_length(scatter, choice, costs, remaining)[0]


def before_the_first(
    campaign: Campaign, plan: Plan, earlier: Plan, trials: Iterable[Trial]
) -> Campaign:
    """Return a campaign with the length of cells that the scatter of an earlier campaign suggests;
    unchanged if that campaign says too little.

    ``plan`` is what the campaign would be now.
    """
    starts: progress.Starts = {}
    scatter = scatter_of(earlier, _seen(starts, trials))
    if scatter is None or scatter.visit is None:
        return campaign
    costs = _costs(plan, {}, 0)._replace(overhead=_beside(earlier, starts))
    remaining = plan["time"]["budget"] - costs.reserved
    choice = Choice(campaign["lengths"], effects_of(plan), 0, 1.0)
    seconds, _blocks = best_length(scatter, choice, costs, remaining)
    return with_length_by_scatter(campaign, seconds, scatter)


def _seen(starts: progress.Starts, trials: Iterable[Trial]) -> Iterator[Trial]:
    """Yield trials, and take in when they started."""
    for trial in trials:
        progress.see_start(starts, trial)
        yield trial


def _planned_length(plan: Plan) -> float:
    """Return which length of cells a plan begins with; 0 where that is not chosen."""
    names = plan["time"]["workloads"]
    return min((load["duration"] for load in plan["workloads"] if load["name"] in names), default=0)


def _beside(plan: Plan, starts: progress.Starts) -> float:
    """Return the seconds that a visit took in addition to its cells."""
    visits = [
        planned
        for planned in plan["visits"]
        if (planned["mtu"], planned["block"], planned["visit"]) in starts
    ]
    if not visits:
        return VISIT_SECONDS
    measured = 0.0
    for visit in visits:
        loads = workloads_at(plan, visit)
        measured += sum(seconds_of(loads[cell["workload"]]) for cell in visit["cells"])
    overhead = (
        progress.spent(plan, plan["visits"], starts) - progress.share_in_turn(plan) * measured
    )
    return max(0.0, overhead / len(visits))


def _costs(plan: Plan, starts: progress.Starts, seconds: float) -> Costs:
    """Return what a block takes, by the clock of the visits that were made."""
    visits = visits_of_block(plan)
    spent = progress.spent(plan, plan["visits"], starts)
    shortest = plan["time"]["workloads"]
    cells = plan["visits"][0]["cells"]
    shortest_cells = [shortest[cell["workload"]] for cell in cells if cell["workload"] in shortest]
    reserved = confirmation_cost(plan, len(plan["profiles"]))[2]
    speed = progress.pace(plan, plan["visits"], starts)
    costs = Costs(
        spent, speed * reserved, 0.0, visits, shortest_cells, progress.share_in_turn(plan)
    )
    beside = spent / (visits * plan["blocks"]) - costs.cells(seconds)
    return costs._replace(overhead=max(0.0, beside))


def scattered(cube: Cube) -> Scattered | None:
    """Return where the scatter of throughput and transactions comes from; None where too little was
    measured.
    """
    measured = [name for name in MAIN if name in cube.values]
    if not measured:
        return None
    data = np.concatenate([logs(cube.values[name]) for name in measured])
    measured_rows = ~np.isnan(data).all(axis=(1, 2))
    scatter = components(data[measured_rows], 1.0) if measured_rows.any() else None
    if scatter is None:
        return None
    meanwhile = list[Meanwhile]()
    for what in CAUSES:
        values = _taken(cube, what)
        share = goes_with(
            data[measured_rows], np.concatenate([values] * len(measured))[measured_rows]
        )
        if share >= LEAST:
            meanwhile.append(Meanwhile(what=what, share=round(share, 3)))
    meanwhile.sort(key=lambda cause: -cause.share)
    return Scattered(
        cell=shortened(scatter.trial),
        visit=None if scatter.visit is None else shortened(scatter.visit),
        block=shortened(scatter.block),
        meanwhile=meanwhile,
        text=" ".join([_text(scatter, meanwhile), *_unequal(cube)]),
    )


def _taken(cube: Cube, what: str) -> np.ndarray:
    """Return what took CPU time, of the end that lost most."""
    lost = np.full(cube.attempts.shape, np.nan)
    for end in ENDS:
        if f"cpu_{end}_{what}" in cube.values:
            lost = np.fmax(lost, cube.values[f"cpu_{end}_{what}"])
    return lost


def _text(scatter: Scatter, meanwhile: list[Meanwhile]) -> str:
    """Return in words what scatters, and the associated causes."""
    cells = f"single cells by {_percent(scatter.trial)}"
    inside = (
        cells if scatter.visit is None else f"whole visits by {_percent(scatter.visit)}, {cells}"
    )
    sentence = (
        f"Values scatter inside a block: {inside}. Blocks differ by {_percent(scatter.block)}, which "
        "cancels out."
    )
    return " ".join([sentence, *map(associated_cause, meanwhile)])


def _unequal(cube: Cube) -> list[str]:
    """Return in words how much more blocks with longer cells count, where there are such."""
    if cube.weights is None:
        return []
    more = cube.weights.max() / cube.weights.min()
    return [f"Blocks whose cells measured longer count {more:.2g} times as much as the others."]


def associated_cause(cause: Meanwhile) -> str:
    """Return in words what the blocks were needed for."""
    share = cause.share
    amount = "Half" if HALF[0] <= share <= HALF[1] else f"{100 * share:.0f} %"
    return (
        f"{amount} of the variance inside blocks is associated with {CAUSES[cause.what]}, and so is "
        "this share of the needed blocks."
    )


def _percent(deviation: float) -> str:
    return f"{100 * np.expm1(deviation):.1f} %"
