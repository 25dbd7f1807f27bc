# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From analysis.json to what the report shows. The only file of the report that knows the shape of
the analysis.

What it makes is in _figures/nouns.py and nouns.py. Of a search the tables are those of its
confirmation, once there is one: what it visited before claims nothing. Attribution, recommendation
and failures are passed on as they are: see schemas/analysis.json and report/advice.py.
"""

from __future__ import annotations

from itertools import chain
from typing import Collection, Sequence

from .._analysis.campaign_verdicts import unsupported_profiles
from .._analysis.metrics import MAIN
from .._analysis.nouns import (
    AnalysedMetric,
    AnalysedTable,
    Analysis,
    ComparedEffect,
    InteractionEffect,
    Spread,
)
from .._analysis.unfinished import claimed
from .._campaign.profiles import differing
from .._figures import numbers as text
from .._figures.nouns import EffectTable, MaybeMedians, Medians, Quantity, QuantityRow
from .nouns import Findings
from .phrases import ENDS, set_names

LABELS = {"transactions": "transaction rate"}
SHOWN_LATENCIES = ("latency_mean", "latency_p99")


def _label(metric: AnalysedMetric) -> str:
    return LABELS.get(metric["metric"], metric["label"]) + ENDS.get(metric["end"] or "", "")


def _shown(metric: AnalysedMetric) -> bool:
    """Effects on CPU shares say little without the throughput: service demand stands for them."""
    name = metric["metric"]
    return metric["compared"] and (
        name in MAIN or name.startswith("service_demand") or name in SHOWN_LATENCIES
    )


NOT_MEASURED: Spread = {"n": 0, "median": None, "q1": None, "q3": None}  # of no single profile


def _row(row: ComparedEffect, profile: str, label: str, spread: Spread) -> QuantityRow:
    return {
        "profile": profile,
        "label": label,
        "n": row["n"],
        "median": spread["median"],
        "q1": spread["q1"],
        "q3": spread["q3"],
        "ratio": row["ratio"],
        "low": row["low"],
        "high": row["high"],
        "p": row["p_report"],
        "verdict": row["state"] or "unknown",
        "needs": row["needs"],
        "blocks": row.get("differences"),
    }


def _quantity(metric: AnalysedMetric, rows: list[QuantityRow]) -> Quantity:
    return {
        "name": metric["metric"],
        "group": "main" if metric["metric"] in MAIN else metric["metric"],
        "label": _label(metric),
        "unit": metric["unit"],
        "better": metric["better"] or "",
        "blocks": max([row["n"] for row in rows] or [0]),
        "control": metric["control"]["profile"],
        "control_row": metric["control"],
        "noise_floor": metric.get("noise_floor"),
        "smallest": metric.get("smallest_detectable"),
        "rows": rows,
    }


def together(row: InteractionEffect) -> str:
    """Return the name of an interaction, and those that a screen cannot separate from it."""
    return " or ".join(" × ".join(pair) for pair in [row["factors"], *row.get("aliases", ())])


def _main_effects(metric: AnalysedMetric) -> Quantity:
    """Return what each setting does on average over all others; its control is no profile."""
    rows = []
    for row in metric["main_effects"]:
        label = f"{row['factor']}={row['level']}"
        rows.append(_row(row, label, label, NOT_MEASURED))
    return {
        **_quantity(metric, rows),
        "control": "the factor's first level",
        "control_row": None,
    }


def _interactions(metric: AnalysedMetric) -> Quantity:
    """Return what pairs of settings do beyond what each does alone."""
    rows = []
    for row in metric.get("interactions") or ():
        label = together(row)
        rows.append(_row(row, label, label, NOT_MEASURED))
    return {
        **_quantity(metric, rows),
        "name": "interactions",
        "group": "interactions",
        "control_row": None,
        "label": f"interactions, {_label(metric)}",
        "control": "no interaction",
    }


def _of_profiles(metric: AnalysedMetric, rows: list[QuantityRow]) -> Quantity:
    """Return the profiles that main effects and interactions rest on."""
    return {
        **_quantity(metric, rows),
        "name": "profiles",
        "group": "profiles",
        "label": f"{_label(metric)} of each profile",
    }


def _quantities(
    metrics: list[AnalysedMetric], left_out: Collection[str], names: dict[str, str]
) -> list[Quantity]:
    """Return the quantities of one table.

    A full factorial shows its main effects first, then what they rest on.
    """
    found = []
    after = []
    for metric in metrics:
        compared = [row for row in metric["rows"] if row["profile"] not in left_out]
        rows = [_row(row, row["profile"], names[row["profile"]], row) for row in compared]
        if not metric.get("main_effects"):
            found.append(_quantity(metric, rows))
            continue
        found.append(_main_effects(metric))
        if metric["metric"] in MAIN:
            after += [_interactions(metric), _of_profiles(metric, rows)]
    return found + [quantity for quantity in after if quantity["rows"]]


def _cpu(table: AnalysedTable, control: str) -> dict[str, dict[str, MaybeMedians]]:
    """Return ``{end: {kind: {profile: median per cent}}}`` of one table."""
    found: dict[str, dict[str, MaybeMedians]] = {}
    for metric in table["metrics"]:
        if metric["metric"].startswith("cpu_"):
            kind = metric["metric"].rsplit("_", 1)[1]
            medians: MaybeMedians = {row["profile"]: row["median"] for row in metric["rows"]}
            medians[control] = metric["control"]["median"]
            found.setdefault(metric["end"] or "", {})[kind] = medians
    return found


def _notes(metrics: list[AnalysedMetric], said: Collection[str]) -> list[str]:
    """Return the warnings of a table's metrics; what is said of all of them, or of the campaign, is
    not said again.
    """
    labels: dict[str, list[str]] = {}  # of the metrics that each warning is of
    for metric in metrics:
        for warning in dict.fromkeys(metric.get("warnings") or ()):
            labels.setdefault(warning, []).append(_label(metric))
    notes = []
    for warning, names in labels.items():
        if warning in said:
            continue
        start = "" if len(names) == len(metrics) else f"{', '.join(names)}: "
        notes.append(f"{start}{warning}.")
    return notes


def _not_compared(unsupported: dict[str, str]) -> list[str]:
    """Return a warning for each reason why profiles are not what their names say: control, or only
    what they need.
    """
    profiles: dict[str, list[str]] = {}
    for profile, reason in unsupported.items():
        profiles.setdefault(reason, []).append(profile)
    return [
        f"no device takes {text.listed(names)} ({reason}): measured without it, and not compared"
        for reason, names in profiles.items()
    ]


def _medians(
    metrics: list[AnalysedMetric], left_out: Collection[str], names: dict[str, str]
) -> dict[str, Medians]:
    """Return ``{metric: {name: median}}``, the control first."""
    medians = {}
    for metric in filter(_shown, metrics):
        compared = [row for row in metric["rows"] if row["profile"] not in left_out]
        rows = [metric["control"], *compared]
        medians[metric["metric"]] = {
            names[row["profile"]]: row["median"] for row in rows if row["median"] is not None
        }
    return medians


def _add_visited(tables: list[EffectTable], visited: dict[str, dict[str, Medians]]) -> None:
    """Add to the tables of a search's confirmation the medians of all sets, by the table's id."""
    for table in tables:
        for metric, medians in visited.get(table["id"], {}).items():
            table["medians"][metric] = {**medians, **table["medians"].get(metric, {})}


def _table(
    table: AnalysedTable,
    analysis: Analysis,
    left_out: Collection[str],
    names: dict[str, str],
) -> EffectTable:
    metrics = [metric for metric in table["metrics"] if _shown(metric)]
    return {
        "id": table["id"],
        "pair": table["pair"],
        "path": table["path"],
        "mtu": table["mtu"],
        "workload": table["workload"],
        "test": table["test"],
        "saturated": table["saturated"],
        "failures": table["failures"],
        "notes": _notes(metrics, analysis["warnings"]),
        "cpu": _cpu(table, analysis["control"]),
        "medians": _medians(metrics, left_out, names),
        "quantities": _quantities(metrics, left_out, names),
    }


def _common_notes(tables: list[EffectTable]) -> list[str]:
    """Take out of the tables and return what is said of each of them: it belongs to the campaign."""
    measured = [table for table in tables if table["quantities"]]
    if len(measured) < 2:
        return []
    common = list(measured[0]["notes"])
    for table in measured:
        common = [note for note in common if note in table["notes"]]
    for table in measured:
        table["notes"] = [note for note in table["notes"] if note not in common]
    return common


def _changes_fewest(analysis: Analysis) -> bool:
    """Return whether no set that was not shown to differ from the recommended one changes fewer
    settings.
    """
    profiles = analysis["profiles"]
    wanted = analysis["recommendation"]
    changed = {
        name: len(differing(levels, profiles[analysis["control"]]))
        for name, levels in profiles.items()
    }
    return all(
        changed[name] >= changed[wanted["name"]]
        for name in wanted["not_told_apart"]
        if wanted["name"]
    )


def _damaged(problems: Sequence[str]) -> list[str]:
    if not problems:
        return []
    return [f"damaged lines in trials.jsonl, {len(problems)} of them: {'; '.join(problems[:3])}"]


def findings_of(analysis: Analysis, problems: Sequence[str] = ()) -> Findings:
    """Return an analysis as the report shows it; ``problems`` are texts on lines of trials.jsonl
    that are damaged.
    """
    unsupported = unsupported_profiles(analysis)
    nominated = analysis.get("nominated", ())
    names = set_names(analysis["factors"], analysis["profiles"], analysis["search"], nominated)
    tables = [_table(table, analysis, unsupported, names) for table in claimed(analysis)]
    if analysis["search"]:
        _add_visited(
            tables,
            {own["id"]: _medians(own["metrics"], unsupported, names) for own in analysis["tables"]},
        )
    warnings = [*analysis["warnings"], *_not_compared(unsupported), *_common_notes(tables)]
    return {
        "tables": tables,
        "names": names,
        "changes_fewest": _changes_fewest(analysis),
        "searching": bool(analysis["search"]) and claimed(analysis) is analysis["tables"],
        "warnings": warnings + _damaged(problems),
        "nominated": list(nominated),
        "failed_in": list(chain.from_iterable(table["failures"] for table in analysis["tables"])),
        "matters": analysis["methods"]["matters_percent"],
        "one_host": analysis["methods"]["one_host"],
        "attribution": analysis["attribution"],
        "recommendation": analysis["recommendation"],
        "failures": analysis["failures"],
        "confirmation": analysis["confirmation"],
        "search": analysis["search"],
        "unfinished": analysis["unfinished"],
        "error_rate": analysis["error_rate"],
        "scatter": analysis["scatter"],
        "untestable": analysis["untestable"],
        "verdicts": analysis["verdicts"],
    }
