# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first lines of a report: what to set, by how much it is better, whether that is confirmed, what
is not known, and the one command that adds what is missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...module_utils._engines.payload.result import TEST as PAYLOAD
from .._analysis.metrics import MAIN
from .._analysis.result import (
    Analysis,
    Estimate,
    Failures,
    Recommendation,
    Score,
    SearchPath,
    SetEffect,
    Unfinished,
)
from .._analysis.spend import associated_cause
from .._campaign.nouns import Plan
from .._figures.nouns import NamedTable, QuantityRow, SpreadPanel
from .._statistics import text
from .._trials.damage import WORDS
from .._trials.digest import Digest
from . import broken, imported
from .advice import quantity_name
from .nouns import Sentence
from .phrases import (
    SHOWN,
    alike,
    effect,
    largest,
    line,
    place,
    rows_of,
    settings,
    span,
)

WORTH_A_LINE = 0.25  # of the variance inside blocks
SHOWN_BY_THEM = " The same blocks showed it, so these intervals reach nearer to no effect than those in the tables."
DESIGNS = {
    "on_off": "all of them on against all of them off",
    "one_at_a_time": "each one alone against all of them off: which gives the boost",
    "leave_one_out": "all but one against all of them on: which is missed",
    "integrity": "all off, each alone, all but each, and all on: which is broken",
    "screen": "in a few chosen combinations: each one's effect, and what acts together",
    "search": "searched for the best set: visits chosen by what was known so far",
    "full_factorial": "in all combinations: each one's effect, and which of them act together",
    "profiles": "in the profiles that the campaign names",
}
MOST_NAMED = 3  # comparisons in the first line; more become a range
ALIKE = "throughput and CPU cost counted alike"
MOST_BLOCKS = 60  # a command that asks for more does not help: the difference is not worth it
CONFIRM_BLOCKS = 6
GO_ON = (
    "ansible-playbook -i INVENTORY offload.lab.measure -e offload_lab_campaign_file=CAMPAIGN.yml"
)


def question(plan: Plan) -> str:
    """Return what the campaign asked, in one sentence."""
    if plan.get("kind") == "imported":
        profiles = list(plan["profiles"])
        what = text.listed(profiles) if len(profiles) <= 8 else text.count(len(profiles), "profile")
        return f"How do {what} differ in these logs?"
    factors = [factor["name"] for factor in plan["factors"]]
    what = text.listed(factors) if 0 < len(factors) <= 8 else text.count(len(factors), "setting")
    design = DESIGNS.get(plan["design"], f"compared with {plan['control']}")
    return f"What {'does' if len(factors) == 1 else 'do'} {what} do, {design}?"


def _nothing(analysis: Analysis, tables: Sequence[NamedTable], control: str) -> str:
    """Return why nothing is recommended."""
    recommended = analysis.recommendation
    if not recommended.forbidden:
        return f"Nothing is recommended: {recommended.why}."
    refused = recommended.forbidden[0]
    gains = [
        row
        for row in rows_of(tables, first=True)
        if row.row.profile == refused.profile and row.row.effect.outcome == "better"
    ]
    gain = ""
    if gains:
        most = largest(gains)
        gained = effect(most.row.effect, most.quantity.label, control)
        gain = f"gave {gained} for {place(most.table)}, but "
    more = len(recommended.forbidden) - 1
    others = f" ({text.count(more, 'more profile')} refused, too)" if more else ""
    return f"Nothing is recommended: {refused.profile} {gain}is refused: {refused.reason}{others}."


def _costs(tables: Sequence[NamedTable]) -> str:
    """Return what the other profiles were shown to cost."""
    worse = [
        row
        for row in rows_of(tables)
        if row.quantity.group == "main" and row.row.effect.outcome == "worse"
    ]
    if not worse:
        return "other settings were shown to cost, and none to help"
    most = largest(worse)
    profiles = len({row.row.profile for row in worse})
    more = f", the most of {profiles} profiles that were shown to cost" if profiles > 1 else ""
    cost = f"{effect(most.row.effect, most.quantity.label)} for {place(most.table)}"
    return f"{most.row.label} gave {cost}{more}; none was shown to help"


def _recommendation(analysis: Analysis, tables: Sequence[NamedTable], plan: Plan) -> list[Sentence]:
    """Return the first lines: what to set or why nothing, and whether that is confirmed."""
    recommended = analysis.recommendation
    control = plan["control"]
    places = {table.id: place(table) for table in tables}
    if analysis.unfinished:
        sentence = (
            f"{text.sentence(analysis.unfinished.text)}. What follows is what was measured so far."
        )
        return [line("unknown", sentence)]
    if recommended.name is None:
        return [line("unknown", _nothing(analysis, tables, control))]
    if recommended.name == control:
        return [line("same", f"Keep {control}: {_costs(tables)}.")]
    what = settings(recommended.changes)
    by_how_much = gain(recommended, places, control)
    first = (
        line("better", f"Set {what}: {by_how_much}.")
        if recommended.confirmed
        else line("unknown", f"Best so far, not confirmed: {what}, {by_how_much}.")
    )
    return [first, line("note", _confirmed(recommended, analysis, plan))]


def _confirmed(recommended: Recommendation, analysis: Analysis, plan: Plan) -> str:
    apart = f" {alike(analysis)}" if recommended.not_told_apart else ""
    apart = criterion(recommended) + apart
    if recommended.confirmed_by == "confirmation" and analysis.confirmation:
        blocks = analysis.confirmation.blocks
        return (
            f"Confirmed in {text.count(blocks, 'fresh block')} after it was chosen; the number is from there."
            f"{apart}{_open_end(analysis.search)}"
        )
    if recommended.confirmed:
        return (
            f"Confirmed: it was the only candidate, compared with {plan['control']} in "
            f"{text.count(plan['blocks'], 'block')}.{SHOWN_BY_THEM if recommended.score else ''}{apart}"
        )
    return f"It was chosen and measured in the same blocks, so its number may be too good.{apart}"


def _open_end(search: SearchPath | None) -> str:
    """Say of a search that ended without an answer that another set may be better."""
    if not search or search.ended == "answered" or not search.standing:
        return ""
    return (
        " Whether a combination that was not visited again is better is not known: the search ended "
        f"{100 * search.standing['sure']:.0f} % sure."
    )


def _costs_unknown(analysis: Analysis, tables: Sequence[NamedTable]) -> list[Sentence]:
    """Name the comparisons in which it is not known whether the recommended set costs more than
    matters.
    """
    rows = analysis.recommendation.costs_unknown_in
    places = {table.id: place(table) for table in tables}
    if not rows:
        return []
    comparisons = [
        f"{quantity_name(row)} for {places.get(row.table, row.table)}" for row in rows[:1]
    ]
    comparisons += [f"{len(rows) - 1} more"] if len(rows) > 1 else []
    return [
        line(
            "unknown",
            f"Whether it costs more than {analysis.methods.matters_percent:g} % is not known for "
            f"{text.count(len(rows), 'comparison')}: {text.listed(comparisons)}.",
        )
    ]


def failing(analysis: Analysis) -> list[Sentence]:
    """Say which profiles fail more than the control, or that the control fails more than others."""
    if not analysis.failures:
        return []
    control, *profiles = analysis.failures
    worse = [row for row in profiles if _fails(row)]
    if worse:
        shares = [f"{row.profile} {_share(row)}" for row in worse[:3]]
        shares_text = f"{text.listed(shares)}, of {control.profile} {_share(control)}"
        end = "What fails more is not recommended."
    elif _fails(control):
        shares_text = f"{_share(control)} with the control, {control.profile}"
        end = f"Another profile fails less, so {control.profile} is not recommended."
    else:
        return []
    return [line("worse", f"Trials that failed or received nothing: {shares_text}. {end}")]


def _fails(row: Failures) -> bool:
    return bool(row.forbids) and (row.shown or row.failed > 1)


def _share(row: Failures) -> str:
    return f"{row.failed} of {row.trials}"


def acting_together(tables: Sequence[NamedTable]) -> list[Sentence]:
    """Name the pair of settings that act together most."""
    shown = [
        row
        for row in rows_of(tables)
        if row.quantity.group == "interactions" and row.row.effect.outcome in SHOWN
    ]
    if not shown:
        return []
    most = largest(shown)
    more = f" ({len(shown) - 1} more below)" if len(shown) > 1 else ""
    pair = text.listed(most.row.label.split(" × "))
    interval = text.interval(most.row.effect.low, most.row.effect.high)
    return [
        line(
            "note",
            f"{pair} act together: both on give {text.ratio(most.row.effect.ratio)} of what their single effects "
            f"would make ({interval}), for {place(most.table)}{more}.",
        )
    ]


def two_groups(panels: Sequence[SpreadPanel]) -> list[Sentence]:
    """Say where trials fall into two groups."""
    if not panels:
        return []
    where = f"in {len(panels)} tables; " if len(panels) > 1 else ""
    return [
        line(
            "note",
            f"Trials fall into two groups, {where}{panels[0]['title']}, {panels[0]['sentences'][0]}. No "
            "mean describes them: find the cause first.",
        )
    ]


def _settle(
    analysis: Analysis, tables: Sequence[NamedTable], plan: Plan, digest: Digest
) -> list[Sentence]:
    """Join what is missing, why, and the one command that adds it."""
    recommended = analysis.recommendation
    cause = text.sentence(left_out(digest))
    start = f"{cause}. " if cause else ""
    if analysis.unfinished:
        return [line("note", f"{start}{_to_finish(analysis.unfinished)}", GO_ON)]
    if recommended.name and not recommended.confirmed:
        confirm = confirmation(plan)
        return [line("note", f"{start}{confirm.text}", confirm.command)]
    needed = None
    if not recommended.name or recommended.costs_unknown_in:
        needed = more_blocks(tables, plan)
    if needed:
        sentence = f"{start}{_not_known(tables)}: {needed.text}"
        return [line("unknown", sentence, needed.command)]
    if cause and recommended.name:
        return [line("note", f"{cause}. The answer does not need them.")]
    return []


def _to_finish(lacks: Unfinished) -> str:
    time = f", about {text.seconds(lacks.seconds)}" if lacks.seconds else ""
    return f"To finish it{time}:"


def _not_known(tables: Sequence[NamedTable]) -> str:
    """Return in how many comparisons it is not known whether there is a difference."""
    rows = [row.row for row in rows_of(tables, first=True) if row.row.effect.ratio]
    return f"Not known in {len(unknown(tables))} of {text.count(len(rows), 'comparison')}"


def answer(
    analysis: Analysis,
    tables: Sequence[NamedTable],
    plan: Plan,
    digest: Digest,
    groups: Sequence[SpreadPanel],
) -> list[Sentence]:
    """Return the answer: what is broken, then at most six lines; ``groups`` are the panels of trials in two groups."""
    first, clean = broken.first_and_last(analysis.payload)
    if first + clean and all(workload["test"] == PAYLOAD for workload in plan["workloads"]):
        unfinished = _settle(analysis, tables, plan, digest) if analysis.unfinished else []
        return first + clean + unfinished
    nothing = _no_result(tables, digest)
    if nothing:
        return [*first, *clean, line("unknown", nothing)]
    if plan.get("kind") == "imported":
        return imported.answer(tables, plan)
    lines = _recommendation(analysis, tables, plan)
    if analysis.recommendation.name or not analysis.recommendation.forbidden:
        lines += failing(analysis)
    lines += _damaged(analysis, digest)
    lines += acting_together(tables) + two_groups(groups) + _costs_unknown(analysis, tables)
    lines += _meanwhile(analysis)
    return first + lines[:4] + clean + _settle(analysis, tables, plan, digest)


def _meanwhile(analysis: Analysis) -> list[Sentence]:
    """Say what took time from the campaign, where a good part of the scatter is associated with it."""
    scatter = analysis.scatter
    if not scatter or not scatter.meanwhile or scatter.meanwhile[0].share < WORTH_A_LINE:
        return []
    return [line("note", associated_cause(scatter.meanwhile[0]))]


def _damaged(analysis: Analysis, digest: Digest) -> list[Sentence]:
    """Return the damage that the kernels counted with the recommended profile."""
    name = analysis.recommendation.name
    damage = digest.damaged.get(name) if name else None
    if not damage:
        return []
    guards = sorted(damage, key=lambda guard: (-damage[guard], guard))
    counts = [f"{WORDS[guard]} in {text.count(damage[guard], 'trial')}" for guard in guards]
    return [line("note", f"With {name} the kernels counted {text.listed(counts)}: see Evidence.")]


def _no_result(tables: Sequence[NamedTable], digest: Digest) -> str:
    """Return why nothing can be said; nothing where there is a result."""
    if not digest.trials:
        why = "no trial was recorded"
    elif not any(table.quantities for table in tables):
        why = "no trial gave a result that can be compared"
    else:
        return ""
    cause = left_out(digest)
    return f"Nothing can be said: {why}{'; ' + cause if cause else ''}."


def gain(recommended: Recommendation, places: Mapping[str, str], control: str) -> str:
    """Return by how much a set is better than the control, and in how many tables this is shown."""
    rows = _compared(recommended.by)
    shown = [row for row in rows if row.state == "better"]
    if not shown:
        amount = f"better than {control}{_average(recommended.score)}"
    elif len(shown) <= MOST_NAMED:
        amount = "; ".join(
            _one(row, places, "" if number else control) for number, row in enumerate(shown)
        )
    else:
        amount = _ranges(shown, control)
    return amount + _how_often(shown, rows)


def criterion(recommended: Recommendation) -> str:
    """Return the mean by which a set is chosen, where the first line does not say it already."""
    score = recommended.score
    several = len(recommended.by) > 1
    if not score or not several or all(row.state != "better" for row in recommended.by):
        return ""
    amount = text.size(score.ratio or 1.0) + span(score)
    return f" Sets are chosen by their mean over all tables, {ALIKE}. This mean is {amount}."


def is_named(row: SetEffect) -> bool:
    """Return whether the first line names an effect, or has it in a range."""
    return row.metric in MAIN and row.state == "better"


def _compared(rows: Sequence[SetEffect]) -> list[SetEffect]:
    """Return the effects on throughput and transactions where one of them is shown, else all."""
    main = [row for row in rows if row.metric in MAIN]
    return main if any(map(is_named, main)) else list(rows)


def _average(score: Score | None) -> str:
    if not score:
        return ""
    amount = text.size(score.ratio or 1.0) + span(score)
    return f" by {amount} on average over all tables, {ALIKE}"


def _one(row: SetEffect, places: Mapping[str, str], control: str) -> str:
    where = places.get(row.table, row.table)
    return f"{effect(row, quantity_name(row), control)} for {where}"


def _ranges(shown: Sequence[SetEffect], control: str) -> str:
    """Return, for each quantity, the range of its effects and the range of their intervals."""
    quantities: dict[str, list[SetEffect]] = {}
    for row in shown:
        quantities.setdefault(quantity_name(row), []).append(row)
    return "; ".join(_range(rows, name, control) for name, rows in quantities.items())


def _range(rows: Sequence[SetEffect], name: str, control: str) -> str:
    near, *_others, far = sorted((row.ratio or 1.0 for row in rows), key=text.distance)
    low = min(row.low or 1.0 for row in rows)
    high = max(row.high or 1.0 for row in rows)
    intervals = span(Estimate(ratio=far, low=low, high=high)).strip(" ()")
    if far >= 2:
        amount = f"{near:.2f} to {far:.2f} times the {name} of {control}"
    else:
        ends = dict.fromkeys((text.percent(near), text.percent(far)))
        direction = "more" if far > 1 else "less"
        amount = f"{' to '.join(ends)} {direction} {name} than {control}".replace(" % to", " to")
    return f"{amount} (intervals within {intervals})"


def _how_often(shown: Sequence[SetEffect], rows: Sequence[SetEffect]) -> str:
    """Return in how many tables it is shown; nothing where there is one."""
    tables = {row.table for row in rows}
    if len(tables) < 2:
        return ""
    return f"; shown in {len({row.table for row in shown})} of {len(tables)} tables"


class Remedy(NamedTuple):
    """The end of a sentence, and the command to run."""

    text: str
    command: str


def measure(overrides: Mapping[str, int]) -> str:
    """Return the command that measures the campaign again, in a folder of its own."""
    overridden = json.dumps(
        {"offload_lab_campaign_overrides": overrides, "offload_lab_results_dir": "again"}
    )
    playbook = "ansible-playbook -i INVENTORY offload.lab.measure"
    return f"{playbook} -e offload_lab_campaign_file=CAMPAIGN.yml -e '{overridden}'"


def left_out(digest: Digest) -> str:
    """Return what was left out or failed, and why; nothing where each trial could be used."""
    reasons = []
    if digest.left_out:
        guards = {name: marks for name, marks in digest.guards.items() if marks["left_out"]}
        worst = max(sorted(guards), key=lambda name: guards[name]["left_out"])
        why = guards[worst]["reason"]
        reasons.append(
            f"{digest.left_out:,} of {digest.trials:,} trials {_were(digest.left_out)} left out, most by "
            f"guard {worst} ({why})"
        )
    if digest.failed:
        error = max(sorted(digest.errors), key=lambda name: digest.errors[name])
        reasons.append(f"{digest.failed:,} of {digest.trials:,} trials failed, most with: {error}")
    return "; ".join(reasons)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def unknown(tables: Sequence[NamedTable]) -> list[QuantityRow]:
    """Return the comparisons of the tables' first quantities that are not known."""
    rows = [located.row for located in rows_of(tables, first=True) if located.row.effect.ratio]
    return [row for row in rows if row.effect.outcome == "unknown"]


def _in_all(row: QuantityRow, planned: int) -> int | None:
    """Return how many blocks in place of the ``planned`` ones settle a comparison; None where that
    is not known. As many blocks are lost as now.
    """
    more = row.effect.needs.blocks if row.effect.needs else None
    return planned + math.ceil(more * planned / max(row.effect.n, 1)) if more else None


def more_blocks(tables: Sequence[NamedTable], plan: Plan) -> Remedy | None:
    """Return the remedy for the largest difference that blocks can settle; None where no number of
    blocks is known.
    """
    key = "confirm" if plan["design"] == "search" else "blocks"  # what a search compares in blocks
    planned = plan["confirm"] if key == "confirm" else plan["blocks"]
    rows = unknown(tables)
    needed = [(row, blocks) for row in rows if (blocks := _in_all(row, planned))]
    if not needed:
        return None
    possible = [(row, blocks) for row, blocks in needed if blocks <= MOST_BLOCKS]
    if not possible:
        return Remedy(
            f"more than {MOST_BLOCKS} blocks would be needed. The differences are small against the noise: a "
            "quieter machine helps more.",
            "",
        )
    row, blocks = max(
        possible,
        key=lambda candidate: (text.distance(candidate[0].effect.ratio), candidate[0].label),
    )
    settled = sum(enough <= blocks for _row, enough in possible)
    return _blocks_for(row, blocks, planned, key, _which(settled, len(rows)))


def _which(settled: int, rows: int) -> str:
    if settled == rows:
        return "it" if rows == 1 else f"all {rows}"
    return f"{settled} of these {rows}"


def _blocks_for(row: QuantityRow, blocks: int, planned: int, key: str, which: str) -> Remedy:
    """Return the sentence and the command that measures ``blocks`` in place of the ``planned``."""
    needs = row.effect.needs
    time = ""
    if needs and needs.seconds and needs.blocks:
        time = f", about {text.seconds(needs.seconds / needs.blocks * blocks)}"
    sentence = f"{blocks} blocks in place of {planned} would settle {which}{time}:"
    if row.effect.n < planned:
        sentence = f"{row.effect.n} of {planned} blocks could be compared; {sentence}"
    return Remedy(sentence, measure({key: blocks}))


def confirmation(plan: Plan) -> Remedy:
    """Return what confirms what was chosen.

    Where the confirmation is decided, going on would measure nothing.
    """
    if not plan.get("confirm"):
        return Remedy("To confirm it in fresh blocks:", measure({"confirm": CONFIRM_BLOCKS}))
    if "role" not in plan["profiles"][plan["control"]]:  # profiles of a confirmation have one
        return Remedy("To confirm it in fresh blocks:", GO_ON)
    reason = "The planned blocks gave no reason to confirm it in fresh ones."
    blocks = 2 * plan["blocks"]
    if blocks > MOST_BLOCKS:
        return Remedy(f"{reason} A quieter machine helps more than more blocks.", "")
    return Remedy(f"{reason} More of them may:", measure({"blocks": blocks}))
