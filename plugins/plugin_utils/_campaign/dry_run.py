# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dry run of a plan as lines of text: visits, duration, and the effects that it can find. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from .._statistics.effects import Scatter
from .._statistics.rules import FEWEST_BLOCKS
from .._statistics.text import too_few_blocks
from .forwarding import left_out
from .interim import NAMED
from .nouns import Factor, Plan, SearchLimits
from .plan_file import paths_of
from .spending import effects_of
from .visits import MORE_TRIALS, block_seconds, confirmation_cost, control_visits, seconds_of

FOUND = (1.03, 1.05, 1.1, 1.2)  # effects whose time to be found a dry run reports
SECONDS = (1, 2, 3, 5, 10, 20, 30)  # lengths of a cell
LIMITS = {"visits": "rounds are made", "time_budget": "time budget is spent"}  # of a search
# Scatter of the logarithm of one trial: a quiet machine, an ordinary one, one with other users.
SCATTER = (0.02, 0.05, 0.2)


def length(seconds: float) -> str:
    """Return a duration as text: ``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def warnings_of(plan: Plan) -> Iterator[str]:
    """Yield a sentence for each thing that this plan cannot find."""
    blocks = plan["blocks"]
    if plan["design"] == "search" or plan.get("until") == NAMED:
        pass  # the confirmation tests a search, and failing trials show a fault
    elif blocks < FEWEST_BLOCKS:
        yield too_few_blocks(blocks, FEWEST_BLOCKS) + "."
    elif blocks == FEWEST_BLOCKS:
        yield (
            f"{blocks} blocks are just enough for a test: a comparison that loses a trial can show nothing. "
            f"{blocks + 1} blocks leave a spare."
        )
    for name, reason in plan["untestable"].items():
        yield f"{name} is not varied: {reason}"
    yield from left_out(plan, paths_of(plan)).values()


def describe(plan: Plan, lab_mtu: int | None = None) -> list[str]:
    """Return the lines of a plan's dry run; ``lab_mtu`` is given where the campaign names no MTU."""
    visits = len(plan["visits"])
    cells = sum(len(visit["cells"]) for visit in plan["visits"])
    blocks, confirmed, seconds = confirmation_cost(plan, len(plan["profiles"]))
    times = ("once", "twice")[control_visits(plan) - 1]
    lines = [
        f"campaign {plan['name']}: {plan['design']}, seed {plan['seed']}",
        f"{len(plan['profiles'])} profiles, control {plan['control']} {times} a block, {plan['blocks']} blocks, "
        f"MTU {', '.join(str(mtu) for mtu in plan['mtus'])}"
        + (", the lab's" if lab_mtu in plan["mtus"] else ""),
        f"{visits} visits, {cells} cells, about {length(plan['estimated_s'] - seconds)}",
    ]
    if plan["design"] == "search":
        lines += _rounds_of_search(plan["search"], plan.get("trials") or 1)
    if blocks:
        lines.append(
            f"then a confirmation of at most {confirmed} visits in {blocks} blocks, about {length(seconds)}"
        )
    lines += [_described(factor) for factor in plan["factors"]]
    lines += _found_by_most(plan)
    return lines + [f"warning: {text}" for text in warnings_of(plan)]


def _found_by_most(plan: Plan) -> list[str]:
    sizes = [
        f"{100 * (ratio - 1):.1f} % where trials scatter by {100 * noise:.0f} %"
        for noise, ratio in detectable(plan)
        if ratio is not None
    ]
    return [f"4 of 5 such campaigns find an effect of {', '.join(sizes)}"] if sizes else []


def _rounds_of_search(search: SearchLimits, trials: int) -> list[str]:
    return [
        f"then at most {search['rounds']} more visits, each chosen from the trials before it, "
        f"until the question is answered or the {LIMITS[search['limit']]}",
        f"{trials} trials of each cell at a visit; later visits make up to {MORE_TRIALS * trials} and take longer "
        "if trials scatter much" + _within(search["limit"]),
    ]


def _described(factor: Factor) -> str:
    needs = f", with {', '.join(factor['needs'])}" if factor["needs"] else ""
    return (
        f"  {factor['name']}: {' or '.join(factor['levels'])}, on {' and '.join(factor['devices'])} of "
        f"{' and '.join(factor['sides'])}{needs}"
    )


def _within(limit: str) -> str:
    return " and the time budget allows it" if limit == "time_budget" else ""


def detectable(plan: Plan) -> list[tuple[float, float | None]]:
    """Return pairs of a trial's scatter and the smallest ratio that 4 of 5 campaigns find, or None."""
    from .._statistics.power import expected_detectable  # noqa: PLC0415

    if plan["blocks"] < FEWEST_BLOCKS:
        return []
    return [
        (noise, expected_detectable(plan["blocks"], effects_of(plan), noise, control_visits(plan)))
        for noise in SCATTER
    ]


def time_to_find(
    plan: Plan, ratio: float, noise: float, seconds: int | None = None
) -> tuple[int, float] | None:
    """Return the blocks and seconds after which 4 of 5 campaigns find an effect, or None.

    ``seconds`` replaces the plan's length of a cell.
    """
    from .._statistics.power import blocks_to_find  # noqa: PLC0415

    blocks = blocks_to_find(ratio, effects_of(plan), noise, control_visits(plan))
    if not blocks:
        return None
    workloads = plan["workloads"]
    if seconds is not None:
        workloads = [{**load, "duration": seconds, "confidence": None} for load in workloads]
    timed: Plan = {**plan, "workloads": workloads}
    return blocks, blocks * len(plan["mtus"]) * block_seconds(timed, len(plan["profiles"]))


def time_plan(plan: Plan, scatter: Scatter | None) -> Iterator[str]:
    """Yield the time after which each effect is found, the sources of scatter, and the best length of
    a cell.

    ``scatter`` is the scatter of an earlier campaign, or None.
    """
    seconds = [seconds_of(workload) for workload in plan["workloads"]]
    mean_s = sum(seconds) / len(seconds)
    noise = scatter.noise(mean_s) if scatter else SCATTER[1]
    whose = "as in the earlier campaign" if scatter else "an ordinary machine"
    times = [(ratio, time_to_find(plan, ratio, noise)) for ratio in FOUND]
    rows = [
        f"{100 * (ratio - 1):.0f} % after {when[0]} blocks, {length(when[1])}"
        for ratio, when in times
        if when
    ]
    yield (
        f"where values scatter by {100 * noise:.1f} % ({whose}) an effect is found: "
        f"{'; '.join(rows) or 'none of up to 20 %'}"
    )
    if scatter:
        visit = (
            "" if scatter.visit is None else f", from visit to visit by {100 * scatter.visit:.1f} %"
        )
        yield (
            f"trials of {scatter.seconds:.0f} s scattered by {100 * scatter.trial:.1f} %{visit}, from block to "
            f"block by {100 * scatter.block:.1f} % (comparisons inside blocks remove that)"
        )
        yield _soonest(plan, scatter, mean_s)


def _soonest(plan: Plan, scatter: Scatter, mean_s: float) -> str:
    """Return the length of a cell that finds an effect soonest, for the smallest one that any finds."""
    for ratio in FOUND:
        times = []
        for seconds in SECONDS:
            when = time_to_find(plan, ratio, scatter.noise(seconds), seconds)
            if when:
                times.append((when[1], seconds, when[0]))
        if times:
            took, seconds, blocks = min(times)
            planned = time_to_find(plan, ratio, scatter.noise(mean_s))
            now = length(planned[1]) if planned else "not at all"
            return (
                f"soonest for {100 * (ratio - 1):.0f} %: {seconds} s a cell, each once a visit, {blocks} blocks, "
                f"{length(took)}; with {mean_s:.0f} s a cell {now}. A longer cell is as precise as a repeated one, "
                "and starts only once"
            )
    return "no length of a cell finds 20 %: use a quieter machine"
