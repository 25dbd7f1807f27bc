# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many campaigns of one question, over months: what changed, since when, and what the manifests say
of it. Pure.

A series is one quantity over the campaigns: the control's values, or the effect of a profile.
Effects are paired inside their campaign; values have the day in them. A change is therefore
compared with the scatter between campaigns.
"""

from __future__ import annotations

import warnings
from itertools import chain, product
from typing import Iterator

from ...module_utils._base.errors import InputError
from .._analysis import metrics as analysis_metrics
from .._compare.compare import (
    MeasuredCampaign,
    is_compared,
    logs_of,
    manifest_differences,
    places_of,
)
from .._compare.rows import direction
from .._report.conditions import FIRST, nodes_of
from .._statistics import change_points as changes
from .._statistics.effects import t_interval
from .._statistics.libraries import np
from .._statistics.numbers import ratios, shortened
from .._store.manifest import Manifest
from .rows import (
    History,
    HistoryChange,
    Series,
    SeriesStep,
    VersionRow,
)

SCHEMA = 1
VERSIONS = ("kernel", "driver", "driver version", "firmware", "Open vSwitch", "netperf")
NOTE = (
    "5 % is the chance of any false change in a history: campaigns are put in random orders, all series together. "
    "A change needs two campaigns on either side of it"
)


def versions_of(manifest: Manifest | None) -> dict[str, str]:
    """Return the versions that a manifest has, such as ``{"kernel": "6.12.1", "driver of eth1":
    "mlx5_core"}``.
    """
    found: dict[str, list[str]] = {}
    for before, _after in nodes_of(manifest).values():
        for name, value in before.items():
            for pattern, label in FIRST:
                match = pattern.fullmatch(name)
                if match and label.startswith(VERSIONS) and label != "kernel parameters":
                    values = found.setdefault(label.format(*match.groups()), [])
                    values += [value] * (value not in values)
    return {label: ", ".join(values) for label, values in sorted(found.items())}


def in_time(campaigns: list[MeasuredCampaign]) -> list[MeasuredCampaign]:
    """Return campaigns in the order in which they were planned; where a plan does not say when, as
    they are.
    """
    if all(campaign.plan.get("created") for campaign in campaigns):
        return sorted(campaigns, key=lambda campaign: str(campaign.plan["created"]))
    return campaigns


def _shared(lists: list[list[str]]) -> list[str]:
    """Return the names that are in all lists, in the order of the first."""
    return [name for name in lists[0] if all(name in other for other in lists[1:])]


def _rows(
    campaigns: list[MeasuredCampaign], metric: str, table: str, profiles: list[str]
) -> Iterator[tuple[str, str, list[np.ndarray]]]:
    """Yield (profile, kind, [the blocks of each campaign]) of one table and metric."""
    rows = [
        logs_of(campaign, metric, places_of(campaign)[table], profiles) for campaign in campaigns
    ]
    yield profiles[0], "value", [own[0] for own in rows]
    for number, profile in enumerate(profiles[1:], 1):
        yield profile, "effect", [own[number] - own[0] for own in rows]


def summary_of_blocks(blocks: list[np.ndarray]) -> np.ndarray:
    """Return (mean, low, high) by campaign, logarithms; NaN where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.array([t_interval(own)[1:] for own in blocks], dtype=float).T


def all_series(campaigns: list[MeasuredCampaign]) -> tuple[list[Series], np.ndarray]:
    """Return the series that every campaign has, and their means as logarithms (series, campaigns)."""
    tables = _shared([list(places_of(campaign)) for campaign in campaigns])
    controls = {campaign.cube.profiles[0] for campaign in campaigns}
    if not tables or len(controls) > 1:
        raise InputError(
            "these campaigns have no table and control in common",
            ", ".join(campaign.name for campaign in campaigns),
            "Give campaigns of one campaign file, measured again and again.",
        )
    profiles = _shared([campaign.cube.profiles for campaign in campaigns])
    metrics = _shared([campaign.cube.metrics() for campaign in campaigns])
    found: list[Series] = []
    means: list[np.ndarray] = []
    for table, metric in product(tables, filter(is_compared, metrics)):
        for one, mean in _of_metric(campaigns, metric, table, profiles):
            found.append(one)
            means.append(mean)
    return found, np.array(means).reshape(len(found), len(campaigns))


def _of_metric(
    campaigns: list[MeasuredCampaign], metric: str, table: str, profiles: list[str]
) -> Iterator[tuple[Series, np.ndarray]]:
    """Yield the series of one table and metric, each with its means as logarithms."""
    first = campaigns[0]
    test = first.cube.tables[places_of(first)[table]].test
    about = analysis_metrics.describe(metric, test)
    label = f"{about.label} {about.end}" if about.end else about.label
    for profile, kind, blocks in _rows(campaigns, metric, table, profiles):
        mean, low, high = summary_of_blocks(blocks)
        if np.isnan(mean).any():
            continue  # a campaign lacks it: nothing can be said of its place
        one: Series = {
            "id": f"{table}/{metric}/{profile}",
            "table": table,
            "metric": metric,
            "label": label,
            "unit": about.unit if kind == "value" else "ratio to the control",
            "better": about.better,
            "profile": profile,
            "kind": kind,
            "means": ratios(mean),
            "low": ratios(low),
            "high": ratios(high),
        }
        yield one, mean


def _changes(
    campaigns: list[MeasuredCampaign], series: list[Series], logs: np.ndarray
) -> list[HistoryChange]:
    found: list[HistoryChange] = []
    for change in changes.change_points(logs):
        steps: list[SeriesStep] = []
        for number in change.shown:
            mean, low, high = changes.step(logs[number], change)
            steps.append(
                {
                    "series": series[number]["id"],
                    "ratio": ratios(mean),
                    "low": ratios(low),
                    "high": ratios(high),
                    "verdict": direction(series[number]["better"], np.exp(mean)),
                }
            )
        before = campaigns[change.place - 1]
        after = campaigns[change.place]
        found.append(
            {
                "campaign": after.name,
                "number": change.place + 1,
                "created": after.plan.get("created"),
                "before": before.name,
                "p": shortened(change.p),
                "manifest": manifest_differences([before, after]),
                "steps": sorted(steps, key=lambda step: -abs(np.log(step["ratio"]))),
            }
        )
    return found


def _by_version(
    versions: list[dict[str, str]], series: list[Series], logs: np.ndarray
) -> list[VersionRow]:
    """Return the control's values under each version of what has more than one, as ratios to the
    first version.
    """
    rows: list[VersionRow] = []
    for what in sorted(set(chain.from_iterable(versions))):
        values = [own.get(what, "") for own in versions]
        names = list(dict.fromkeys(values))
        for version in names[1:]:
            here = [value == version for value in values]
            first = [value == names[0] for value in values]
            rows += [
                {
                    "what": what,
                    "version": version or "not recorded",
                    "campaigns": sum(here),
                    "series": one["id"],
                    "ratio": ratios(own[here].mean() - own[first].mean()),
                }
                for one, own in zip(series, logs)
                if one["kind"] == "value"
            ]
    return rows


def history(campaigns: list[MeasuredCampaign]) -> History:
    """Return the history of campaigns: their series, the changes in them, and what the manifests
    say.
    """
    if len({campaign.name for campaign in campaigns}) < max(2, len(campaigns)):
        raise InputError(
            "two campaigns or more are needed, each with a name of its own",
            ", ".join(campaign.name for campaign in campaigns),
            "Give a folder of results folders.",
        )
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
                "versions": own,
            }
            for campaign, own in zip(campaigns, versions)
        ],
        "versions": _by_version(versions, series, logs),
        "fewest": changes.FEWEST,
        "note": NOTE,
    }
