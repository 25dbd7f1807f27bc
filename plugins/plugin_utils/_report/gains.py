# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By how much a recommended set is better: each comparison that shows it, with the comparison's own
interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._analysis.metrics import MAIN
from .._analysis.result import Estimate, Recommendation, Score, SetEffect
from .._statistics import text
from .advice import quantity_name
from .phrases import effect, span

MOST_NAMED = 3  # comparisons in the first line; more become a range
ALIKE = "throughput and CPU cost counted alike"


def gain(recommended: Recommendation, places: Mapping[str, str], control: str) -> str:
    """Return by how much a set is better than the control, and in how many tables this is shown."""
    rows = _compared(recommended.by)
    shown = [row for row in rows if row.state == "better"]
    if not shown:
        words = f"better than {control}{_average(recommended.score)}"
    elif len(shown) <= MOST_NAMED:
        words = "; ".join(
            _one(row, places, "" if number else control) for number, row in enumerate(shown)
        )
    else:
        words = _ranges(shown, control)
    return words + _how_often(shown, rows)


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
    """Return, for each quantity, the range of its effects and that of their intervals."""
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
