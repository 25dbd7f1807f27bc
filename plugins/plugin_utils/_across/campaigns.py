# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Campaigns along an axis: a baseline and others, time, or kernels. Read from their results folders;
their quantities in each of them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import NamedTuple

from ...module_utils._base.errors import InputError
from .._analysis import metrics as analysis_metrics
from .._analysis.cube import Cube, collect
from .._campaign.nouns import Plan
from .._campaign.plan_file import read_whole_plan
from .._campaign.stored import read_manifest
from .._report.conditions import ALWAYS_DIFFERENT, FIRST, nodes_of
from .._statistics.effects import logs, mean_of_visits, t_interval
from .._statistics.libraries import np
from .._store.manifest import Manifest
from .._trials import shape
from .._trials.nouns import Trial
from .._trials.records import stream_records
from .rows import ManifestDifference, SeriesQuantity

FILES = {"plan.json", "trials.jsonl"}
SHOWN_LATENCIES = ("latency_mean", "latency_p99")
VERSIONS = ("kernel", "driver", "driver version", "firmware", "Open vSwitch", "netperf")


class MeasuredCampaign(NamedTuple):
    """One campaign; ``name`` distinguishes it from the others."""

    name: str
    plan: Plan
    manifest: Manifest | None
    cube: Cube


class MeasuredQuantity(NamedTuple):
    """A quantity, and what each campaign measured of it."""

    quantity: SeriesQuantity
    blocks: list[np.ndarray]  # logarithms by campaign; empty where it was not measured


def campaign_folders(paths: Iterable[str]) -> list[str]:
    """Return the results folders in or below some folders, sorted by name."""
    results: list[str] = []
    for path in paths:
        below = sorted(folder for folder, _folders, files in os.walk(path) if set(files) >= FILES)
        if not below:
            raise InputError(
                "there is no campaign in this folder",
                path,
                "Give a folder with results folders in it, each with plan.json and trials.jsonl.",
            )
        results += below
    return list(dict.fromkeys(map(os.path.abspath, results)))


def labels_of(folders: list[str]) -> list[str]:
    """Return a name for each folder: the shortest end of its path that distinguishes it."""
    paths = [os.path.abspath(folder) for folder in folders]
    for depth in range(1, max([len(path.split(os.sep)) for path in paths] or [1])):
        names = [os.sep.join(path.split(os.sep)[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return paths


def read_campaign_folder(folder: str, label: str) -> MeasuredCampaign:
    """Return a campaign, read from its results folder."""
    plan = read_whole_plan(folder)
    trials = os.path.join(folder, "trials.jsonl")
    if plan is None or not os.path.exists(trials):
        raise InputError(
            "there is no plan.json, or no trials.jsonl", folder, "Give a campaign's folder."
        )
    with shape.explained(trials, stream_records(trials, [])):
        return load(plan, stream_records(trials, []), read_manifest(folder), label)


def read_campaigns(folders: list[str]) -> list[MeasuredCampaign]:
    """Return the campaigns of results folders, with the shortest names that distinguish them."""
    return [
        read_campaign_folder(folder, label) for folder, label in zip(folders, labels_of(folders))
    ]


def load(
    plan: Plan,
    trials: Iterable[Trial],
    manifest: Manifest | None = None,
    label: str | None = None,
) -> MeasuredCampaign:
    """Return a campaign from its plan and trial records. A search has the profiles that it
    confirmed.
    """
    cube = collect(plan, trials, one_host=analysis_metrics.one_host(manifest))
    confirmed = cube.confirmation if plan["design"] == "search" else None
    return MeasuredCampaign(label or plan["name"], plan, manifest, confirmed or cube)


def check_names(campaigns: list[MeasuredCampaign], advice: str) -> None:
    """Raise InputError where there are fewer than two campaigns, or two have one name."""
    names = [campaign.name for campaign in campaigns]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(
            "two campaigns or more are needed, each with a name of its own",
            ", ".join(names),
            advice,
        )


def table_logs(campaign: MeasuredCampaign, metric: str, table: int) -> np.ndarray:
    """Return logarithms (profiles, blocks) of one table; the control is the mean of its two visits."""
    data = logs(campaign.cube.values[metric][table])
    return np.concatenate([mean_of_visits(data[:1], data[-1:]), data[1:-1]])


def logs_of(
    campaign: MeasuredCampaign, metric: str, table: int, profiles: Sequence[str]
) -> np.ndarray:
    """Return logarithms (profiles, blocks) of one table, of these profiles in their order."""
    rows = [campaign.cube.profiles.index(name) for name in profiles]
    return table_logs(campaign, metric, table)[rows]


def table_indexes(campaign: MeasuredCampaign) -> dict[str, int]:
    """Return the index of each table in a campaign's arrays, by its id."""
    return {table.id: index for index, table in enumerate(campaign.cube.tables)}


def is_compared(metric: str) -> bool:
    """Return whether a metric is compared between campaigns: a measured value, or its cost."""
    return metric in ("throughput", "transactions", *SHOWN_LATENCIES) or metric.startswith(
        "service_demand"
    )


def names_of(lists: Iterable[Iterable[str]]) -> list[str]:
    """Return the names that are in any list, each once."""
    return list(dict.fromkeys(chain.from_iterable(lists)))


def shared_names(lists: list[list[str]]) -> list[str]:
    """Return the names that are in all lists, in the order of the first."""
    return [name for name in lists[0] if all(name in other for other in lists[1:])]


def _blocks(campaign: MeasuredCampaign, metric: str, table: str, profile: str) -> np.ndarray:
    """Return the logarithms of a quantity by block: the control's values, or a profile's effect.

    Without a block where the campaign does not have the quantity.
    """
    cube = campaign.cube
    indexes = table_indexes(campaign)
    if table not in indexes or metric not in cube.values or profile not in cube.profiles:
        return np.empty(0)
    control = cube.profiles[0]
    values, base = logs_of(campaign, metric, indexes[table], [profile, control])
    return values if profile == control else values - base


def quantities_of_metric(
    campaigns: list[MeasuredCampaign], metric: str, table: str, profiles: list[str]
) -> Iterator[MeasuredQuantity]:
    """Yield the quantities of a table and metric; the first profile is the control."""
    first = next(campaign for campaign in campaigns if table in table_indexes(campaign))
    about = analysis_metrics.describe(metric, first.cube.tables[table_indexes(first)[table]].test)
    for profile in profiles:
        is_value = profile == profiles[0]
        quantity: SeriesQuantity = {
            "id": f"{table}/{metric}/{profile}",
            "table": table,
            "metric": metric,
            "label": f"{about.label} {about.end}" if about.end else about.label,
            "unit": about.unit if is_value else "ratio to the control",
            "better": about.better,
            "profile": profile,
            "kind": "value" if is_value else "effect",
        }
        blocks = [_blocks(campaign, metric, table, profile) for campaign in campaigns]
        yield MeasuredQuantity(quantity, blocks)


def quantities_of(
    campaigns: list[MeasuredCampaign],
    tables: list[str],
    metrics: list[str],
    profiles: list[str],
) -> Iterator[MeasuredQuantity]:
    """Yield the quantities of tables, metrics and profiles, one table and metric after the other."""
    for table, metric in product(tables, filter(is_compared, metrics)):
        yield from quantities_of_metric(campaigns, metric, table, profiles)


def summary_of_blocks(blocks: list[np.ndarray]) -> np.ndarray:
    """Return (mean, low, high) by campaign, logarithms; NaN where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.array([t_interval(values)[1:] for values in blocks], dtype=float).T


def versions_of(manifest: Manifest | None) -> dict[str, str]:
    """Return the versions that a manifest has, such as ``{"kernel": "6.12.1", "driver of eth1":
    "mlx5_core"}``.
    """
    versions: dict[str, list[str]] = {}
    for before, _after in nodes_of(manifest).values():
        for name, value in before.items():
            for pattern, label in FIRST:
                match = pattern.fullmatch(name)
                if match and label.startswith(VERSIONS) and label != "kernel parameters":
                    values = versions.setdefault(label.format(*match.groups()), [])
                    values += [value] * (value not in values)
    return {label: ", ".join(values) for label, values in sorted(versions.items())}


def manifest_differences(campaigns: list[MeasuredCampaign]) -> list[ManifestDifference]:
    """Return the values that differ in the manifests, one value a campaign."""
    nodes = [nodes_of(campaign.manifest) for campaign in campaigns]
    different: list[ManifestDifference] = []
    for node in sorted(set(chain.from_iterable(nodes))):
        befores = [states.get(node, ({}, {}))[0] for states in nodes]
        for name in sorted(set(chain.from_iterable(befores))):
            values = [before.get(name) for before in befores]
            if len(set(values)) > 1 and not ALWAYS_DIFFERENT.search(name):
                different.append({"node": node, "name": name, "values": values})
    return different
