# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two or more campaigns compared: after a kernel upgrade, with another NIC, another Open vSwitch. Pure.

Blocks of different campaigns are no pairs, so that a difference is tested by Welch's t on logarithms: of the values
of a profile, and of its effect against the control. The effect is paired inside its own campaign and so says more.
All that changed between the campaigns is in the first one: the day, the load, the temperature.
"""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils import _metrics, _statistics
from ansible_collections.offload.lab.plugins.plugin_utils._analysis import table_id
from ansible_collections.offload.lab.plugins.plugin_utils._cube import collect
from ansible_collections.offload.lab.plugins.plugin_utils._libraries import np, stats
from ansible_collections.offload.lab.plugins.plugin_utils._metric_analysis import ratios, shortened, verdict
from ansible_collections.offload.lab.plugins.plugin_utils._report_conditions import ALWAYS_DIFFERENT, nodes_of

SCHEMA = 1
NOTE = "campaigns are not measured in the same blocks: whatever changed between them is in the differences"


def load(plan, trials, manifest=None, label=None):
    """Return what :func:`compare` takes of one campaign; ``label`` tells it from others of the same name."""
    return {"name": label or plan["name"], "plan": plan, "manifest": manifest,
            "cube": collect(plan, trials, one_host=_metrics.one_host(manifest))}


def _logs(campaign, metric):
    """Return logarithms (tables, profiles, blocks); the control is the mean of its two visits."""
    data = _statistics.logs(campaign["cube"].values[metric])
    return np.concatenate([_statistics.mean_of_visits(data[:, :1], data[:, -1:]), data[:, 1:-1]], axis=1)


def welch(first, second):
    """Return (n first, n second, mean difference second − first, low, high, p) of two samples of logarithms.

    Below six values in either there is no interval and no test (NaN).
    """
    first, second = first[~np.isnan(first)], second[~np.isnan(second)]
    if not len(first) or not len(second):
        return len(first), len(second), *[float("nan")] * 4
    mean = second.mean() - first.mean()
    if min(len(first), len(second)) < _statistics.FEWEST_BLOCKS:
        return len(first), len(second), mean, *[float("nan")] * 3
    parts = [sample.var(ddof=1) / len(sample) for sample in (first, second)]
    error = np.sqrt(sum(parts))
    if error == 0:
        return len(first), len(second), mean, mean, mean, float(mean == 0)
    freedom = sum(parts) ** 2 / sum(part ** 2 / (len(sample) - 1) for part, sample in zip(parts, (first, second)))
    half = stats.t.ppf(0.5 + _statistics.CONFIDENCE / 2, freedom) * error
    return len(first), len(second), mean, mean - half, mean + half, 2 * stats.t.sf(abs(mean) / error, freedom)


def _rows(kind, samples, better, threshold):
    """Return the rows of one kind in one table; Holm is over them. ``samples`` is [(profile, first, second)]."""
    found = [(profile, *welch(first, second)) for profile, first, second in samples]
    corrected = _statistics.holm([row[-1] for row in found]) if found else []
    return [_row(kind, row, p_holm, better, threshold) for row, p_holm in zip(found, corrected)]


def _row(kind, row, p_holm, better, threshold):
    profile, n_first, n_second, mean, low, high, p = row
    significant = bool(p_holm <= _statistics.ALPHA)
    ratio = ratios(mean)
    judged = verdict(better, significant, ratio, not np.isnan(p))
    size = abs(ratio - 1) if ratio is not None else 0.0
    return {"kind": kind, "profile": profile, "n_baseline": n_first, "n": n_second, "ratio": ratio, "low": ratios(low),
            "high": ratios(high), "p": shortened(p), "p_holm": shortened(p_holm), "significant": significant,
            "verdict": judged, "regression": threshold is not None and judged == "worse" and size > threshold}


def _of_metric(metric, places, pair, threshold):
    """Return the comparison of one metric in one table; ``places`` are the table's in both campaigns."""
    first, second = (_logs(campaign, metric)[place] for campaign, place in zip(pair, places))
    names = [campaign["cube"].profiles for campaign in pair]
    shared = [(name, names[0].index(name), names[1].index(name)) for name in names[0] if name in names[1]]
    about = _metrics.describe(metric, pair[0]["cube"].tables[places[0]]["test"])
    values = [(name, first[one], second[other]) for name, one, other in shared]
    rows = _rows("value", values, about["better"], threshold)
    if names[0][0] == names[1][0]:  # the same control
        effects = [(name, first[one] - first[0], second[other] - second[0]) for name, one, other in shared if one]
        rows += _rows("effect", effects, about["better"], threshold)
    return dict(about, rows=[row for row in rows if row["ratio"] is not None])


def _tables(pair, threshold):
    ids = [{table_id(table): place for place, table in enumerate(campaign["cube"].tables)} for campaign in pair]
    metrics = [name for name in pair[0]["cube"].metrics() if name in pair[1]["cube"].values
               and (name in ("throughput", "transactions") or name.startswith(("service_demand", "latency")))]
    for name in (name for name in ids[0] if name in ids[1]):
        found = [_of_metric(metric, (ids[0][name], ids[1][name]), pair, threshold) for metric in metrics]
        yield {"id": name, **pair[0]["cube"].tables[ids[0][name]],
               "metrics": [metric for metric in found if metric["rows"]]}


def manifest_differences(campaigns):
    """Return ``[{"node", "name", "values"}]``: what the manifests say differently, one value a campaign."""
    nodes = [nodes_of(campaign["manifest"]) for campaign in campaigns]
    found = []
    for node in sorted({name for own in nodes for name in own}):
        befores = [own.get(node, ({}, {}))[0] for own in nodes]
        for name in sorted({name for before in befores for name in before if not ALWAYS_DIFFERENT.search(name)}):
            values = [before.get(name) for before in befores]
            if len(set(values)) > 1:
                found.append({"node": node, "name": name, "values": values})
    return found


def compare(campaigns, threshold=None):
    """Return the comparison of campaigns that :func:`load` returned with the first one, the baseline.

    ``threshold`` is a share such as 0.05: a row that is shown to be worse by more than that is a regression.
    """
    names = [campaign["name"] for campaign in campaigns]
    if len(campaigns) < 2 or len(set(names)) < len(names):
        raise InputError("two campaigns or more are needed, each with a name of its own", ", ".join(names),
                         "Give two results folders or more; the first is the baseline.")
    compared = [{"campaign": other["name"], "tables": list(_tables((campaigns[0], other), threshold))}
                for other in campaigns[1:]]
    for other in compared:
        if not any(table["metrics"] for table in other["tables"]):
            raise InputError(f"{other['campaign']} has no table that {names[0]} has too", "compare",
                             "Compare campaigns with the same paths, MTUs, workloads and profiles.")
    failures = [f"{other['campaign']}: {table['id']}, {metric['label']}, {row['profile']} ({row['kind']}): "
                f"ratio {row['ratio']:.3f}" for other in compared for table in other["tables"]
                for metric in table["metrics"] for row in metric["rows"] if row["regression"]]
    return {"schema": SCHEMA, "baseline": names[0], "threshold": threshold, "compared": compared,
            "manifest": manifest_differences(campaigns), "failures": failures, "passed": not failures, "note": NOTE}
