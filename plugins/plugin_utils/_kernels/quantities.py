# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Between which kernels an effect changed. Pure.

Every two kernels are compared as two campaigns are, by Welch's t on logarithms, and Holm's
correction goes over all effects and all pairs of kernels. Of the pairs that are shown to differ the
narrowest count: those with no other such pair between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

from .._analysis import metrics as analysis_metrics
from .._compare.compare import (
    MeasuredCampaign,
    compare_pairs,
    is_compared,
    is_tested,
    logs_of,
    places_of,
    rows_of,
)
from .._compare.rows import EffectRow
from .._history.history import summary_of_blocks
from .._statistics.libraries import np
from .._statistics.numbers import ratios
from .rows import KernelChange, KernelQuantity, Under

Gap = tuple[int, int]  # the places of two kernels
EffectKey = tuple[str, str, str]  # table, metric, profile


class Sides(NamedTuple):
    """Where kernels are: groups between which something changed, and those of which that is not
    known.
    """

    groups: list[list[int]]
    between: list[int]


def narrowest(gaps: Iterable[Gap]) -> list[Gap]:
    """Return the gaps that have no other one inside."""
    ordered = sorted(gaps, key=lambda gap: gap[1] - gap[0])
    found: list[Gap] = []
    for first, last in ordered:
        if not any(first <= inner[0] and inner[1] <= last for inner in found):
            found.append((first, last))
    return sorted(found)


def _is_between(place: int, gaps: Sequence[Gap]) -> bool:
    return any(first < place < last for first, last in gaps)


def _are_apart(one: int, other: int, gaps: Sequence[Gap]) -> bool:
    return any(one <= first and last <= other for first, last in gaps)


def sides_of(gaps: Sequence[Gap], there: Sequence[int]) -> Sides:
    """Return on which side of its changes each kernel is that is ``there``; ``gaps`` are the
    narrowest.
    """
    between = [place for place in there if _is_between(place, gaps)]
    groups: list[list[int]] = []
    for place in there:
        if place in between:
            continue
        if not groups or _are_apart(groups[-1][-1], place, gaps):
            groups.append([])
        groups[-1].append(place)
    return Sides(groups, between)


def _names(lists: Iterable[Iterable[str]]) -> list[str]:
    """Return the names that are in any of some lists, each once."""
    found: dict[str, None] = {}
    for names in lists:
        found.update(dict.fromkeys(names))
    return list(found)


def _blocks(campaign: MeasuredCampaign, metric: str, table: str, profile: str) -> np.ndarray:
    """Return the logarithms of a quantity by block: of the control its values, else the effect.

    None of them where the campaign does not have it.
    """
    cube = campaign.cube
    places = places_of(campaign)
    if table not in places or metric not in cube.values or profile not in cube.profiles:
        return np.empty(0)
    control = cube.profiles[0]
    own, base = logs_of(campaign, metric, places[table], [profile, control])
    return own if profile == control else own - base


def _under(blocks: list[np.ndarray]) -> list[Under]:
    """Return a quantity under each kernel."""
    mean, low, high = summary_of_blocks(blocks)
    columns = ratios(mean), ratios(low), ratios(high)
    return [
        {"n": int((~np.isnan(own)).sum()), "mean": one, "low": least, "high": most}
        for own, one, least, most in zip(blocks, *columns)
    ]


def _of_metric(
    campaigns: list[MeasuredCampaign], metric: str, table: str
) -> Iterator[KernelQuantity]:
    """Yield the quantities of a table and metric that were measured, the control first."""
    first = [campaign for campaign in campaigns if table in places_of(campaign)][0]
    about = analysis_metrics.describe(metric, first.cube.tables[places_of(first)[table]].test)
    control = campaigns[0].cube.profiles[0]
    for profile in _names(campaign.cube.profiles for campaign in campaigns):
        under = _under([_blocks(campaign, metric, table, profile) for campaign in campaigns])
        if _measured(under):
            is_value = profile == control
            yield {
                "id": f"{table}/{metric}/{profile}",
                "table": table,
                "metric": metric,
                "label": f"{about.label} {about.end}" if about.end else about.label,
                "unit": about.unit if is_value else "ratio to the control",
                "better": about.better,
                "profile": profile,
                "kind": "value" if is_value else "effect",
                "under": under,
                "changes": [],
                "sides": [],
                "between": [],
                "state": None,
            }


def _measured(under: list[Under]) -> list[int]:
    """Return the places of the kernels under which something was measured."""
    return [place for place, one in enumerate(under) if one["mean"] is not None]


def _rows(
    campaigns: list[MeasuredCampaign], matters: float
) -> dict[EffectKey, dict[Gap, EffectRow]]:
    """Return each effect's comparisons, by the places of the two kernels."""
    gaps = list(combinations(range(len(campaigns)), 2))
    pairs = [(campaigns[first], campaigns[last]) for first, last in gaps]
    found: dict[EffectKey, dict[Gap, EffectRow]] = {}
    for gap, compared in zip(gaps, compare_pairs(pairs, matters).compared):
        for _campaign, table, metric, row in rows_of([compared]):
            key = table["id"], metric["metric"], row["profile"]
            found.setdefault(key, {})[gap] = row
    return found


def _judge(quantity: KernelQuantity, rows: dict[Gap, EffectRow], kernels: list[str]) -> None:
    """Fill in where an effect changed, and on which side each kernel is."""
    shown = narrowest(gap for gap, row in rows.items() if row["significant"])
    there = _measured(quantity["under"])
    sides = sides_of(shown, there)
    quantity["changes"] = [_change(kernels, gap, rows[gap]) for gap in shown]
    for group in sides.groups:
        quantity["sides"].append([kernels[place] for place in group])
    quantity["between"] = [kernels[place] for place in sides.between]
    quantity["state"] = "different" if shown else _alike(rows, len(kernels))


def _alike(rows: dict[Gap, EffectRow], kernels: int) -> str:
    """Return same where no two of all kernels differ by what matters, else unknown."""
    verdicts = {row["verdict"] for row in rows.values()}
    whole = len(rows) == kernels * (kernels - 1) // 2
    return "same" if whole and verdicts == {"same"} else "unknown"


def _change(kernels: list[str], gap: Gap, row: EffectRow) -> KernelChange:
    return {
        "before": kernels[gap[0]],
        "after": kernels[gap[1]],
        "ratio": row["ratio"],
        "low": row["low"],
        "high": row["high"],
        "p": row["p_holm"],
        "verdict": row["verdict"],
    }


class Quantities(NamedTuple):
    """All quantities, and how many comparisons were tested for them."""

    quantities: list[KernelQuantity]
    tested: int


def quantities_of(campaigns: list[MeasuredCampaign], matters: float) -> Quantities:
    """Return all quantities under each kernel; the campaigns are in the order of their kernels and
    have their names. ``matters`` is a logarithm.
    """
    kernels = [campaign.name for campaign in campaigns]
    compared = _rows(campaigns, matters)
    tables = _names(places_of(campaign) for campaign in campaigns)
    metrics = _names(campaign.cube.metrics() for campaign in campaigns)
    found: list[KernelQuantity] = []
    for table, metric in product(tables, filter(is_compared, metrics)):
        for one in _of_metric(campaigns, metric, table):
            if one["kind"] == "effect":
                _judge(one, compared.get((table, metric, one["profile"]), {}), kernels)
            found.append(one)
    tested = sum(sum(map(is_tested, rows.values())) for rows in compared.values())
    return Quantities(found, tested)
