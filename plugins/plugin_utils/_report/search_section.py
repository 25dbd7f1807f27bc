# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's section on a search: how it stood after each round, why it ended, who was nominated
and confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from .._analysis.result import Analysis
from .._campaign.nouns import Nominee, SearchStanding
from .._figures.nouns import PlainRow, PlainTable

ENDS = {
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


def section(analysis: Analysis) -> tuple[list[str], PlainTable] | None:
    """Return the sentences and the table of the section; None for other designs."""
    search = analysis.search
    if not search:
        return None
    names = analysis.names
    rounds = search.rounds
    first = search.first_visits
    chosen = sum(len(search_round.profiles) for search_round in rounds)
    text = [
        f"Goal: {search.goal}. {first} first visits, then {chosen} chosen by what was known so far, "
        f"{first + chosen} visits in all; {ENDS[search.ended]}. While it adapts, a "
        "search claims nothing: its numbers are predictions of its model."
    ]
    if search.nominees:
        confirmed = analysis.confirmation is not None
        name = analysis.recommendation.name
        text.append(_nominated(search.nominees, name, names, confirmed))
    rows: list[PlainRow] = []
    for first_of_row in range(0, len(rounds), IN_A_ROW):
        visited = chain.from_iterable(
            search_round.profiles for search_round in rounds[first_of_row : first_of_row + IN_A_ROW]
        )
        rows.append(_row(rounds[first_of_row].standing, visited, names))
    if search.standing:
        rows.append(_row(search.standing, (), names))
    head = ["After visits", "Predicted to be the best", "Gain over all_off", "Sure", "Visited next"]
    return text, {"head": head, "text": [head[1], head[4]], "rows": rows}


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


def _row(standing: SearchStanding, visited: Iterable[str], names: Mapping[str, str]) -> PlainRow:
    return {
        "cells": [
            str(standing["visits"]),
            names.get(standing["best"] or "", ""),
            _gain(standing),
            f"{standing['sure']:.0%}",
            "; ".join(names[name] for name in visited),
        ]
    }


def _gain(standing: SearchStanding) -> str:
    if standing["gain"] is None:
        return ""
    return f"×{standing['gain']:.3g} ({standing['low']:.3g} to {standing['high']:.3g})"
