# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures for choosing: throughput against its cost in CPU time, and which settings act together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import chain

from .._campaign.nouns import Levels
from .._statistics import text
from . import marks
from .marks import WIDTH, Figure
from .nouns import (
    InteractionPanel,
    LevelLine,
    Medians,
    NamedTable,
    ParetoPanel,
    ParetoPoint,
    QuantityRow,
)

HEIGHT = 250
TOP = 26
LEFT = 52
RIGHT = 18
BOTTOM = HEIGHT - 42
MOST_NAMED = 9
SMALL_LETTER = 5.8  # pixels
Room = tuple[float, float, float, float]  # left, top, right, bottom, in pixels
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


def pareto(panel: ParetoPanel, title: str) -> Figure:
    """Draw each profile's throughput against its CPU cost; the line joins those that no other beats
    in both.
    """
    figure = Figure(title, panel["summary"], HEIGHT)
    points = panel["points"]
    right = _around([point["value"] for point in points], LEFT, WIDTH - RIGHT)
    up = _around([point["cost"] for point in points], BOTTOM, TOP)
    marks.upwards(figure, up, LEFT, WIDTH - RIGHT, _ticks(up))
    marks.across(figure, right, BOTTOM, _ticks(right))
    best = sorted(
        (point for point in points if point["frontier"]), key=lambda point: point["value"]
    )
    if len(best) > 1:
        figure.shape(
            "s-better",
            [marks.line(*((right.at(point["value"]), up.at(point["cost"])) for point in best))],
        )
    for css, on_frontier in (("h-same", False), ("f-better", True)):
        figure.shape(
            css, [_mark(point, right, up) for point in points if point["frontier"] is on_frontier]
        )
    _names(figure, points, right, up)
    figure.words(((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10), panel["unit"], "small muted", "middle")
    figure.words(
        (8, 11), f"{panel['cost_unit']}; lower and more to the right is better", "small muted"
    )
    return figure


def _mark(point: ParetoPoint, right: marks.Scale, up: marks.Scale) -> str:
    draw = marks.square if point["control"] else marks.circle
    return draw(right.at(point["value"]), up.at(point["cost"]), 3.6)


def _names(figure: Figure, points: list[ParetoPoint], right: marks.Scale, up: marks.Scale) -> None:
    """Name the control and those on the line, where a name has room."""
    taken = [_room_of_mark(right.at(point["value"]), up.at(point["cost"])) for point in points]
    named = [point for point in points if point["control"] or point["frontier"]]
    named.sort(key=lambda point: (not point["control"], not point["frontier"], -point["value"]))
    for point in named[:MOST_NAMED]:
        x = right.at(point["value"])
        y = up.at(point["cost"])
        _name(figure, marks.short(point["label"], 26), x, y, taken)


def _room_of_mark(x: float, y: float) -> Room:
    return x - 5, y - 5, x + 5, y + 5


def _name(figure: Figure, word: str, x: float, y: float, taken: list[Room]) -> None:
    """Write a name right or left of its mark, above or under it, where no other name is; nowhere if
    there is no room.
    """
    width = SMALL_LETTER * len(word)
    for anchor, start, middle in (
        ("start", x + 8, y),
        ("end", x - 8 - width, y),
        ("start", x - width / 2, y - 13),
        ("start", x - width / 2, y + 13),
    ):
        room = start, middle - 6, start + width, middle + 6
        if _is_inside(room) and not any(_overlap(room, other) for other in taken):
            figure.words((x - 8 if anchor == "end" else start, middle), word, "small", anchor)
            taken.append(room)
            return


def _is_inside(room: Room) -> bool:
    west, top, right, bottom = room
    middle = (top + bottom) / 2
    return west > LEFT and right < WIDTH and TOP < middle < BOTTOM - 4


def _overlap(first: Room, second: Room) -> bool:
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )


def _around(values: list[float], start: float, end: float) -> marks.Scale:
    """Return a scale that begins at 0 where the values are not far from it, or a little below them."""
    low = min(values)
    high = max(values)
    span = (high - low) or high * 0.1 or 1.0
    return marks.Scale(0.0 if low < 2 * span else low - 0.25 * span, high + 0.12 * span, start, end)


def _ticks(scale: marks.Scale) -> list[tuple[float, str]]:
    places = marks.even_ticks(scale.high, max(4, round(4 * scale.high / (scale.high - scale.low))))
    return [(tick, marks.tick_label(tick)) for tick in places if scale.holds(tick)][:8]


def interaction(panel: InteractionPanel, title: str) -> Figure:
    """Draw two settings: the ratio to the control at each level of the first, a line for each level
    of the second.

    Parallel lines mean that the two do not act together.
    """
    figure = Figure(title, panel["summary"], HEIGHT)
    values = chain.from_iterable(line["values"] for line in panel["lines"])
    up = marks.ratio_scale(values, BOTTOM, TOP)
    ticks = marks.ratio_ticks(up.low, up.high)
    marks.upwards(
        figure, up, LEFT, WIDTH - RIGHT, [(x_level, f"{x_level:.2f}") for x_level in ticks]
    )
    places = [LEFT + (WIDTH - LEFT - RIGHT) * share for share in (0.22, 0.78)]
    figure.shape("s-muted", [marks.line((LEFT, BOTTOM), (WIDTH - RIGHT, BOTTOM))])
    for x_level, level in zip(places, panel["levels"]):
        figure.words((x_level, BOTTOM + 12), level, "small muted", "middle")
    for line, css, draw in zip(panel["lines"], ("same", "better"), (marks.circle, marks.square)):
        ends = [(x_level, up.at(value)) for x_level, value in zip(places, line["values"])]
        figure.shape(f"wide s-{css}", [marks.line(*ends)])
        figure.shape(f"{'h' if css == 'same' else 'f'}-{css}", [draw(x, y, 3.6) for x, y in ends])
    axis = f"{marks.short(panel['factor'], 34)}; ratio to {marks.short(panel['control'], 20)}"
    figure.words((WIDTH / 2, HEIGHT - 10), axis, "small muted", "middle")
    marks.legend(
        figure,
        [
            (marks.short(panel["lines"][0]["label"], 26), "h-same", "circle"),
            (marks.short(panel["lines"][1]["label"], 26), "f-better", "small square"),
        ],
    )
    return figure


def pareto_panels(tables: Sequence[NamedTable], control: str) -> list[ParetoPanel]:
    """Return a panel for each table with three profiles or more whose service demand was measured."""
    panels = []
    for table in tables:
        points = _pareto_points(table.medians, control)
        if len(points) >= FEWEST_POINTS:
            panels.append(_pareto_panel(table, points))
    return panels


def _pareto_points(medians: dict[str, Medians], control: str) -> list[ParetoPoint]:
    """Return the profiles with known throughput and known CPU cost of each end."""
    speed = medians.get("throughput") or medians.get("transactions") or {}
    demands = [
        median_of_profile
        for name, median_of_profile in medians.items()
        if name.startswith("service_demand")
    ]
    points: list[ParetoPoint] = []
    for profile, value in speed.items():
        costs = [median_of_profile.get(profile) for median_of_profile in demands]
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


def interaction_panels(
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
    return [first, *sorted({str(levels[factor]) for levels in profiles.values()} - {first})]


def _mean_ratios(
    first: str, second: str, ratios: dict[str, float], profiles: dict[str, Levels]
) -> dict[tuple[str, str], float]:
    """Return the geometric mean ratio over the profiles that have each pair of levels."""
    logs: dict[tuple[str, str], list[float]] = {}
    for profile, ratio in ratios.items():
        pair_logs = profiles[profile]
        logs.setdefault((str(pair_logs[first]), str(pair_logs[second])), []).append(math.log(ratio))
    return {pair: math.exp(statistics.fmean(pair_logs)) for pair, pair_logs in logs.items()}


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
    sentence = "; ".join(sentences)
    return {
        "title": f"{table.title}: {first} and {second}",
        "factor": first,
        "levels": [f"{first}={level}" for level in levels],
        "lines": lines,
        "control": control,
        "summary": f"{sentence}.",
        "caption": f"{text.sentence(sentence)}.",
    }
