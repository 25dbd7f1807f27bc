# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the figures for choosing show, from the analysis: throughput against CPU cost, settings that
act together.
"""

from __future__ import annotations

import math
from typing import Any

from . import numbers as text

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


def pareto(tables: list[dict[str, Any]], control: str) -> list[dict[str, Any]]:
    """Return a panel for each table with three profiles or more whose service demand was measured."""
    panels = []
    for table in tables:
        medians = table["medians"]
        speed = medians.get("throughput") or medians.get("transactions") or {}
        costs = [own for name, own in medians.items() if name.startswith("service_demand")]
        points = [
            {
                "label": profile,
                "value": value,
                "cost": sum(own[profile] for own in costs),
                "control": profile == control,
            }
            for profile, value in speed.items()
            if costs and value and all(own.get(profile) for own in costs)
        ]
        if len(points) >= FEWEST_POINTS:
            panels.append(_pareto_panel(table, points))
    return panels


def _pareto_panel(table: dict[str, Any], points: list[dict[str, Any]]) -> dict[str, Any]:
    for point in points:
        point["frontier"] = not any(
            other["value"] >= point["value"]
            and other["cost"] <= point["cost"]
            and (other["value"], other["cost"]) != (point["value"], point["cost"])
            for other in points
        )
    quantity = table["quantities"][0]
    demand = next(
        quantity
        for quantity in table["quantities"]
        if quantity["group"].startswith("service_demand")
    )
    best = [point["label"] for point in points if point["frontier"]]
    return {
        "title": table["title"],
        "points": points,
        "unit": f"{quantity['label']}, {quantity['unit']}",
        "cost_unit": f"CPU time of both ends, {demand['unit']}",
        "summary": f"{text.count(len(points), 'profile')}; none is better in both than {text.listed(best[:6])}.",
    }


def interactions(
    tables: list[dict[str, Any]], profiles: dict[str, dict[str, Any]], control: str
) -> list[dict[str, Any]]:
    """Return a panel for each pair of settings of a full factorial that was shown to act together."""
    panels = []
    for table in tables:
        ratios = {
            row["profile"]: row["ratio"]
            for quantity in table["quantities"]
            if quantity["group"] == "profiles"
            for row in quantity["rows"]
            if row["ratio"]
        }
        ratios[control] = 1.0
        shown = [
            row
            for quantity in table["quantities"]
            if quantity["group"] == "interactions"
            for row in quantity["rows"]
            if row["verdict"] not in ("same", "unknown") and row["ratio"]
        ]
        for row in sorted(shown, key=lambda row: -abs(math.log(row["ratio"])))[:MOST_INTERACTIONS]:
            panel = _interaction_panel(table, row["label"].split(" × "), ratios, profiles, control)
            if panel:
                panels.append(panel)
    return panels


def _interaction_panel(
    table: dict[str, Any],
    factors: list[str],
    ratios: dict[str, float],
    profiles: dict[str, dict[str, Any]],
    control: str,
) -> dict[str, Any] | None:
    """Return the panel of two factors: the geometric mean ratio over the profiles that have each
    pair of levels.
    """
    first, second = factors
    means: dict[tuple[str, str], list[float]] = {}
    for profile, ratio in ratios.items():
        own = profiles[profile]
        means.setdefault((str(own[first]), str(own[second])), []).append(math.log(ratio))
    levels, others = (
        [str(profiles[control][factor])]
        + sorted({str(own[factor]) for own in profiles.values()} - {str(profiles[control][factor])})
        for factor in factors
    )
    if len(levels) != 2 or len(others) != 2 or len(means) != 4:
        return None
    values = {
        other: [math.exp(sum(means[level, other]) / len(means[level, other])) for level in levels]
        for other in others
    }
    lines = [{"label": f"{second}={other}", "values": values[other]} for other in others]
    words = "; ".join(
        f"with {second}={other}, {first}={levels[1]} gives {values[other][1] / values[other][0]:.2f} "
        f"times as much as {first}={levels[0]}"
        for other in others
    )
    return {
        "title": f"{table['title']}: {first} and {second}",
        "factor": first,
        "levels": [f"{first}={level}" for level in levels],
        "lines": lines,
        "control": control,
        "summary": f"{words}.",
        "caption": f"{text.sentence(words)}.",
    }
