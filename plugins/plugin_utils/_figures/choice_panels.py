# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the figures for choosing show, from the analysis: throughput against CPU cost, settings that
act together.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from .._campaign.nouns import Levels
from .._statistics import text
from .nouns import (
    InteractionPanel,
    LevelLine,
    Medians,
    NamedTable,
    ParetoPanel,
    ParetoPoint,
    QuantityRow,
)

FEWEST_POINTS = 3
MOST_INTERACTIONS = 4
PARETO_TEXT = [
    "Medians of each profile. The line joins the profiles that no other beats in both: on it, more "
    "throughput costs more CPU time for each byte or transaction."
]
INTERACTION_TEXT = [
    "Each line is one level of a setting, its ends are the levels of the other. Lines side by side: "
    "the two do not act together. Lines that cross or spread: they do, and neither can be judged "
    "alone."
]


def pareto(tables: Sequence[NamedTable], control: str) -> list[ParetoPanel]:
    """Return a panel for each table with three profiles or more whose service demand was measured."""
    panels = []
    for table in tables:
        points = _pareto_points(table.medians, control)
        if len(points) >= FEWEST_POINTS:
            panels.append(_pareto_panel(table, points))
    return panels


def _pareto_points(medians: dict[str, Medians], control: str) -> list[ParetoPoint]:
    """Return the profiles of which both the throughput and the CPU cost of each end are known."""
    speed = medians.get("throughput") or medians.get("transactions") or {}
    demands = [own for name, own in medians.items() if name.startswith("service_demand")]
    points: list[ParetoPoint] = []
    for profile, value in speed.items():
        costs = [own.get(profile) for own in demands]
        if value and costs and all(costs):
            points.append(
                {
                    "label": profile,
                    "value": value,
                    "cost": sum(filter(None, costs)),
                    "control": profile == control,
                    "frontier": False,
                }
            )
    return points


def _pareto_panel(table: NamedTable, points: list[ParetoPoint]) -> ParetoPanel:
    for point in points:
        point["frontier"] = not any(
            other["value"] >= point["value"]
            and other["cost"] <= point["cost"]
            and (other["value"], other["cost"]) != (point["value"], point["cost"])
            for other in points
        )
    quantity = table.quantities[0]
    demand = next(
        quantity for quantity in table.quantities if quantity.group.startswith("service_demand")
    )
    best = [point["label"] for point in points if point["frontier"]]
    return {
        "title": table.title,
        "points": points,
        "unit": f"{quantity.label}, {quantity.unit}",
        "cost_unit": f"CPU time of both ends, {demand.unit}",
        "summary": f"{text.count(len(points), 'profile')}; none is better in both than {text.listed(best[:6])}.",
    }


def interactions(
    tables: Sequence[NamedTable], profiles: dict[str, Levels], control: str
) -> list[InteractionPanel]:
    """Return a panel for each pair of settings of a full factorial that was shown to act together."""
    panels = []
    for table in tables:
        ratios = {row.profile: row.effect.ratio or 1.0 for row in _rows_of(table, "profiles")}
        ratios[control] = 1.0
        rows = _rows_of(table, "interactions")
        shown = [row for row in rows if row.effect.outcome not in ("same", "unknown")]
        shown.sort(key=lambda row: -text.distance(row.effect.ratio))
        for row in shown[:MOST_INTERACTIONS]:
            panel = _interaction_panel(table, row.label.split(" × "), ratios, profiles, control)
            if panel:
                panels.append(panel)
    return panels


def _rows_of(table: NamedTable, group: str) -> list[QuantityRow]:
    """Return the rows with a ratio of a group's quantities."""
    rows: list[QuantityRow] = []
    for quantity in table.quantities:
        if quantity.group == group:
            rows += [row for row in quantity.rows if row.effect.ratio]
    return rows


def _levels_of(factor: str, profiles: dict[str, Levels], control: str) -> list[str]:
    """Return a factor's levels, the control's first."""
    first = str(profiles[control][factor])
    return [first, *sorted({str(own[factor]) for own in profiles.values()} - {first})]


def _mean_ratios(
    first: str, second: str, ratios: dict[str, float], profiles: dict[str, Levels]
) -> dict[tuple[str, str], float]:
    """Return the geometric mean ratio over the profiles that have each pair of levels."""
    logs: dict[tuple[str, str], list[float]] = {}
    for profile, ratio in ratios.items():
        own = profiles[profile]
        logs.setdefault((str(own[first]), str(own[second])), []).append(math.log(ratio))
    return {pair: math.exp(statistics.fmean(own)) for pair, own in logs.items()}


def _interaction_panel(
    table: NamedTable,
    factors: list[str],
    ratios: dict[str, float],
    profiles: dict[str, Levels],
    control: str,
) -> InteractionPanel | None:
    """Return the panel of two factors with two levels each, or None."""
    first, second = factors
    levels, others = (_levels_of(factor, profiles, control) for factor in factors)
    means = _mean_ratios(first, second, ratios, profiles)
    if len(levels) != 2 or len(others) != 2 or len(means) != 4:
        return None
    low, high = levels
    lines: list[LevelLine] = []
    sentences = []
    for other in others:
        values = [means[low, other], means[high, other]]
        lines.append({"label": f"{second}={other}", "values": values})
        sentences.append(
            f"with {second}={other}, {first}={high} gives {values[1] / values[0]:.2f} "
            f"times as much as {first}={low}"
        )
    words = "; ".join(sentences)
    return {
        "title": f"{table.title}: {first} and {second}",
        "factor": first,
        "levels": [f"{first}={level}" for level in levels],
        "lines": lines,
        "control": control,
        "summary": f"{words}.",
        "caption": f"{text.sentence(words)}.",
    }
