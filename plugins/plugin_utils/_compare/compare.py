# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two or more campaigns compared: after a kernel upgrade, with another NIC, another Open vSwitch.
Pure.

Only effects are judged: a profile against the control, paired in the blocks of its own campaign, so
a slower day or a busier machine is in both and cancels out. Each effect is compared between the
campaigns by Welch's t on logarithms, and Holm's correction goes over all effects of all tables,
metrics and campaigns: one error rate for the whole gate. Where that shows no difference, the
interval says whether there is none that matters (same) or that is not known (unknown). Values themselves (Mbit/s) are
information: whatever changed between the campaigns is in them.
"""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Iterable, Iterator, NamedTuple, Sequence

from ...module_utils._base.errors import InputError
from .._analysis import metrics as analysis_metrics
from .._analysis.cube import Cube, collect
from .._campaign.nouns import Plan
from .._report.conditions import ALWAYS_DIFFERENT, nodes_of
from .._statistics import effects as statistics
from .._statistics.libraries import np, stats
from .._statistics.numbers import ratios, shortened
from .._statistics.rules import CONFIDENCE, FEWEST_BLOCKS
from .._statistics.states import is_same, margin_of, matters_percent
from .._store.manifest import Manifest
from .._trials.nouns import Trial
from .rows import (
    CampaignComparison,
    ComparedCampaign,
    EffectRow,
    ManifestDifference,
    MetricRows,
    TableRows,
    ValueRow,
    direction,
)

SCHEMA = 2
SHOWN_LATENCIES = ("latency_mean", "latency_p99")
NOTE = (
    "Effects against the control are judged, each paired inside its own campaign. Values are information: the day, "
    "the load and the temperature differ between campaigns"
)


class MeasuredCampaign(NamedTuple):
    """One campaign as :func:`compare` takes it; ``name`` distinguishes it from the others."""

    name: str
    plan: Plan
    manifest: Manifest | None
    cube: Cube


CampaignPair = tuple[MeasuredCampaign, MeasuredCampaign]


class JudgedPairs(NamedTuple):
    """Pairs of campaigns compared, and what of it is a regression, as texts."""

    compared: list[ComparedCampaign]
    failures: list[str]


def load(
    plan: Plan,
    trials: Iterable[Trial],
    manifest: Manifest | None = None,
    label: str | None = None,
) -> MeasuredCampaign:
    """Return a campaign from its plan and trial records; of a search what it confirmed, in blocks,
    is compared.
    """
    cube = collect(plan, trials, one_host=analysis_metrics.one_host(manifest))
    confirmed = cube.confirmation if plan["design"] == "search" else None
    return MeasuredCampaign(label or plan["name"], plan, manifest, confirmed or cube)


def welch(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return (n first, n second, mean difference second − first, low, high, p) of effects (effects,
    blocks).

    NaN is a block that was not measured. Below :data:`FEWEST_BLOCKS` in either there is no interval
    and no test (NaN).
    """
    n_first, n_second = ((~np.isnan(sample)).sum(axis=1) for sample in (first, second))
    mean, low, high, p = (np.full(len(first), np.nan) for _column in range(4))
    some = np.minimum(n_first, n_second) > 0
    enough = np.minimum(n_first, n_second) >= FEWEST_BLOCKS
    mean[some] = np.nanmean(second[some], axis=1) - np.nanmean(first[some], axis=1)
    if enough.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of samples that do not scatter at all
            found = stats.ttest_ind(
                second[enough], first[enough], axis=1, equal_var=False, nan_policy="omit"
            )
            interval = found.confidence_interval(CONFIDENCE)
        low[enough] = interval.low
        high[enough] = interval.high
        p[enough] = found.pvalue
    return n_first, n_second, mean, low, high, p


def table_logs(campaign: MeasuredCampaign, metric: str, place: int) -> np.ndarray:
    """Return logarithms (profiles, blocks) of one table; the control is the mean of its two visits."""
    data = statistics.logs(campaign.cube.values[metric][place])
    return np.concatenate([statistics.mean_of_visits(data[:1], data[-1:]), data[1:-1]])


def logs_of(campaign: MeasuredCampaign, metric: str, place: int, profiles: list[str]) -> np.ndarray:
    """Return logarithms (profiles, blocks) of one table, of these profiles in their order."""
    rows = [campaign.cube.profiles.index(name) for name in profiles]
    return table_logs(campaign, metric, place)[rows]


def is_tested(row: EffectRow) -> bool:
    """Return whether both campaigns have blocks enough for a test of an effect."""
    return min(row["n_baseline"], row["n"]) >= FEWEST_BLOCKS


def _effects(
    names: list[str], first: np.ndarray, second: np.ndarray, matters: float
) -> list[EffectRow]:
    """Return the rows of effects; row 0 of both is the control.

    The verdict is what the interval says alone; :func:`_judge` fills in what the test shows.
    """
    n_first, n_second, mean, low, high, p = welch(first[1:] - first[:1], second[1:] - second[:1])
    columns = (
        n_first.tolist(),
        n_second.tolist(),
        ratios(mean),
        ratios(low),
        ratios(high),
        shortened(p),
        np.where(is_same(low, high, matters), "same", "unknown").tolist(),
    )
    return [
        {
            "profile": name,
            "n_baseline": n_first,
            "n": n_second,
            "ratio": ratio,
            "low": low,
            "high": high,
            "p": p,
            "p_holm": None,
            "significant": False,
            "verdict": verdict,
            "regression": False,
        }
        for name, n_first, n_second, ratio, low, high, p, verdict in zip(names[1:], *columns)
        if ratio is not None
    ]


def _values(names: list[str], first: np.ndarray, second: np.ndarray) -> list[ValueRow]:
    """Return the rows of values, of what both campaigns measured."""
    counts = [(~np.isnan(sample)).sum(axis=1) for sample in (first, second)]
    means = [
        np.where(np.isnan(sample), 0.0, sample).sum(axis=1) / np.maximum(n, 1)
        for sample, n in zip((first, second), counts)
    ]
    columns = *(n.tolist() for n in counts), *map(ratios, means), ratios(means[1] - means[0])
    return [
        {
            "profile": name,
            "n_baseline": n_first,
            "n": n_second,
            "baseline": baseline,
            "value": value,
            "ratio": ratio,
        }
        for name, n_first, n_second, baseline, value, ratio in zip(names, *columns)
        if n_first and n_second
    ]


def _of_metric(
    metric: str,
    places: tuple[int, int],
    pair: CampaignPair,
    matters: float,
) -> MetricRows:
    """Return the comparison of one metric in one table; ``places`` are the table's in both
    campaigns.
    """
    profiles = [campaign.cube.profiles for campaign in pair]
    shared = [name for name in profiles[0] if name in profiles[1]]
    first, second = (
        logs_of(campaign, metric, place, shared) for campaign, place in zip(pair, places)
    )
    about = analysis_metrics.describe(metric, pair[0].cube.tables[places[0]].test)
    same_control = profiles[0][0] == profiles[1][0]
    return {
        "metric": about.metric,
        "label": about.label,
        "unit": about.unit,
        "better": about.better,
        "end": about.end,
        "values": _values(shared, first, second),
        "effects": _effects(shared, first, second, matters) if same_control else [],
    }


def is_compared(metric: str) -> bool:
    """Return whether a metric is compared between campaigns: what netperf measures, and what it
    costs.
    """
    return metric in ("throughput", "transactions", *SHOWN_LATENCIES) or metric.startswith(
        "service_demand"
    )


def places_of(campaign: MeasuredCampaign) -> dict[str, int]:
    """Return the place of each table in a campaign's arrays, by its id."""
    return {table.id: place for place, table in enumerate(campaign.cube.tables)}


def _shared_metrics(pair: CampaignPair) -> list[str]:
    here, there = (campaign.cube for campaign in pair)
    return [name for name in here.metrics() if name in there.values and is_compared(name)]


def _tables(pair: CampaignPair, matters: float) -> Iterator[TableRows]:
    """Yield the tables that both campaigns have."""
    here, there = (places_of(campaign) for campaign in pair)
    metrics = _shared_metrics(pair)
    for name in here:
        if name not in there:
            continue
        places = here[name], there[name]
        rows = [_of_metric(metric, places, pair, matters) for metric in metrics]
        table = pair[0].cube.tables[places[0]]
        yield {
            "id": name,
            "pair": table.pair,
            "path": table.path,
            "mtu": table.mtu,
            "workload": table.workload,
            "test": table.test,
            "metrics": [metric for metric in rows if metric["values"]],
        }


EffectPlace = tuple[ComparedCampaign, TableRows, MetricRows, EffectRow]


def rows_of(compared: Iterable[ComparedCampaign]) -> Iterator[EffectPlace]:
    """Yield all effects of a comparison, each with the campaign, table and metric that it belongs
    to.
    """
    for campaign in compared:
        for table in campaign["tables"]:
            for metric in table["metrics"]:
                for row in metric["effects"]:
                    yield campaign, table, metric, row


def _judge(compared: list[ComparedCampaign], threshold: float | None) -> list[str]:
    """Correct the p values of all effects together, judge each, and return the regressions as
    texts.
    """
    rows = list(rows_of(compared))
    values = [np.nan if row["p"] is None else row["p"] for *_where, row in rows]
    corrected = statistics.holm(values) if rows else np.empty(0)
    failures = []
    for (campaign, table, metric, row), p_holm in zip(rows, corrected):
        row["p_holm"] = shortened(p_holm)
        row["significant"] = bool(p_holm <= statistics.ALPHA)
        if row["significant"]:
            row["verdict"] = direction(metric["better"], row["ratio"])
        row["regression"] = (
            threshold is not None
            and row["verdict"] == "worse"
            and abs(row["ratio"] - 1) > threshold
        )
        if row["regression"]:
            end = f" {metric['end']}" if metric["end"] else ""
            failures.append(
                f"{campaign['campaign']}: {table['id']}, {metric['label']}{end}, effect of "
                f"{row['profile']}: {row['ratio']:.3f} of the baseline's"
            )
    return failures


def manifest_differences(campaigns: list[MeasuredCampaign]) -> list[ManifestDifference]:
    """Return what differs in the manifests, one value a campaign."""
    nodes = [nodes_of(campaign.manifest) for campaign in campaigns]
    different: list[ManifestDifference] = []
    for node in sorted(set(chain.from_iterable(nodes))):
        befores = [own.get(node, ({}, {}))[0] for own in nodes]
        for name in sorted(set(chain.from_iterable(befores))):
            values = [before.get(name) for before in befores]
            if len(set(values)) > 1 and not ALWAYS_DIFFERENT.search(name):
                different.append({"node": node, "name": name, "values": values})
    return different


def _check(baseline: str, compared: list[ComparedCampaign], threshold: float | None) -> None:
    for other in compared:
        metrics = list(chain.from_iterable(table["metrics"] for table in other["tables"]))
        if not metrics:
            raise InputError(
                f"{other['campaign']} has no table that {baseline} has too",
                "compare",
                "Compare campaigns with the same paths, MTUs, workloads and profiles.",
            )
        if threshold is not None and not any(metric["effects"] for metric in metrics):
            raise InputError(
                f"{other['campaign']} and {baseline} have no effect in common: nothing can be judged",
                "compare",
                "Compare campaigns with the same control and at least one more profile, or "
                "leave out the threshold.",
            )


def compare_pairs(
    pairs: Sequence[CampaignPair], matters: float, threshold: float | None = None
) -> JudgedPairs:
    """Return each pair compared, the first of it as the baseline, and the regressions as texts; one
    error rate for all pairs together. ``matters`` is a logarithm.
    """
    compared: list[ComparedCampaign] = [
        {"campaign": pair[1].name, "tables": list(_tables(pair, matters))} for pair in pairs
    ]
    return JudgedPairs(compared, _judge(compared, threshold))


def smallest_matters(campaigns: list[MeasuredCampaign]) -> float:
    """Return the smallest difference that matters in any of some campaigns, in per cent."""
    return min(matters_percent(campaign.plan) for campaign in campaigns)


def compare(
    campaigns: list[MeasuredCampaign], threshold: float | None = None
) -> CampaignComparison:
    """Return the comparison of campaigns with the first one, the baseline.

    ``threshold`` is a share such as 0.05: an effect that is shown to be worse, and by more than
    that, is a regression. What matters is what matters in each of the campaigns.
    """
    names = [campaign.name for campaign in campaigns]
    if len(campaigns) < 2 or len(set(names)) < len(names):
        raise InputError(
            "two campaigns or more are needed, each with a name of its own",
            ", ".join(names),
            "Give two results folders or more; the first is the baseline.",
        )
    percent = smallest_matters(campaigns)
    pairs = [(campaigns[0], other) for other in campaigns[1:]]
    compared, failures = compare_pairs(pairs, margin_of(percent), threshold)
    _check(names[0], compared, threshold)
    return {
        "schema": SCHEMA,
        "baseline": names[0],
        "threshold": threshold,
        "matters_percent": percent,
        "compared": compared,
        "manifest": manifest_differences(campaigns),
        "failures": failures,
        "passed": not failures,
        "note": NOTE,
    }
