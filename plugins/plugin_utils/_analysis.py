# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a plan and its trials to analysis.json: effects with intervals, attribution, recommendations. Pure.

The shape is in schemas/analysis.json and docs/data-format.md.
"""
from __future__ import annotations

from ansible_collections.offload.lab.plugins.plugin_utils import _metrics, _power, _statistics
from ansible_collections.offload.lab.plugins.plugin_utils._attribution import attribution
from ansible_collections.offload.lab.plugins.plugin_utils._campaign_verdicts import of_all
from ansible_collections.offload.lab.plugins.plugin_utils._cube import collect
from ansible_collections.offload.lab.plugins.plugin_utils._design import too_few_blocks
from ansible_collections.offload.lab.plugins.plugin_utils._metric_analysis import MetricAnalysis
from ansible_collections.offload.lab.plugins.plugin_utils._recommend import recommendations

SCHEMA = 1
CANNOT_ACT = ("unsupported", "masked")
FACTOR_KEYS = ("name", "kind", "levels", "devices", "sides", "needs")


def table_id(table):
    """Return a table's name: pair (where there are several), path, MTU and workload."""
    return "/".join(str(table[key]) for key in ("pair", "path", "mtu", "workload") if table[key] is not None)


def analyse(plan, trials, manifest=None, include_marked=False, verdicts=None):
    """Return the analysis (the content of analysis.json).

    ``trials`` is an iterable of trial records, read once. Failed trials are left out, and, unless ``include_marked``,
    those that a guard excludes; both are counted. ``manifest`` tells whether both ends are one machine. ``verdicts`` is
    a function that is called once all trials are read, and returns the rows of :mod:`_campaign_verdicts`: a factor that
    could act nowhere is no candidate and not recommended.
    """
    one_host = _metrics.one_host(manifest)
    cube = collect(plan, trials, include_marked, one_host)
    metrics = [MetricAnalysis(cube, name) for name in cube.metrics()]
    tables = [_table(cube, metrics, place) for place in range(len(cube.tables))]
    verdicts = verdicts() if verdicts else []
    idle = _idle(verdicts)
    found = attribution(cube, metrics, table_id, idle)
    return {
        "schema": SCHEMA, "campaign": plan["name"], "kind": plan.get("kind", "measured"), "design": plan["design"],
        "seed": plan["seed"], "created": plan["created"], "blocks": plan["blocks"], "control": plan["control"],
        "methods": _methods(include_marked, one_host),
        "trials": _trials(cube),
        "factors": [{key: factor.get(key) for key in FACTOR_KEYS} for factor in plan["factors"]],
        "profiles": {name: profile["levels"] for name, profile in plan["profiles"].items()},
        "tables": tables, "attribution": found, "recommendations": recommendations(plan, tables, found, idle),
        "verdicts": verdicts, "untestable": {**_untestable(cube, tables), **idle}, "warnings": list(_warnings(cube)),
    }


def _methods(include_marked, one_host):
    return {
        "estimate": "geometric mean of ratios to the control, paired inside blocks",
        "interval": "Student's t on log ratios", "confidence": _statistics.CONFIDENCE,
        "test": "sign-flip, two-sided", "correction": "Holm within a table's metric", "alpha": _statistics.ALPHA,
        "power": _power.POWER, "fewest_blocks": _statistics.FEWEST_BLOCKS, "include_marked": include_marked,
        "one_host": one_host,
    }


def _table(cube, metrics, place):
    table = cube.tables[place]
    return dict(table, id=table_id(table),
                metrics=[metric.document(place) for metric in metrics if metric.measured(place)])


def _trials(cube):
    counts = cube.counts
    missing = counts["planned"] - (counts["recorded"] - counts["unplanned"] - counts["twice"])
    return dict(counts, missing=max(0, missing), marks=dict(sorted(cube.marks.items())),
                excluded_by=dict(sorted(cube.excluded_by.items())), failures=cube.failures)


def _idle(verdicts):
    """Return ``{factor: reason}`` of the factors that the evidence says could act on no device of no path."""
    return {factor: f"{row['verdict']}: {row['reason']}" for factor, row in of_all(verdicts, CANNOT_ACT).items()}


def _untestable(cube, tables):
    """Return ``{factor or profile: reason}``: what the campaign says, and profiles without a single used trial."""
    plan = cube.plan
    found = dict(plan.get("untestable") or {})
    seen = {row["profile"] for table in tables for metric in table["metrics"] for row in metric["rows"] if row["n"]}
    for name in plan["profiles"]:
        if name != plan["control"] and name not in seen:
            found[name] = f"no trial of this profile could be used ({cube.unusable.get(name, 'none was measured')})"
    return found


def _counted(number, one, many):
    return f"1 {one}" if number == 1 else f"{number} {many}"


def _warnings(cube):
    trials = _trials(cube)
    if trials["missing"]:
        yield f"{trials['missing']} of {trials['planned']} trials were not measured"
    if trials["failed"]:
        yield _counted(trials["failed"], "trial failed", "trials failed")
    if trials["excluded"]:
        reasons = ", ".join(f"{guard} {count}" for guard, count in trials["excluded_by"].items())
        yield _counted(trials["excluded"], "marked trial is left out", "marked trials are left out") + f" ({reasons})"
    if trials["unplanned"]:
        yield _counted(trials["unplanned"], "trial is not in the plan and is left out",
                       "trials are not in the plan and are left out")
    if trials["twice"]:
        yield _counted(trials["twice"], "trial repeats a measured cell and is left out",
                       "trials repeat a measured cell and are left out")
    if cube.blocks < _statistics.FEWEST_BLOCKS:
        yield too_few_blocks(cube.blocks, _statistics.FEWEST_BLOCKS)
