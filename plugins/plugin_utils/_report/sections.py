# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections of the report's page.

What became of the trials: failures by profile, what the settings were seen to do, and what was
left out.

The figures of the page: an interval for each effect, and the sections of figures.

The report's section on a search: how it stood after each round, why it ended, who was nominated
and confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from .._analysis.result import Analysis, DeviceVerdict, Failures
from .._campaign.nouns import Nominee, Plan, SearchStanding
from .._figures import choices, effects, latency, machine, trials
from .._figures.marks import Figure
from .._figures.nouns import NamedTable, Panel, PlainTable, SpreadPanel, plain_table
from .._statistics import text
from .._trials.digest import Digest
from .nouns import (
    DeviceEvidence,
    FigureSection,
    MarkedTrials,
    PageFigure,
    PageTable,
    PrintedQuantity,
    SettingEvidence,
)

PROOFS = {
    "read_back": "read back",
    "out super_share": "longer than the MTU on the way out",
    "in super_share": "longer than the MTU on the way in",
    "out tunnel_super_share": "tunnelled and longer than the MTU on the way out",
    "out csum_not_ready_share": "on the way out without a checksum yet",
    "in csum_valid_share": "on the way in with the checksum checked",
    "udp_in super_share": "datagrams longer than the MTU on the way in",
}
FOLD = 24  # rows of a table; a longer one is folded
MOST_ERRORS = 20  # rows
MOST_TABLES = 16  # with figures; a campaign with more has its numbers in the tables alone
Shown = TypeVar("Shown", bound=Panel)
WHY_ENDED = {
    "answered": "it ended because the question was answered: no combination is likely to be better by what matters",
    "visits": "it ended with its last round; the question was not answered for sure",
    "time_budget": "it ended because the time budget was spent; the question was not answered for sure",
    "nothing measured": "it ended because too few visits gave a value",
    None: "it has not ended",
}
ROLES = {
    "chosen": "predicted to be the best",
    "runner_up": "the one most likely to be better than that",
    "all_on": "all on",
}
IN_A_ROW = 3  # rounds of the table: a row for each would be long


def failures(analysis: Analysis) -> PlainTable | None:
    """Return the failures by profile as a table; None where nothing failed."""
    rows = analysis.failures
    if not any(row.failed for row in rows):
        return None
    kinds = _kinds(analysis)
    head = ["Profile", "Trials", "Failed", "Share", "p, report", "How", ""]
    cells = [_failed(row, kinds.get(row.profile, {})) for row in rows]
    return plain_table(head, cells, [head[0], head[5], head[6]])


def _kinds(analysis: Analysis) -> dict[str, dict[str, int]]:
    """Return how often the trials of each profile failed, by kind."""
    kinds: dict[str, dict[str, int]] = {}
    for failures in chain.from_iterable(table.failures for table in analysis.tables):
        for kind, times in failures.kinds.items():
            held = kinds.setdefault(failures.profile, {})
            held[kind] = held.get(kind, 0) + times
    return kinds


def _failed(row: Failures, kinds: dict[str, int]) -> list[str]:
    how = [f"{kind.replace('_', ' ')} {times}" for kind, times in kinds.items()]
    return [
        row.profile,
        f"{row.trials:,}",
        f"{row.failed:,}",
        _share(row.share),
        text.p_value(row.p_report),
        ", ".join(how),
        _judged(row),
    ]


def _judged(row: Failures) -> str:
    """Return in words what the failures of a profile mean."""
    if row.shown:
        return "shown to fail more"
    return "not recommended" if row.forbids else ""


def _share(value: float | None) -> str:
    return text.NONE if value is None else f"{value:.0%}"


def _proof(row: DeviceVerdict) -> str:
    """Return what a finding is based on, in words."""
    proof = PROOFS.get(row.proof, row.proof.replace("_", " "))
    if row.proof != "read_back":
        proof += f": {_share(row.share_on)} of bytes at on, {_share(row.share_off)} at off"
    return f"{proof}; {row.reason}" if row.reason else proof


def _merged(rows: Iterable[DeviceVerdict]) -> list[DeviceEvidence]:
    """Return a row for each device; paths with the same finding share a row."""
    merged: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = row.factor, row.node, row.end, row.device, row.verdict, _proof(row)
        merged.setdefault(key, []).append(row.path)
    devices = []
    for (factor, node, end, device, finding, proof), paths in merged.items():
        where = f"{node} ({end}) {device}, {text.listed(paths)}"
        devices.append(DeviceEvidence(factor, where, finding, proof))
    return devices


def evidence(rows: Sequence[DeviceVerdict]) -> SettingEvidence:
    """Return what each factor was seen to do."""
    if not rows:
        note = "No evidence of what the settings did was recorded with the trials."
        return SettingEvidence([note], [], folded=False)
    notes = [
        "What each setting was seen to do, in packets sampled on the device and in what the kernel reads back."
    ]
    if any(row.confounded for row in rows):
        notes.append(
            "The settings were changed together, so a finding may come from another setting."
        )
    devices = _merged(rows)
    return SettingEvidence(notes, devices, folded=len(devices) > FOLD)


def marked(digest: Digest) -> MarkedTrials:
    """Return the trials that were left out, marked or failed."""
    if not digest.guards and not digest.failed:
        none = "None: every trial gave a result and no guard marked one."
        return MarkedTrials(none, [], None)
    tables = [table for table in (_guards(digest), _errors(digest)) if table["rows"]]
    return MarkedTrials(_summary(digest), tables, _listed(digest))


def _summary(digest: Digest) -> str:
    reasons = [
        f"{name} {marks['left_out']:,}"
        for name, marks in sorted(digest.guards.items())
        if marks["left_out"]
    ]
    listed = f" ({', '.join(reasons)})" if reasons else ""
    return (
        f"{text.count(digest.trials, 'trial')}: {digest.failed:,} failed, {digest.left_out:,} left out "
        f"because a guard marked them{listed}. Other marks are warnings."
    )


def _guards(digest: Digest) -> PlainTable:
    rows = [
        [name, str(marks["trials"]), str(marks["left_out"]), marks["reason"]]
        for name, marks in sorted(digest.guards.items())
    ]
    head = ["Guard", "Trials", "Left out", "First reason"]
    return plain_table(head, rows, [head[0], head[3]])


def _errors(digest: Digest) -> PlainTable:
    errors = sorted(digest.errors.items(), key=lambda item: (-item[1], item[0]))
    rows = [[error, str(times)] for error, times in errors[:MOST_ERRORS]]
    return plain_table(["Error", "Trials"], rows, ["Error"])


def _listed(digest: Digest) -> PlainTable | None:
    """Return the first trials that failed or were left out, one by one; None without any."""
    if not digest.listed:
        return None
    rows: list[list[str]] = []
    for trial in digest.listed:
        where = f"{trial['path']} · {trial['mtu']} · {(trial['workload'] or {}).get('name')}"
        why = trial["error"] or "; ".join(mark["reason"] for mark in trial["marks"])
        rows.append([trial["id"], where, trial["profile"], why])
    total = digest.failed + digest.left_out
    caption = ""
    if total > len(rows):
        caption = f"The first {len(rows)} of {total:,}; trials.csv has all."
    head = ["Trial", "Where", "Profile", "Why"]
    return {**plain_table(head, rows), "caption": caption}


def with_forests(tables: Sequence[PageTable]) -> list[PageTable]:
    """Return the tables of effects with a figure of each quantity."""
    drawn = [_with_forests(table) for table in tables[:MOST_TABLES]]
    return [*drawn, *tables[MOST_TABLES:]]


def _with_forests(table: PageTable) -> PageTable:
    quantities = [
        replace(quantity, drawing=_forest(table.title, quantity)) for quantity in table.quantities
    ]
    return table._replace(quantities=quantities)


def _forest(title: str, quantity: PrintedQuantity) -> Figure | None:
    if not any(row.effect.ratio for row in quantity.rows):
        return None
    return effects.forest(quantity, f"{title}: {quantity.label}", quantity.summary)


def _section(
    ident: str,
    title: str,
    paragraphs: list[str],
    shown: Sequence[Shown],
    draw: Callable[[Shown, str], Figure],
) -> FigureSection:
    figures = [
        _page_figure(panel, f"{ident}-{number}", draw(panel, panel["title"]))
        for number, panel in enumerate(shown, 1)
    ]
    return FigureSection(ident, title, paragraphs, figures)


def _page_figure(panel: Panel, ident: str, drawing: Figure) -> PageFigure:
    return PageFigure(
        heading=panel["title"],
        caption=panel.get("caption", ""),
        numbers=panel.get("numbers"),
        ident=ident,
        drawing=drawing,
    )


def figure_sections(
    tables: Sequence[NamedTable], plan: Plan, digest: Digest, groups: Sequence[SpreadPanel]
) -> list[FigureSection]:
    """Return the sections that have a figure; ``groups`` are the panels of trials in two groups."""
    drawn = tables[:MOST_TABLES]
    control = plan["control"]
    levels = {name: profile["levels"] for name, profile in plan["profiles"].items()}
    candidates = [
        _section(
            "interactions",
            "Settings that act together",
            choices.INTERACTION_TEXT,
            choices.interaction_panels(drawn, levels, control),
            choices.interaction,
        ),
        _section(
            "pareto",
            "Throughput against CPU cost",
            choices.PARETO_TEXT,
            choices.pareto_panels(drawn, control),
            choices.pareto,
        ),
        _section(
            "spread",
            "Trials in two groups",
            trials.SPREAD_TEXT,
            groups,
            trials.spread,
        ),
        _section(
            "latency",
            "Latency under load",
            latency.TEXT,
            latency.latency_panels(drawn, plan, digest),
            latency.under_load,
        ),
        _section(
            "cpu", "CPU by kind", machine.CPU_TEXT, machine.cpu_panels(drawn, plan), machine.cpu
        ),
        _section(
            "softirq",
            "Softirq by CPU",
            machine.HEAT_TEXT,
            machine.heat_panels(drawn, plan, digest),
            machine.heat,
        ),
        _section(
            "time",
            "Trials over time",
            trials.TIME_TEXT,
            trials.time_panels(drawn, plan, digest),
            trials.over_time,
        ),
    ]
    return [section for section in candidates if section.figures]


def search_section(analysis: Analysis) -> tuple[list[str], PlainTable] | None:
    """Return the sentences and the table of the section; None for other designs."""
    search = analysis.search
    if not search:
        return None
    names = analysis.names
    rounds = search.rounds
    first = search.first_visits
    chosen = sum(len(search_round.profiles) for search_round in rounds)
    sentences = [
        f"Goal: {search.goal}. {first} first visits, then {chosen} chosen by what was known so far, "
        f"{first + chosen} visits in all; {WHY_ENDED[search.ended]}. While it adapts, a "
        "search claims nothing: its numbers are predictions of its model."
    ]
    if search.nominees:
        confirmed = analysis.confirmation is not None
        name = analysis.recommendation.name
        sentences.append(_nominated(search.nominees, name, names, confirmed))
    rows: list[list[str]] = []
    for first_of_row in range(0, len(rounds), IN_A_ROW):
        visited = chain.from_iterable(
            search_round.profiles for search_round in rounds[first_of_row : first_of_row + IN_A_ROW]
        )
        rows.append(_row(rounds[first_of_row].standing, visited, names))
    if search.standing:
        rows.append(_row(search.standing, (), names))
    head = ["After visits", "Predicted to be the best", "Gain over all_off", "Sure", "Visited next"]
    return sentences, plain_table(head, rows, [head[1], head[4]])


def _nominated(
    nominees: Iterable[Nominee], recommended: str | None, names: Mapping[str, str], confirmed: bool
) -> str:
    listed = "; ".join(
        f"{names[nominee['name']]} ({ROLES[nominee['role']]})" for nominee in nominees
    )
    if not confirmed:
        return f"Nominated, but not visited again: {listed}."
    supported = (
        f"Of these the confirmation supports {names[recommended]}."
        if recommended
        else "The confirmation showed none of them to be better than the control."
    )
    return f"Visited again in fresh blocks, together with all_off: {listed}. {supported}"


def _row(standing: SearchStanding, visited: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [
        str(standing["visits"]),
        names.get(standing["best"] or "", ""),
        _gain(standing),
        f"{standing['sure']:.0%}",
        "; ".join(names[name] for name in visited),
    ]


def _gain(standing: SearchStanding) -> str:
    if standing["gain"] is None:
        return ""
    return f"×{standing['gain']:.3g} ({standing['low']:.3g} to {standing['high']:.3g})"
