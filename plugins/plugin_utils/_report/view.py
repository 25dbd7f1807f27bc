# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From analysis.json to what the report shows. The only file of the report that knows the shape of
the analysis.

A table has ``id``, ``pair``, ``path``, ``mtu``, ``workload``, ``test``, ``notes``, ``cpu`` and
``quantities``, the main one first. A quantity has ``name``, ``group``, ``label``, ``unit``,
``better``, ``blocks``, ``control`` (what its ratios are to), ``control_row`` (None where it has no
median), ``noise_floor`` and ``smallest`` (ratios above 1, or None) and ``rows`` of ``profile``,
``label``, ``n``, ``median``, ``q1``, ``q3``, ``ratio``, ``low``, ``high``, ``p``, ``verdict`` (the
state of the comparison), ``needs`` and ``blocks`` (the ratio of each block). Of a search they are
the tables of its confirmation, once there is one: what it visited before claims nothing. ``names``
is how each profile is called. Attribution, recommendation and failures are passed on as they are:
see schemas/analysis.json and report/advice.py.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Collection, Sequence

from .._analysis.campaign_verdicts import unsupported_profiles
from .._analysis.unfinished import claimed
from .._campaign.profiles import differing
from .._figures import numbers as text
from .phrases import set_names

MAIN = ("throughput", "transactions")
LABELS = {"transactions": "transaction rate"}
ENDS = {"client": " at the client", "server": " at the server", "combined": " of both ends"}
SHOWN_LATENCIES = ("latency_mean", "latency_p99")


def _label(metric: dict[str, Any]) -> str:
    return LABELS.get(metric["metric"], metric["label"]) + ENDS.get(metric["end"], "")


def _shown(metric: dict[str, Any]) -> bool:
    """Effects on CPU shares say little without the throughput: service demand stands for them."""
    name = metric["metric"]
    return metric["compared"] and (
        name in MAIN or name.startswith("service_demand") or name in SHOWN_LATENCIES
    )


def _row(row: dict[str, Any], label: str) -> dict[str, Any]:
    return {
        "profile": row.get("profile") or label,
        "label": label,
        "n": row["n"],
        "median": row.get("median"),
        "q1": row.get("q1"),
        "q3": row.get("q3"),
        "ratio": row["ratio"],
        "low": row["low"],
        "high": row["high"],
        "p": row["p_report"],
        "verdict": row["state"] or "unknown",
        "needs": row["needs"],
        "blocks": row.get("differences"),
    }


def _quantity(metric: dict[str, Any], rows: list[dict[str, Any]], **other: Any) -> dict[str, Any]:
    found = {
        "name": metric["metric"],
        "group": "main" if metric["metric"] in MAIN else metric["metric"],
        "label": _label(metric),
        "unit": metric["unit"],
        "better": metric["better"],
        "blocks": max([row["n"] for row in rows] or [0]),
        "control": metric["control"]["profile"],
        "control_row": metric["control"],
        "noise_floor": metric.get("noise_floor"),
        "smallest": metric.get("smallest_detectable"),
        "rows": rows,
    }
    found.update(other)
    return found


def together(row: dict[str, Any]) -> str:
    """Return the name of an interaction, and those that a screen cannot separate from it."""
    return " or ".join(" × ".join(pair) for pair in [row["factors"], *row.get("aliases", ())])


def _quantities(
    metrics: list[dict[str, Any]], left_out: Collection[str], names: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the quantities of one table.

    A full factorial shows its main effects first, then what they rest on.
    """
    found, after = [], []
    for metric in metrics:
        rows = [
            _row(row, names[row["profile"]])
            for row in metric["rows"]
            if row["profile"] not in left_out
        ]
        if not metric.get("main_effects"):
            found.append(_quantity(metric, rows))
            continue
        main = [_row(row, "{factor}={level}".format(**row)) for row in metric["main_effects"]]
        found.append(_quantity(metric, main, control="the factor's first level", control_row=None))
        if metric["metric"] in MAIN:
            both = [_row(row, together(row)) for row in metric.get("interactions") or ()]
            after.append(
                _quantity(
                    metric,
                    both,
                    name="interactions",
                    group="interactions",
                    control_row=None,
                    label=f"interactions, {_label(metric)}",
                    control="no interaction",
                )
            )
            after.append(
                _quantity(
                    metric,
                    rows,
                    name="profiles",
                    group="profiles",
                    label=f"{_label(metric)} of each profile",
                )
            )
    return found + [quantity for quantity in after if quantity["rows"]]


def _cpu(table: dict[str, Any], control: str) -> dict[str, dict[str, dict[str, float]]]:
    """Return ``{end: {kind: {profile: median per cent}}}`` of one table."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for metric in table["metrics"]:
        if metric["metric"].startswith("cpu_"):
            kind = metric["metric"].rsplit("_", 1)[1]
            medians = dict((row["profile"], row["median"]) for row in metric["rows"])
            medians[control] = metric["control"]["median"]
            found.setdefault(metric["end"], {})[kind] = medians
    return found


def _notes(metrics: list[dict[str, Any]], said: Collection[str]) -> list[str]:
    """Return the warnings of a table's metrics; what is said of all of them, or of the campaign, is
    not said again.
    """
    notes = []
    for warning in dict.fromkeys(
        note for metric in metrics for note in metric.get("warnings") or ()
    ):
        names = [_label(metric) for metric in metrics if warning in (metric.get("warnings") or ())]
        if warning not in said:
            notes.append(
                ("" if len(names) == len(metrics) else ", ".join(names) + ": ") + warning + "."
            )
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
    metrics: list[dict[str, Any]], left_out: Collection[str], names: dict[str, str]
) -> dict[str, dict[str, float]]:
    """Return ``{metric: {name: median}}``, the control first."""
    medians = {}
    for metric in filter(_shown, metrics):
        rows = [
            metric["control"],
            *(row for row in metric["rows"] if row["profile"] not in left_out),
        ]
        medians[metric["metric"]] = {
            names[row["profile"]]: row["median"] for row in rows if row["median"] is not None
        }
    return medians


def _add_visited(
    tables: list[dict[str, Any]], visited: dict[str, dict[str, dict[str, float]]]
) -> None:
    """Add to the tables of a search's confirmation the medians of all sets, by the table's id."""
    for table in tables:
        for metric, medians in visited.get(table["id"], {}).items():
            table["medians"][metric] = {**medians, **table["medians"].get(metric, {})}


def _table(
    table: dict[str, Any],
    analysis: dict[str, Any],
    left_out: Collection[str],
    names: dict[str, str],
) -> dict[str, Any]:
    metrics = [metric for metric in table["metrics"] if _shown(metric)]
    return dict(
        (
            (key, table[key])
            for key in ("id", "pair", "path", "mtu", "workload", "test", "saturated", "failures")
        ),
        notes=_notes(metrics, analysis["warnings"]),
        cpu=_cpu(table, analysis["control"]),
        medians=_medians(metrics, left_out, names),
        quantities=_quantities(metrics, left_out, names),
    )


def _common_notes(tables: list[dict[str, Any]]) -> list[str]:
    """Take out of the tables and return what is said of each of them: it belongs to the campaign."""
    measured = [table for table in tables if table["quantities"]]
    common = [
        note
        for note in (measured[0]["notes"] if len(measured) > 1 else ())
        if all(note in table["notes"] for table in measured)
    ]
    for table in measured:
        table["notes"] = [note for note in table["notes"] if note not in common]
    return common


def _changes_fewest(analysis: dict[str, Any]) -> bool:
    """Return whether no set that was not shown to differ from the recommended one changes fewer
    settings.
    """
    profiles, wanted = analysis["profiles"], analysis["recommendation"]
    changed = {
        name: len(differing(levels, profiles[analysis["control"]]))
        for name, levels in profiles.items()
    }
    return all(
        changed[name] >= changed[wanted["name"]]
        for name in wanted["not_told_apart"]
        if wanted["name"]
    )


def findings_of(analysis: dict[str, Any], problems: Sequence[str] = ()) -> dict[str, Any]:
    """Return an analysis as the report shows it; ``problems`` are texts on lines of trials.jsonl
    that are damaged.
    """
    unsupported = unsupported_profiles(analysis)
    names = set_names(
        analysis["factors"], analysis["profiles"], analysis["search"], analysis.get("nominated", ())
    )
    tables = [_table(table, analysis, unsupported, names) for table in claimed(analysis)]
    if analysis["search"]:
        _add_visited(
            tables,
            {own["id"]: _medians(own["metrics"], unsupported, names) for own in analysis["tables"]},
        )
    damaged = (
        [f"damaged lines in trials.jsonl, {len(problems)} of them: {'; '.join(problems[:3])}"]
        if problems
        else []
    )
    warnings = analysis["warnings"] + _not_compared(unsupported) + _common_notes(tables) + damaged
    return {
        "tables": tables,
        "names": names,
        "changes_fewest": _changes_fewest(analysis),
        "searching": bool(analysis["search"]) and claimed(analysis) is analysis["tables"],
        "warnings": warnings,
        "nominated": analysis.get("nominated"),
        "failed_in": list(chain.from_iterable(table["failures"] for table in analysis["tables"])),
        "matters": analysis["methods"]["matters_percent"],
        "one_host": analysis["methods"]["one_host"],
        **{
            key: analysis[key]
            for key in (
                "attribution",
                "recommendation",
                "failures",
                "confirmation",
                "search",
                "unfinished",
                "error_rate",
                "untestable",
                "verdicts",
            )
        },
    }
