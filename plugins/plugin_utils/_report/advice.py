# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Details below the answer: which setting leads, what each table shows, and what to set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._analysis.result import Analysis, Attribution, Contender, SetEffect
from .._figures.nouns import NamedTable, PlainTable, Quantity, QuantityRow, plain_table
from .._statistics import text
from .._statistics.states import Needs
from . import phrases
from .nouns import Recommended, Sentence
from .phrases import SHOWN, effect, line, place, rows_of

GOALS = {
    "tcp_throughput": "TCP throughput",
    "udp_throughput": "UDP throughput",
    "tcp_cpu": "TCP service demand",
    "udp_cpu": "UDP service demand",
    "tcp_transactions": "TCP transaction rate",
    "udp_transactions": "UDP transaction rate",
    "tcp_latency": "TCP latency (p99)",
    "udp_latency": "UDP latency (p99)",
}
QUANTITIES = {
    "throughput": "throughput",
    "transactions": "transaction rate",
    "service": "service demand",
    "latency": "latency",
}
STATES = {
    "better": "better",
    "worse": "worse",
    "same": "no difference that matters",
    "unknown": "?",
    None: "",
}
SAME_BLOCKS = (
    "The same blocks show an effect and measure it, which favours effects that look large. So here the end of an "
    "interval towards 1 is farther out than in the tables of all comparisons."
)
MOST_SENTENCES = 8
FOLD = 16  # rows; a longer table is folded
MOST = 6  # sentences; the tables have the rest


class Lead(NamedTuple):
    """A setting that leads, and where."""

    entry: Attribution
    row: Contender


def goal_name(entry: Attribution) -> str:
    """Return a goal's name, with the end whose setting is meant where the ends were varied apart."""
    side = "" if entry.side == "both" else f", set at the {entry.side}"
    return GOALS.get(entry.goal, entry.goal) + side


def setting(row: Contender) -> str:
    """Return a candidate as a setting: ``tso=on``."""
    return f"{row.factor}={row.level}"


def _leaders(entry: Attribution) -> list[Contender]:
    return [row for row in entry.candidates if row.factor in entry.leaders]


def _group(entries: list[Attribution], places: dict[str, str]) -> Sentence:
    """Return a sentence on one goal over all its tables: what leads, where most, and where none
    does.
    """
    leading: dict[str, list[Lead]] = {}  # by setting
    for entry in entries:
        for row in _leaders(entry):
            leading.setdefault(setting(row), []).append(Lead(entry, row))
    if not leading:
        return _nobody_leads(entries)
    times = {name: len(leads) for name, leads in leading.items()}
    first = max(times, key=times.__getitem__)
    most = max(leading[first], key=lambda lead: text.distance(lead.row.ratio))
    comparison = places[most.entry.table] + phrases.ENDS.get(most.entry.end or "", "")
    where = f" for {comparison}"
    if len(entries) > 1:
        where = f" in {times[first]} of {len(entries)} comparisons, most for {comparison}"
    others = [other for other in times if other != first]
    also = ""
    if others:
        also = f". Not shown to differ from it, or leading elsewhere: {text.listed(others[:4])}"
    reason = f"{phrases.effect(most.row)}{also}{_ahead(most)}."
    return phrases.line("better", f"{goal_name(entries[0])}: {first} leads{where}: {reason}")


def _nothing_helps(entry: Attribution) -> bool:
    """Return whether no setting helps by an amount that matters, as far as all of them are known."""
    return all(row.state in ("same", "worse") for row in entry.candidates)


def _nobody_leads(entries: list[Attribution]) -> Sentence:
    name = goal_name(entries[0])
    if all(map(_nothing_helps, entries)):
        return phrases.line("same", f"{name}: no setting helps by an amount that matters.")
    return phrases.line("unknown", f"{name}: no setting was shown to help.")


def _ahead(lead: Lead) -> str:
    """Say what gained more than a leader but was not shown: too noisy, or too few blocks were left."""
    candidates = lead.entry.candidates
    ahead = candidates[: candidates.index(lead.row)]
    noisy = [
        f"{setting(row)} ({text.ratio(row.ratio)} in {text.count(row.n, 'block')})"
        for row in ahead
        if row.state != "better" and row.ratio
    ]
    return f". Gained more there, but was not shown: {text.listed(noisy)}" if noisy else ""


def sentences(attribution: list[Attribution], tables: Sequence[NamedTable]) -> list[Sentence]:
    """Return the answer's sentences, one a goal and side, in the order of the goals."""
    places = {table.id: phrases.place(table) for table in tables}
    groups: dict[tuple[str, str], list[Attribution]] = {}
    for entry in attribution:
        groups.setdefault((entry.goal, entry.side), []).append(entry)
    lines = [_group(entries, places) for entries in groups.values()]
    return lines[:MOST_SENTENCES]


def _next(entry: Attribution) -> str:
    """Return the best setting behind the leaders that was shown to help too."""
    leaders = _leaders(entry)
    for row in entry.candidates:
        if row.state == "better" and row not in leaders:
            return f"{setting(row)} {text.ratio(row.ratio)}"
    return text.NONE


def leader_table(attribution: list[Attribution], titles: dict[str, str]) -> PlainTable | None:
    """Return who leads in each table, as rows; None without attribution."""
    rows: list[list[str]] = []
    for entry in attribution:
        leaders = _leaders(entry)
        names = ", ".join(
            f"{setting(row)} {text.ratio(row.ratio)} ({text.interval(row.low, row.high)})"
            for row in leaders
        )
        apart = "no" if leaders else ""
        if entry.separated:
            apart = "yes"
        nobody = text.SAME if _nothing_helps(entry) else text.UNTESTED
        where = titles[entry.table] + phrases.ENDS.get(entry.end or "", "")
        rows.append([goal_name(entry), where, names or nobody, apart, _next(entry)])
    if not rows:
        return None
    head = ["Goal", "Where", "Leads: ratio (95 % interval)", "Apart?", "Next"]
    return {
        **plain_table(head, rows),
        "title": "Which setting leads",
        "folded": len(rows) > FOLD,
        "caption": (
            "~: no setting helps by an amount that matters; ?: none was shown to help. "
            "Apart: shown to be better than every other setting."
        ),
    }


def _evidence(row: SetEffect, titles: dict[str, str]) -> list[str]:
    where = titles.get(row.table, row.table)
    interval = text.interval(row.low, row.high)
    ratio = text.ratio(row.ratio)
    return [where, quantity_name(row), ratio, interval, STATES[row.state]]


def quantity_name(row: SetEffect) -> str:
    """Return what was measured: ``service demand at the client``."""
    return QUANTITIES[row.metric.split("_")[0]] + phrases.ENDS.get(row.end or "", "")


def notes(analysis: Analysis) -> list[str]:
    """Return what is to be known of the recommendation, as sentences."""
    advice = analysis.recommendation
    why = advice.why if advice.why and not advice.forbidden else "no set of settings is recommended"
    texts = [] if advice.name else [f"{text.sentence(why)}."]
    if advice.name and not advice.confirmed:
        texts.append(
            "Not confirmed: playbooks/apply.yml takes it only with -e offload_lab_allow_unconfirmed=true."
        )
    if advice.score:
        texts.append(
            f"Over all tables, throughput and CPU cost counted alike: {text.ratio(advice.score.ratio)} "
            f"({text.interval(advice.score.low, advice.score.high)}, "
            f"{text.count(advice.score.n, 'block')})."
        )
    if advice.costs_unknown_in:
        texts.append(
            f"Not known whether it costs more than {analysis.methods.matters_percent:g} % in "
            f"{text.count(len(advice.costs_unknown_in), 'comparison')}: those marked ?."
        )
    names = analysis.names
    texts += list(filter(None, [phrases.alike(analysis)]))
    texts += [f"Refused: {names[row.profile]}, {row.reason}." for row in advice.forbidden[:8]]
    texts += [
        f"Not tested: {names.get(name, name)}, {reason}."
        for name, reason in analysis.untestable.items()
    ]
    return texts


def _against(analysis: Analysis) -> PlainTable | None:
    """Return the recommended set against the others that were confirmed with it, as a table; None
    without.
    """
    rows: list[list[str]] = []
    for row in analysis.recommendation.against:
        interval = text.interval(row.low, row.high)
        rows.append([analysis.names[row.profile], text.ratio(row.ratio), interval])
    if not rows:
        return None
    head = ["Set", "The recommended one against it", "95 % interval"]
    return {
        **plain_table(head, rows, head[:1]),
        "folded": False,
        "title": "The recommended set against the others that were visited with it",
        "caption": (
            "In the same fresh blocks, over all tables, throughput and CPU cost counted alike: above 1 the "
            "recommended set is better. For information: not in the report's test."
        ),
    }


def _shown_and_measured(row: SetEffect) -> bool:
    """Return whether the same blocks show an effect and say how large it is."""
    return row.state == "better" and row.planned is None


def recommendations(analysis: Analysis, titles: dict[str, str]) -> Recommended:
    """Return the recommended set for the page."""
    advice = analysis.recommendation
    head = ["Where", "What", "Ratio to the control", "95 % interval", ""]
    rows = [_evidence(row, titles) for row in advice.by if row.ratio]
    texts = notes(analysis)
    if advice.name:
        texts.append(
            "For these hosts, drivers and workloads only. recommended.yml has it for playbooks/apply.yml."
        )
    chosen = phrases.settings(advice.changes or advice.levels, 12) if advice.name else ""
    table: PlainTable = {
        **plain_table(head, rows, head[:2] + head[4:]),
        "folded": len(rows) > FOLD,
        "title": "The recommended set against the control, table by table",
        "caption": SAME_BLOCKS if any(map(_shown_and_measured, advice.by)) else "",
    }
    return Recommended(chosen, advice.confirmed, texts, table, _against(analysis))


def _demands(table: NamedTable, profile: str) -> str:
    """Return what the same profile did to service demand, where that was shown and says more than
    the throughput.
    """
    if table.saturated:
        return ""
    rows = [
        (quantity, row)
        for _table, quantity, row in rows_of([table])
        if quantity.group.startswith("service_demand")
        and row.profile == profile
        and row.effect.outcome in SHOWN
    ]
    return text.listed(effect(row.effect, quantity.label) for quantity, row in rows)


def _settled_by(needs: Needs | None) -> str:
    """Return how an unknown difference would be settled, as the end of a sentence."""
    if not needs or not needs.text:
        return ""
    return f"; {needs.text} would settle it" if needs.blocks else f"; {needs.text}"


def _one_profile(table: NamedTable, quantity: Quantity, row: QuantityRow) -> str:
    """Return a sentence where one profile is compared with the control."""
    where = place(table)
    what = quantity.label
    control = quantity.control
    if row.effect.outcome == "unknown":
        settle = _settled_by(row.effect.needs)
        return (
            f"{where}: not known; {row.label} measured {effect(row.effect, what, control)}{settle}."
        )
    demands = _demands(table, row.profile)
    if row.effect.outcome == "same":
        return (
            f"{where}: no difference that matters in {what} between {row.label} and {control}: {effect(row.effect)}"
            f"{'; but ' if demands else ''}{demands}."
        )
    return f"{where}: {row.label} gave {effect(row.effect, what, control)}{', with ' if demands else ''}{demands}."


def _profiles(table: NamedTable, quantity: Quantity) -> str:
    """Return a sentence where several profiles are compared with the control."""
    where = place(table)
    what = quantity.label
    control = quantity.control
    shown = sorted(
        (row for row in quantity.rows if row.effect.outcome in SHOWN),
        key=lambda row: -text.distance(row.effect.ratio),
    )
    profiles = text.count(len(quantity.rows), "profile")
    if not shown:
        unknown = sum(row.effect.outcome == "unknown" for row in quantity.rows)
        return (
            f"{where}: none of {profiles} was shown to differ from {control} in {what}; not known of {unknown}."
            if unknown
            else f"{where}: no difference that matters in {what} between {profiles} and {control}."
        )
    leaders = text.listed(f"{row.label}, {effect(row.effect, what)}" for row in shown[:3])
    return f"{where}: {len(shown)} of {profiles} differ from {control}: {leaders}{' and others' * (len(shown) > 3)}."


def sentence(table: NamedTable) -> tuple[str, str, float]:
    """Return ``(tone, sentence, size)`` for a table, from its main quantity; ``size`` ranks the
    sentences.
    """
    quantity = table.quantities[0]
    rows = [row for row in quantity.rows if row.effect.ratio]
    if not rows:
        return "unknown", f"{place(table)}: nothing to compare with {quantity.control}.", -1.0
    shown = [row for row in rows if row.effect.outcome in SHOWN]
    top = max(shown or rows, key=lambda row: text.distance(row.effect.ratio))
    text_of_table = (
        _one_profile(table, quantity, top) if len(rows) == 1 else _profiles(table, quantity)
    )
    return top.effect.outcome, text_of_table, text.distance(top.effect.ratio) if shown else 0.0


def by_table(tables: Sequence[NamedTable]) -> list[Sentence]:
    """Return the sentences: one a table, or one for each of the largest effects, in table order."""
    ranked = [sentence(table) for table in tables if table.quantities]
    keep = sorted(range(len(ranked)), key=lambda number: -ranked[number][2])[:MOST]
    items = [line(ranked[number][0], ranked[number][1]) for number in sorted(keep)]
    if len(ranked) > MOST:
        items.append(
            line("note", f"These are the largest of {len(ranked)} comparisons; all are below.")
        )
    return items
