# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's section "as in the study": medians in the units of the published study, one table a
path and MTU. Pure.

A campaign that repeats a study names it with ``study``; :data:`COLUMNS` says what that study
prints.
"""

from __future__ import annotations

from typing import Any, Collection, Iterable, Optional

from .._analysis.campaign_verdicts import unsupported_profiles
from .._campaign.nouns import Plan
from .._figures import numbers as text

MBPS = ("throughput", "Mbit/s", "throughput", None)
CHANGE = ("change", "%", "throughput", "percent")
GAIN = ("change", "Mbit/s", "throughput", "difference")
DEMAND = ("service demand", "µs/KB", "service_demand", None)
DEMAND_CHANGE = ("its change", "%", "service_demand", "percent")
USER, SYSTEM, SOFTIRQ = (
    ("CPU " + kind, "%", "cpu_" + kind, None) for kind in ("user", "system", "softirq")
)
# (title, unit, metric, what is printed of it: the median, or its difference to the control)
COLUMNS = {
    "hardware_offloads": (MBPS, CHANGE, USER, SYSTEM),
    "tso_ports": (MBPS, CHANGE, GAIN, DEMAND, DEMAND_CHANGE),
    "vxlan_rss": (MBPS, CHANGE, SOFTIRQ, DEMAND),
    "ovs_vxlan_offload": (MBPS, CHANGE, DEMAND, DEMAND_CHANGE),
    "vxlan_linux_bridge": (MBPS, CHANGE, DEMAND, DEMAND_CHANGE),
}
ENDS = ("combined", "client", "server")
NONE, SAME = "–", "~"


Column = tuple[str, str, str, Optional[str]]
Metrics = dict[str, dict[Optional[str], dict[str, Any]]]  # {metric: {end: metric of the analysis}}


def _metrics(table: dict[str, Any]) -> Metrics:
    """Return {metric: {end: metric of the analysis}}; throughput has the end None."""
    found: Metrics = {}
    for metric in table["metrics"]:
        name = metric["metric"]
        for end in ENDS:
            name = name.replace(f"_{end}", "")
        found.setdefault(name, {})[metric["end"]] = metric
    return found


def _number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _signed(value: float, digits: int) -> str:
    return f"{value:+,.{digits}f}"


def _cell(metric: dict[str, Any], profile: str, what: str | None) -> str:
    """Return what is printed of one profile; the control has no change."""
    control = metric["control"]
    if profile == control["profile"]:
        return _number(control["median"]) if what is None else NONE
    row = next((row for row in metric["rows"] if row["profile"] == profile), None)
    if row is None or row.get("median") is None:
        return NONE
    if what is None:
        return _number(row["median"])
    if row["state"] == "same":
        return SAME
    unknown = "?" if row["state"] == "unknown" else ""
    if what == "percent":
        return NONE if row.get("ratio") is None else _signed((row["ratio"] - 1) * 100, 1) + unknown
    return (
        NONE
        if control["median"] is None
        else _signed(row["median"] - control["median"], 2) + unknown
    )


def _heads(
    columns: Iterable[Column], metrics: Metrics
) -> list[tuple[str, dict[str, Any], str | None]]:
    """Return ``[(head, metric, what)]``: a quantity of both ends has a column for each of them."""
    heads = []
    for title, unit, name, what in columns:
        for end, metric in sorted(
            metrics.get(name, {}).items(), key=lambda item: ENDS.index(item[0] or "combined")
        ):
            place = "" if end in (None, "combined") else f" {end}"
            heads.append((f"{title}{place}, {unit}", metric, what))
    return heads


def _table(
    study: str, group: list[dict[str, Any]], control: str, impossible: Collection[str]
) -> dict[str, Any]:
    rows: list[tuple[str, str, dict[str, str]]] = []
    head = ["Workload", "Profile"]
    for table in group:
        heads = _heads(COLUMNS[study], _metrics(table))
        head += [title for title, _metric, _what in heads if title not in head]
        throughput = next((metric for title, metric, _what in heads), None)
        profiles = [control] + [row["profile"] for row in throughput["rows"]] if throughput else []
        for profile in profiles:
            if profile in impossible:
                rows.append((table["workload"], f"{profile}: unsupported", {}))
                continue
            cells = {title: _cell(metric, profile, what) for title, metric, what in heads}
            rows.append((table["workload"], profile, cells))
    place = group[0]
    mtu = f"MTU {place['mtu']}" if place["mtu"] else None
    return {
        "caption": " · ".join(filter(None, (place["path"], mtu, place.get("pair")))),
        "head": head,
        "text": head[:2],
        "rows": [
            {"cells": [workload, profile] + [cells.get(title, NONE) for title in head[2:]]}
            for workload, profile, cells in rows
        ],
    }


def section(plan: Plan, analysis: dict[str, Any]) -> dict[str, Any] | None:
    """Return ``{"note", "tables"}`` of a campaign that repeats a study, or None."""
    study = plan.get("study")
    if not study:
        return None
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for table in analysis["tables"]:
        groups.setdefault((table["mtu"], table["path"], table.get("pair")), []).append(table)
    note = (
        f"Medians of {text.count(plan['blocks'], 'block')} in the units of the study; changes are to "
        f"{analysis['control']}, paired inside blocks. {SAME}: no difference that matters. ?: not known."
    )
    if plan["blocks"] < 6:
        note += " So few blocks carry no test: a change here may be noise, and is no finding."
    untestable = [
        f"{name} was not varied: {reason}."
        for name, reason in (plan.get("untestable") or {}).items()
    ]
    impossible = unsupported_profiles(analysis)
    untestable += [f"{name} is unsupported here: {reason}." for name, reason in impossible.items()]
    return {
        "note": " ".join([note, *untestable]),
        "tables": [
            _table(study, group, analysis["control"], impossible)
            for _key, group in sorted(
                groups.items(), key=lambda item: [str(part) for part in item[0]]
            )
        ],
    }
