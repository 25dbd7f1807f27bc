# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the figures beside the effects show, from the digest of the trials: CPU by kind, softirq by CPU, time."""
from __future__ import annotations

from statistics import median

from ansible_collections.offload.lab.plugins.plugin_utils import _report_text as text
from ansible_collections.offload.lab.plugins.plugin_utils._report_trials import ENDS, KINDS

MOST_ROWS = 41  # profiles in one figure
MOST_HEAT = 8  # heat maps; those with the most streams come first
MOST_POINTS = 600  # trials drawn one by one; above that, blocks are
CPU_TEXT = ["CPU time of a whole host while the streams ran, medians over the trials, by what it was spent on. Guest "
            "time and nice count as user."]
HEAT_TEXT = ["Share of each CPU's time spent in softirq, mean over the trials: where one CPU carries the receive side, "
             "its column stands out."]
DRIFT_TEXT = ["Each trial at the time it started. A slope that all profiles share is drift of the machine; comparisons "
              "are made inside blocks, so that drift does not enter them."]


def _key(table):
    return table["path"], table["mtu"], table["workload"]


def _profiles(table, plan):
    order = [plan.get("control")] + [row["profile"] for row in table["quantities"][0]["rows"]]
    return order[:MOST_ROWS]


def cpu(tables, plan):
    """Return a panel a table: ``rows`` of profiles with the share of each kind at each end, in per cent."""
    found = []
    for table in tables:
        ends = [end for end in ENDS if end in table["cpu"]]
        rows = [{"label": profile, "kinds": dict((end, _kinds(table["cpu"][end], profile)) for end in ends)}
                for profile in _profiles(table, plan)]
        rows = [row for row in rows if any(row["kinds"].values())]
        if rows:
            found.append(_cpu_panel(table, rows, ends))
    return found


def _kinds(kinds, profile):
    """Return the shares by kind of a profile, or ``busy`` alone where nothing finer was measured."""
    wanted = [kind for kind in KINDS if kind in kinds] or ["busy"]
    return dict((kind, kinds[kind][profile]) for kind in wanted
                if kind in kinds and kinds[kind].get(profile) is not None)


def _cpu_panel(table, rows, ends):
    kinds = [kind for kind in KINDS + ("busy",)
             if any(use.get(kind, 0) >= 0.05 for row in rows for use in row["kinds"].values())] or ["busy"]
    head = ["Profile"] + [f"{end} {kind}, %" for end in ends for kind in kinds]
    busiest = max(rows, key=lambda row: max(sum(use.values()) for use in row["kinds"].values()))
    return {
        "title": table["title"], "rows": rows, "ends": ends, "kinds": kinds,
        "summary": f"CPU time by kind for {text.count(len(rows), 'profile')}. Busiest: {busiest['label']}.",
        "numbers": {"head": head, "text": ["Profile"], "rows": [
            {"cells": [row["label"]] + [text.number(row["kinds"][end].get(kind)) for end in ends for kind in kinds]}
            for row in rows]},
    }


def heat(tables, plan, digest):
    """Return a panel a table: softirq per cent of each CPU at each end, a row a profile."""
    streams = dict((work["name"], (work.get("streams") or 1) * (work.get("tenants") or 1))
                   for work in plan["workloads"])
    found = []
    for table in sorted(tables, key=lambda table: -streams.get(table["workload"], 1))[:MOST_HEAT]:
        shares = dict(((profile, end), digest.softirq.get((_key(table), profile, end)))
                      for profile in _profiles(table, plan) for end in ENDS)
        ends = [end for end in ENDS if any(value for (_profile, which), value in shares.items() if which == end)]
        if ends:
            found.append(_heat_panel(table, plan, shares, ends))
    return found


def _heat_panel(table, plan, shares, ends):
    profiles = [profile for profile in _profiles(table, plan) if all(shares[profile, end] for end in ends)]
    cpus = dict((end, sorted(set(cpu for profile in profiles for cpu in shares[profile, end]))) for end in ends)
    rows = [{"label": profile, "shares": dict((end, [shares[profile, end].get(cpu, 0.0) for cpu in cpus[end]])
                                              for end in ends)} for profile in profiles]
    numbers = {"head": ["Profile", "End", "Busiest CPU", "its softirq, %", "Mean of all, %"],
               "text": ["Profile", "End"], "rows": []}
    for row in rows:
        for end in ends:
            values = row["shares"][end]
            top = max(range(len(values)), key=values.__getitem__)
            numbers["rows"].append({"cells": [row["label"], end, str(cpus[end][top]), text.number(values[top]),
                                              text.number(sum(values) / len(values))]})
    most = max(share for row in rows for end in ends for share in row["shares"][end])
    return {"title": table["title"], "rows": rows, "ends": ends, "cpus": cpus, "numbers": numbers,
            "most": next(top for top in (9, 18, 27, 45, 63, 90, 100) if top >= most or top == 100),
            "summary": "Heat map of softirq time, {} by {}.".format(
                text.count(len(rows), "profile"), text.count(max(map(len, cpus.values())), "CPU"))}


def drift(tables, plan, digest):
    """Return a panel a table: the control's trials and the others' over time, or each block's middle half."""
    found = []
    for table in tables:
        points = digest.over_time.get(_key(table))
        if points:
            found.append(_drift_panel(table, plan, points, digest.first))
    return found


def _drift_panel(table, plan, points, start):
    length = max(point[0] for point in points) - start
    unit, scale = ("s", 1.0) if length < 180 else ("min", 60.0) if length < 7200 else ("h", 3600.0)
    series = {}
    for name, wanted in (("control", True), ("others", False)):
        own = [((started - start) / scale, value, block) for started, value, block, control in points
               if control is wanted]
        series[name] = _blocks(own) if len(points) > MOST_POINTS else [point[:2] for point in own]
    label = table["quantities"][0]
    blocks = {}
    for _started, value, block, control in points:
        if control:
            blocks.setdefault(block, []).append(value)
    return {
        "title": table["title"], "control": series["control"], "others": series["others"], "time_unit": unit,
        "summarised": len(points) > MOST_POINTS, "control_name": plan.get("control"),
        "unit": "{}, {}".format(label["label"], label["unit"]),
        "caption": "A line spans the middle half of a block's trials, the mark is their median."
                   if len(points) > MOST_POINTS else "",
        "summary": "{} of {} trials over time.".format(label["label"], len(points)),
        "numbers": {"head": ["Block", "{}: median, {}".format(plan.get("control"), label["unit"])], "text": [],
                    "rows": [{"cells": [str(block), text.number(median(values))]}
                             for block, values in sorted(blocks.items())]},
    }


def _blocks(points):
    """Return (median time, quartile, median, quartile) of each block's points."""
    blocks = {}
    for at, value, block in points:
        blocks.setdefault(block, []).append((at, value))
    rows = []
    for _block, members in sorted(blocks.items()):
        values = sorted(value for _at, value in members)
        rows.append((median(at for at, _value in members), values[len(values) // 4], median(values),
                     values[(3 * len(values)) // 4]))
    return rows
