# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An analysis as OpenMetrics text: metrics.prom, for Prometheus' node_exporter (its textfile
collector) and Grafana.
"""

from __future__ import annotations

from typing import Any, Iterator

from .._analysis.unfinished import claimed

Sample = tuple[str, dict[str, Any], float]
FAMILIES = {
    "offload_lab_value": "Median of a profile, in the unit of the label",
    "offload_lab_effect_ratio": "A profile against the control",
    "offload_lab_effect_low": "Lower end of the effect's 95 % interval",
    "offload_lab_effect_high": "Upper end of the effect's 95 % interval",
    "offload_lab_effect_state": "1 for the state of a comparison: better, worse, same or unknown",
    "offload_lab_trials": "Trials of the campaign, by what became of them",
    "offload_lab_failed_share": "Share of a profile's trials that failed or received nothing",
}
ENDS = {
    "ratio": "offload_lab_effect_ratio",
    "low": "offload_lab_effect_low",
    "high": "offload_lab_effect_high",
}


def _samples(analysis: dict[str, Any]) -> Iterator[Sample]:
    campaign = {"campaign": analysis["campaign"]}
    for outcome, number in analysis["trials"].items():
        if isinstance(number, int):
            yield "offload_lab_trials", {**campaign, "outcome": outcome}, number
    for row in analysis["failures"]:
        if row["share"] is not None:
            yield "offload_lab_failed_share", {**campaign, "profile": row["profile"]}, row["share"]
    for table in claimed(analysis):
        where = {**campaign, **{key: table[key] for key in ("pair", "path", "mtu", "workload")}}
        for metric in table["metrics"]:
            if metric["compared"]:
                yield from _of_metric({**where, "metric": metric["metric"]}, metric)


def _of_metric(where: dict[str, Any], metric: dict[str, Any]) -> Iterator[Sample]:
    for row in (metric["control"], *metric["rows"]):
        labels = {**where, "profile": row["profile"]}
        if row["median"] is not None:
            yield "offload_lab_value", {**labels, "unit": metric["unit"]}, row["median"]
        for key, family in ENDS.items():
            if row.get(key) is not None:
                yield family, labels, row[key]
        if row.get("state"):
            yield "offload_lab_effect_state", {**labels, "state": row["state"]}, 1


def _escaped(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def openmetrics(analysis: dict[str, Any]) -> str:
    """Return the text. It has no times: Prometheus takes that of its scrape."""
    found: dict[str, list[str]] = {}
    for family, labels, value in _samples(analysis):
        pairs = ",".join(
            f'{name}="{_escaped(text)}"' for name, text in labels.items() if text is not None
        )
        found.setdefault(family, []).append(f"{family}{{{pairs}}} {value}")
    lines = []
    for family, about in FAMILIES.items():
        if family in found:
            lines += [f"# TYPE {family} gauge", f"# HELP {family} {about}", *found[family]]
    return "\n".join([*lines, "# EOF"]) + "\n"
