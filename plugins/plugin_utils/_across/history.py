# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many campaigns of one question over months: the changes, and the manifests around each change.

A series is one quantity over the campaigns: the control's values, or the effect of a profile.
Effects are paired inside their campaign; values vary from day to day. A change is therefore
compared with the scatter between campaigns.

Change points of many series over the same campaigns: after which campaign did a quantity change?

All series are split together, at the largest contrast between before and after over all splits and
series. The p value comes from permuting the campaigns, all series together. So it contains the
scatter from day to day, and the chance of any false change is ALPHA for the whole family. Each part
is split again, with its share of ALPHA by its share of the campaigns. docs/decisions/history.md
says why.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from ...module_utils._base.errors import InputError
from .._statistics.effects import ALPHA, t_quantile
from .._statistics.libraries import np
from .._statistics.text import ratios, shortened
from .campaigns import (
    MeasuredCampaign,
    campaign_folders,
    check_names,
    manifest_differences,
    quantities_of,
    read_campaigns,
    shared_names,
    summary_of_blocks,
    table_indexes,
    versions_of,
)
from .rows import (
    History,
    HistoryChange,
    Series,
    SeriesStep,
    VersionRow,
    direction,
)

SCHEMA = 1
NOTE = (
    "5 % is the chance of any false change in a history: campaigns are put in random orders, all series together. "
    "A change needs two campaigns on either side of it"
)
FEWEST = 8  # campaigns: with fewer no order of them is rare enough
SHORTEST = 2  # campaigns on either side: one alone might be a bad day
DRAWS = 1999
ROWS = 16  # series handled together, to bound memory
TIE = 1 - 1e-9


class ChangePoint(NamedTuple):
    """A change: ``after`` is the first campaign after it; ``start`` and ``end`` bound the part that
    was split there.

    ``shown`` are the series in which it is shown, ``p`` belongs to the clearest one.
    """

    after: int
    start: int
    end: int
    p: float
    shown: list[int]


def contrasts(series: np.ndarray) -> np.ndarray:
    """Return the size of each split's contrast, (series, campaigns) to (series, splits): 0 to 1."""
    length = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    scaled = np.divide(centred, size, out=np.zeros(series.shape), where=size > 1e-12)
    before = np.arange(SHORTEST, length - SHORTEST + 1)
    return np.abs(np.cumsum(scaled, axis=-1)[..., before - 1]) * np.sqrt(
        length / (before * (length - before))
    )


def _largest_by_chance(series: np.ndarray) -> np.ndarray:
    """Return the largest contrast of all series, for the real order of the campaigns and for random
    orders.
    """
    generator = np.random.default_rng(20260105)
    orders = generator.permuted(np.tile(np.arange(series.shape[1]), (DRAWS, 1)), axis=1)
    orders = np.vstack([np.arange(series.shape[1]), orders])
    largest = np.zeros(len(orders))
    for start in range(0, len(series), ROWS):
        sizes = contrasts(series[start : start + ROWS][:, orders])
        largest = np.maximum(largest, sizes.max(axis=(0, 2)))
    return largest


def change_points(series: np.ndarray) -> list[ChangePoint]:
    """Return the changes in logarithms (series, campaigns without gaps), in the order of time."""
    campaigns = series.shape[1]
    changes: list[ChangePoint] = []
    parts = [(0, campaigns)]
    while parts:
        start, end = parts.pop()
        if end - start < FEWEST or not len(series):
            continue
        part = series[:, start:end]
        sizes = contrasts(part)
        chance = _largest_by_chance(part)
        split = int(sizes.max(axis=0).argmax())
        p = (chance[None, :] >= sizes[:, split, None] * TIE).mean(axis=1)
        shown = np.flatnonzero(p <= ALPHA * (end - start) / campaigns).tolist()
        if shown:
            middle = start + split + SHORTEST
            changes.append(ChangePoint(middle, start, end, float(p.min()), shown))
            parts += [(start, middle), (middle, end)]
    return sorted(changes)


def step(values: np.ndarray, change: ChangePoint) -> tuple[float, float, float]:
    """Return (mean, low, high) of what is after a change less what is before it, for one series of
    logarithms.
    """
    before = values[change.start : change.after]
    after = values[change.after : change.end]
    mean = after.mean() - before.mean()
    squares = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    freedom = len(before) + len(after) - 2
    half = t_quantile(0.975, freedom) * np.sqrt(
        squares / freedom * (1 / len(before) + 1 / len(after))
    )
    return mean, mean - half, mean + half


def in_time(campaigns: list[MeasuredCampaign]) -> list[MeasuredCampaign]:
    """Return campaigns in the order of their plans' times, unchanged where a plan has no time."""
    if all(campaign.plan.get("created") for campaign in campaigns):
        return sorted(campaigns, key=lambda campaign: str(campaign.plan["created"]))
    return campaigns


def all_series(campaigns: list[MeasuredCampaign]) -> tuple[list[Series], np.ndarray]:
    """Return the series that every campaign has, and their means as logarithms (series, campaigns)."""
    tables = shared_names([list(table_indexes(campaign)) for campaign in campaigns])
    controls = {campaign.cube.profiles[0] for campaign in campaigns}
    if not tables or len(controls) > 1:
        raise InputError(
            "these campaigns have no table and control in common",
            ", ".join(campaign.name for campaign in campaigns),
            "Give campaigns of one campaign file, measured again and again.",
        )
    profiles = shared_names([campaign.cube.profiles for campaign in campaigns])
    metrics = shared_names([campaign.cube.metrics() for campaign in campaigns])
    series: list[Series] = []
    means: list[np.ndarray] = []
    for quantity, blocks in quantities_of(campaigns, tables, metrics, profiles):
        mean, low, high = summary_of_blocks(blocks)
        if np.isnan(mean).any():
            continue  # a campaign lacks it, so no campaign can be named as the first after a change
        series.append(
            {
                **quantity,
                "means": ratios(mean),
                "low": ratios(low),
                "high": ratios(high),
            }
        )
        means.append(mean)
    return series, np.array(means).reshape(len(series), len(campaigns))


def _changes(
    campaigns: list[MeasuredCampaign], series: list[Series], logs: np.ndarray
) -> list[HistoryChange]:
    dated: list[HistoryChange] = []
    for change in change_points(logs):
        steps: list[SeriesStep] = []
        for number in change.shown:
            mean, low, high = step(logs[number], change)
            steps.append(
                {
                    "series": series[number]["id"],
                    "ratio": ratios(mean),
                    "low": ratios(low),
                    "high": ratios(high),
                    "verdict": direction(series[number]["better"], np.exp(mean)),
                }
            )
        before = campaigns[change.after - 1]
        after = campaigns[change.after]
        dated.append(
            {
                "campaign": after.name,
                "number": change.after + 1,
                "created": after.plan.get("created"),
                "before": before.name,
                "p": shortened(change.p),
                "manifest": manifest_differences([before, after]),
                "steps": sorted(steps, key=lambda step: -abs(np.log(step["ratio"]))),
            }
        )
    return dated


def _by_version(
    versions: list[dict[str, str]], series: list[Series], logs: np.ndarray
) -> list[VersionRow]:
    """Return the control's values under each version of a program that has more than one, as ratios
    to the first version.
    """
    rows: list[VersionRow] = []
    for what in sorted(set(chain.from_iterable(versions))):
        values = [by_program.get(what, "") for by_program in versions]
        names = list(dict.fromkeys(values))
        for version in names[1:]:
            this_version = [value == version for value in values]
            first_version = [value == names[0] for value in values]
            rows += [
                {
                    "what": what,
                    "version": version or "not recorded",
                    "campaigns": sum(this_version),
                    "series": one_series["id"],
                    "ratio": ratios(means[this_version].mean() - means[first_version].mean()),
                }
                for one_series, means in zip(series, logs)
                if one_series["kind"] == "value"
            ]
    return rows


def history(campaigns: list[MeasuredCampaign]) -> History:
    """Return the history of campaigns: their series, the changes in them, and the versions."""
    check_names(campaigns, "Give a folder of results folders.")
    campaigns = in_time(campaigns)
    series, logs = all_series(campaigns)
    versions = [versions_of(campaign.manifest) for campaign in campaigns]
    return {
        "schema": SCHEMA,
        "series": series,
        "changes": _changes(campaigns, series, logs),
        "campaigns": [
            {
                "name": campaign.name,
                "created": campaign.plan.get("created"),
                "blocks": campaign.plan["blocks"],
                "versions": by_program,
            }
            for campaign, by_program in zip(campaigns, versions)
        ],
        "versions": _by_version(versions, series, logs),
        "fewest": FEWEST,
        "note": NOTE,
    }


def history_of(paths: list[str]) -> History:
    """Return the history of all campaigns in some folders."""
    return history(read_campaigns(campaign_folders(paths)))
