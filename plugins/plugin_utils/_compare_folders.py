# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results folders compared: read, written as comparison.json, comparison.md and junit.xml, shown on the console."""
from __future__ import annotations

import json
import os

from ansible_collections.offload.lab.plugins.module_utils._errors import InputError
from ansible_collections.offload.lab.plugins.plugin_utils._compare import compare, load
from ansible_collections.offload.lab.plugins.plugin_utils._junit import junit
from ansible_collections.offload.lab.plugins.plugin_utils._plan_file import read_plan
from ansible_collections.offload.lab.plugins.plugin_utils._records import stream_records
from ansible_collections.offload.lab.plugins.plugin_utils._report_text import interval, ratio

SHOWN = ("value", "effect")
MOST_LINES = 60  # of manifest differences; comparison.json has all


def read_campaign_folder(folder, label):
    """Return a campaign as :func:`_compare.compare` takes it, read from its results folder."""
    plan = read_plan(os.path.join(folder, "plan.json"))
    trials = os.path.join(folder, "trials.jsonl")
    if plan is None or not os.path.exists(trials):
        raise InputError("there is no plan.json with trials.jsonl beside it", folder, "Give a campaign's folder.")
    manifest = None
    if os.path.exists(os.path.join(folder, "manifest.json")):
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as stream:
            try:
                manifest = json.load(stream)
            except ValueError as error:
                raise InputError(f"this is not JSON: {error}", stream.name, "Restore or remove the file.")
    return load(plan, stream_records(trials, []), manifest, label)


def labels_of(folders):
    """Return a name for each folder: its last part, or as much of its path as tells it from the others."""
    paths = [os.path.abspath(folder) for folder in folders]
    for depth in range(1, max([len(path.split(os.sep)) for path in paths] or [1])):
        names = [os.sep.join(path.split(os.sep)[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return paths


def compare_folders(folders, threshold=None):
    """Return the comparison of results folders; the first is the baseline."""
    if len(folders) < 2:
        raise InputError("two results folders or more are needed", "results", "The first is the baseline.")
    campaigns = [read_campaign_folder(folder, label) for folder, label in zip(folders, labels_of(folders))]
    return compare(campaigns, threshold)


def _row_line(table, metric, row):
    end = f" {metric['end']}" if metric["end"] else ""
    shown = "~" if row["verdict"] == "same" else ratio(row["ratio"])
    flag = " **regression**" if row["regression"] else ""
    return (f"| {table['id']} | {metric['label']}{end} | {row['profile']} | {shown} | "
            f"{interval(row['low'], row['high'])} | {row['n_baseline']}, {row['n']} | {row['verdict']}{flag} |")


def _of_kind(other, kind):
    return [_row_line(table, metric, row) for table in other["tables"] for metric in table["metrics"]
            for row in metric["rows"] if row["kind"] == kind]


def markdown(comparison):
    """Return a comparison as Markdown; ``~`` is a difference that was not shown."""
    titles = {"value": "Values", "effect": "Effects against the control"}
    head = "| where | what | profile | ratio | 95 % interval | blocks | verdict |\n|" + " --- |" * 7
    parts = [f"# Against {comparison['baseline']}", f"A caution: {comparison['note']}."]
    if comparison["threshold"] is not None:
        parts.append(f"Worse by more than {100 * comparison['threshold']:g} %: {len(comparison['failures'])}.")
    for other in comparison["compared"]:
        for kind in SHOWN:
            rows = _of_kind(other, kind)
            if rows:
                parts.append(f"## {other['campaign']}: {titles[kind].lower()}\n\n{head}\n" + "\n".join(rows))
    differences = [f"- {row['node']} {row['name']}: {' → '.join(str(value) for value in row['values'])}"
                   for row in comparison["manifest"]]
    more = [f"- and {len(differences) - MOST_LINES} more"] if len(differences) > MOST_LINES else []
    parts.append("## What differs in the manifests\n\n" + "\n".join(differences[:MOST_LINES] + more or ["Nothing."]))
    return "\n\n".join(parts) + "\n"


def console(comparison):
    """Return the lines that a console shows: what differs, and what fails."""
    lines = []
    for other in comparison["compared"]:
        shown = [(table, metric, row) for table in other["tables"] for metric in table["metrics"]
                 for row in metric["rows"]]
        told = [f"  {table['id']}, {metric['label']}{' ' + metric['end'] if metric['end'] else ''}, {row['profile']} "
                f"({row['kind']}): {ratio(row['ratio'])} ({interval(row['low'], row['high'])}) {row['verdict']}"
                for table, metric, row in shown if row["significant"]]
        lines += [f"{other['campaign']} against {comparison['baseline']}: {len(told)} of {len(shown)} differ", *told]
    return lines + [f"regression: {failure}" for failure in comparison["failures"]]


def documents(comparison):
    """Return ``{file name: text}`` of a comparison."""
    return {"comparison.json": json.dumps(comparison, indent=1, sort_keys=True, allow_nan=False) + "\n",
            "comparison.md": markdown(comparison), "junit.xml": junit(comparison)}
