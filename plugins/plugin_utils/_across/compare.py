# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two or more campaigns compared: after a kernel upgrade, with another NIC, another Open vSwitch.
Pure.

Only effects are judged: a profile against the control, paired in the blocks of its campaign. A
slower day or a busier machine is in both and cancels out. Welch's t on logarithms compares each
effect between the campaigns. Holm's correction covers all effects of all tables, metrics and
campaigns: one error rate for the whole gate. If the test shows no difference, the interval decides
between "no difference that matters" (same) and "not known" (unknown). Values (Mbit/s) are
information: they contain every change between the campaigns.
"""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Iterable, Iterator, NamedTuple, Sequence

from ...module_utils._base.errors import InputError
from .._analysis import metrics as analysis_metrics
from .._analysis.metrics import matters_percent
from .._statistics import effects as statistics
from .._statistics.libraries import np, stats
from .._statistics.rules import CONFIDENCE, FEWEST_BLOCKS
from .._statistics.states import is_same, margin_of
from .._statistics.text import ratios, shortened
from .campaigns import (
    MeasuredCampaign,
    check_names,
    is_compared,
    logs_of,
    manifest_differences,
    read_campaigns,
    table_indexes,
)
from .rows import (
    CampaignComparison,
    ComparedCampaign,
    EffectRow,
    MetricRows,
    TableRows,
    ValueRow,
    direction,
)

SCHEMA = 2
NOTE = (
    "Effects against the control are judged, each paired inside its own campaign. Values are information: the day, "
    "the load and the temperature differ between campaigns"
)


CampaignPair = tuple[MeasuredCampaign, MeasuredCampaign]


class JudgedPairs(NamedTuple):
    """Pairs of campaigns compared, and the regressions as texts."""

    compared: list[ComparedCampaign]
    failures: list[str]


def welch(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return (n first, n second, mean difference second − first, low, high, p) of effects (effects,
    blocks).

    NaN is a block that was not measured. Below :data:`FEWEST_BLOCKS` in either there is no interval
    and no test (NaN).
    """
    n_first, n_second = ((~np.isnan(sample)).sum(axis=1) for sample in (first, second))
    mean, low, high, p = (np.full(len(first), np.nan) for _column in range(4))
    measured = np.minimum(n_first, n_second) > 0
    enough = np.minimum(n_first, n_second) >= FEWEST_BLOCKS
    mean[measured] = np.nanmean(second[measured], axis=1) - np.nanmean(first[measured], axis=1)
    if enough.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # samples without any scatter
            test = stats.ttest_ind(
                second[enough], first[enough], axis=1, equal_var=False, nan_policy="omit"
            )
            interval = test.confidence_interval(CONFIDENCE)
        low[enough] = interval.low
        high[enough] = interval.high
        p[enough] = test.pvalue
    return n_first, n_second, mean, low, high, p


def is_tested(row: EffectRow) -> bool:
    """Return whether both campaigns have blocks enough for a test of an effect."""
    return min(row["n_baseline"], row["n"]) >= FEWEST_BLOCKS


def _effects(
    names: list[str], first: np.ndarray, second: np.ndarray, matters: float
) -> list[EffectRow]:
    """Return the rows of effects; row 0 of both is the control.

    The interval alone gives the verdict here; :func:`_judge` fills in what the test shows.
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
    """Return the rows of the values that both campaigns measured."""
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
    indexes: tuple[int, int],
    pair: CampaignPair,
    matters: float,
) -> MetricRows:
    """Return the comparison of one metric in one table, by the table's index in each campaign."""
    profiles = [campaign.cube.profiles for campaign in pair]
    shared = [name for name in profiles[0] if name in profiles[1]]
    first, second = (
        logs_of(campaign, metric, index, shared) for campaign, index in zip(pair, indexes)
    )
    about = analysis_metrics.describe(metric, pair[0].cube.tables[indexes[0]].test)
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


def _shared_metrics(pair: CampaignPair) -> list[str]:
    baseline, other = (campaign.cube for campaign in pair)
    return [name for name in baseline.metrics() if name in other.values and is_compared(name)]


def _tables(pair: CampaignPair, matters: float) -> Iterator[TableRows]:
    """Yield the tables that both campaigns have."""
    baseline, other = (table_indexes(campaign) for campaign in pair)
    metrics = _shared_metrics(pair)
    for name in baseline:
        if name not in other:
            continue
        indexes = baseline[name], other[name]
        rows = [_of_metric(metric, indexes, pair, matters) for metric in metrics]
        table = pair[0].cube.tables[indexes[0]]
        yield {
            "id": name,
            "pair": table.pair,
            "path": table.path,
            "mtu": table.mtu,
            "workload": table.workload,
            "test": table.test,
            "metrics": [metric for metric in rows if metric["values"]],
        }


LocatedEffect = tuple[ComparedCampaign, TableRows, MetricRows, EffectRow]


def rows_of(compared: Iterable[ComparedCampaign]) -> Iterator[LocatedEffect]:
    """Yield all effects of a comparison, each with its campaign, table and metric."""
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
    """Return the pairs compared, each first campaign as the baseline, and the regressions as texts.

    All pairs together have one error rate. ``matters`` is a logarithm.
    """
    compared: list[ComparedCampaign] = [
        {"campaign": pair[1].name, "tables": list(_tables(pair, matters))} for pair in pairs
    ]
    return JudgedPairs(compared, _judge(compared, threshold))


def smallest_matters(campaigns: list[MeasuredCampaign]) -> float:
    """Return the smallest difference that matters in any of the campaigns, in per cent."""
    return min(matters_percent(campaign.plan) for campaign in campaigns)


def compare(
    campaigns: list[MeasuredCampaign], threshold: float | None = None
) -> CampaignComparison:
    """Return the comparison of campaigns with the first one, the baseline.

    ``threshold`` is a share such as 0.05. An effect that is shown to be worse by more than the
    threshold is a regression.
    """
    check_names(campaigns, "Give two results folders or more; the first is the baseline.")
    baseline = campaigns[0].name
    percent = smallest_matters(campaigns)
    pairs = [(campaigns[0], other) for other in campaigns[1:]]
    compared, failures = compare_pairs(pairs, margin_of(percent), threshold)
    _check(baseline, compared, threshold)
    return {
        "schema": SCHEMA,
        "baseline": baseline,
        "threshold": threshold,
        "matters_percent": percent,
        "compared": compared,
        "manifest": manifest_differences(campaigns),
        "failures": failures,
        "passed": not failures,
        "note": NOTE,
    }


def compare_folders(folders: list[str], threshold: float | None = None) -> CampaignComparison:
    """Return the comparison of results folders; the first is the baseline."""
    if len(folders) < 2:
        raise InputError(
            "two results folders or more are needed", "results", "Give the baseline first."
        )
    return compare(read_campaigns(folders), threshold)
