# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the differences in an imported campaign are worth, given the confidence that each run
reached. Pure.

Runs that were not repeated give no interval. But netperf prints the width of its own interval
(``-I``), and the width of a difference follows from two of them: relative half widths add in
squares, also for throughput and CPU in a service demand. netperf prints full widths: 6.8 % means
within 3.4 % to either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import NamedTuple

from .._campaign.nouns import Plan
from .._figures.nouns import NamedTable
from .._statistics import text
from .._trials.nouns import Result, Trial
from .nouns import Sentence
from .phrases import SHOWN, RowPlace, effect, line, place, rows_of

MOST_NAMED = 3  # differences in the answer
LIMITS = (
    "Imported from {source}. The logs do not say in which order and at what time the runs were made, so a machine "
    "that changed between them looks like an effect of a setting. Nothing is recommended from imported runs."
)


class ImportedQuantity(NamedTuple):
    """What is compared: its value in a result, and the confidence widths that bear on it."""

    label: str
    value: Callable[[Result], float | None]
    widths: tuple[str, ...]


QUANTITIES = (
    ImportedQuantity("throughput", lambda result: result.get("throughput_mbps"), ("throughput",)),
    ImportedQuantity(
        "the sender's service demand",
        lambda result: result.get("local_service_demand"),
        ("throughput", "local_cpu"),
    ),
    ImportedQuantity(
        "the receiver's service demand",
        lambda result: result.get("remote_service_demand"),
        ("throughput", "remote_cpu"),
    ),
)


Results = dict[str, list[Result]]  # by profile
RunPair = tuple[Result, Result]  # the control's and a profile's


def _half_width(result: Result, names: Sequence[str]) -> float | None:
    """Return the relative half width in %, or None where netperf printed none (its wish was met, or
    it had none).
    """
    printed = result.get("confidence_width") or {}
    widths = [printed[name] for name in names if printed.get(name) is not None]
    return math.hypot(*(width / 2 for width in widths)) if len(widths) == len(names) else None


def _differences(
    pairs: Iterable[RunPair], quantity: ImportedQuantity
) -> Iterator[tuple[float, float | None]]:
    """Yield ``(difference in %, its half width in % or None)`` of pairs of results, control first."""
    for control, other in pairs:
        before = quantity.value(control)
        after = quantity.value(other)
        if before and after:
            control_width = _half_width(control, quantity.widths)
            other_width = _half_width(other, quantity.widths)
            half = (
                None
                if control_width is None or other_width is None
                else math.hypot(control_width, other_width)
            )
            yield 100 * (after / before - 1), half


def _sentence(
    profile: str, control: str, label: str, differences: Sequence[tuple[float, float | None]]
) -> str:
    judged = [(difference, half) for difference, half in differences if half is not None]
    values = [difference for difference, _half in differences]
    start = (
        f"{profile} to {control}, {label}: {min(values):+.1f} to {max(values):+.1f} % in "
        f"{text.count(len(differences), 'pair')} of runs"
    )
    if not judged:
        return f"{start}; netperf printed no confidence width, so its reliability is not known"
    beyond = sum(abs(difference) > half for difference, half in judged)
    widths = [half for _difference, half in judged]
    return (
        f"{start}; {beyond} of {len(judged)} {'is' if beyond == 1 else 'are'} beyond what the runs' own "
        f"confidence allows (±{min(widths):.1f} to ±{max(widths):.1f} %)"
    )


class RunPlace(NamedTuple):
    """Where a run was made."""

    path: str
    mtu: int
    workload: str


def _places(trials: Iterable[Trial]) -> dict[RunPlace, Results]:
    """Return the results by place, then by profile."""
    results: dict[RunPlace, Results] = {}
    for trial in trials:
        if trial["result"]:
            run = RunPlace(trial["path"], trial["mtu"], trial["workload"]["name"])
            results.setdefault(run, {}).setdefault(trial["profile"], []).append(trial["result"])
    return results


def _pairs(places: Iterable[Results], control: str, profile: str) -> list[RunPair]:
    """Return the paired results of the control and a profile."""
    pairs: list[RunPair] = []
    for profiles in places:
        pairs += zip(profiles.get(control, ()), profiles.get(profile, ()))
    return pairs


def _was_repeated(places: Iterable[Results]) -> bool:
    runs = chain.from_iterable(profiles.values() for profiles in places)
    return any(len(results) > 1 for results in runs)


def worth(plan: Plan, trials: Iterable[Trial]) -> list[str]:
    """Return sentences: how many runs, how many missed their confidence, and what each difference
    is worth.
    """
    trials = list(trials)
    control = plan["control"]
    runs = [trial["result"] for trial in trials if trial["result"]]
    missed = sum(result.get("confidence_met") is False for result in runs)
    sentences = [
        f"imported from {plan['source']}: {text.count(len(runs), 'run')}; {missed} missed the requested confidence"
    ]
    places = _places(trials).values()
    if not _was_repeated(places):
        sentences.append(
            "no run was repeated, so there are no intervals, and no difference between profiles is shown"
        )
    others = [profile for profile in plan["profiles"] if profile != control]
    for profile, quantity in product(others, QUANTITIES):
        differences = list(_differences(_pairs(places, control, profile), quantity))
        if differences:
            sentences.append(_sentence(profile, control, quantity.label, differences))
    return sentences


def answer(tables: Sequence[NamedTable], plan: Plan) -> list[Sentence]:
    """Return the answer of imported logs: the largest differences, and what limits them."""
    rows = [row for row in rows_of(tables, first=True) if row.row.effect.ratio]
    shown = [row for row in rows if row.row.effect.outcome in SHOWN]
    largest = sorted(shown, key=lambda row: -text.distance(row.row.effect.ratio))[:MOST_NAMED]
    lines = [line(row.row.effect.outcome, _difference(row)) for row in largest]
    if len(shown) > MOST_NAMED:
        lines.append(line("note", f"These are the largest of {len(shown)} differences."))
    if not shown:
        profiles = text.listed(plan["profiles"])
        lines.append(line("unknown", f"No difference between {profiles} is shown in these logs."))
    return [*lines, line("note", LIMITS.format(source=plan["source"]))]


def _difference(row: RowPlace) -> str:
    difference = effect(row.row.effect, row.quantity.label, row.quantity.control)
    return f"{row.row.label}: {difference} for {place(row.table)}."
