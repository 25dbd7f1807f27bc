# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attribution and recommendations of an analysis, as sentences and tables: which setting leads, what to set."""
from __future__ import annotations

import math

from ansible_collections.offload.lab.plugins.plugin_utils import _report_answer as answers
from ansible_collections.offload.lab.plugins.plugin_utils import _report_text as text

GOALS = {
    "tcp_throughput": "TCP throughput", "udp_throughput": "UDP throughput", "tcp_cpu": "TCP service demand",
    "udp_cpu": "UDP service demand", "tcp_transactions": "TCP transaction rate",
    "udp_transactions": "UDP transaction rate", "tcp_latency": "TCP latency (p99)", "udp_latency": "UDP latency (p99)"}
ENDS = {"client": " at the client", "server": " at the server", "combined": " of both ends"}
MOST_SENTENCES = 8
FOLD = 16  # rows; a longer table is folded


def goal_name(entry):
    """Return a goal's name, with the end whose setting is meant where the ends were varied apart."""
    side = "" if entry["side"] == "both" else f", set at the {entry['side']}"
    return GOALS.get(entry["goal"], entry["goal"]) + side


def setting(row):
    """Return a candidate as a setting: ``tso=on``."""
    return f"{row['factor']}={row['level']}"


def _leaders(entry):
    return [row for row in entry["candidates"] if row["factor"] in entry["leaders"]]


def _group(entries, places):
    """Return ``(verdict, sentence)`` on one goal over all its tables: who leads, where most, and where nobody does."""
    name, count = goal_name(entries[0]), len(entries)
    led = [(entry, _leaders(entry)[0]) for entry in entries if _leaders(entry)]
    if not led:
        tested = any(row["verdict"] != "unknown" for entry in entries for row in entry["candidates"])
        return ("same", f"{name}: no setting was shown to help.") if tested else (
            "unknown", f"{name}: too few blocks for a test.")
    times = {}
    for entry, _row in led:
        for row in _leaders(entry):
            times[setting(row)] = times.get(setting(row), 0) + 1
    first = max(times, key=times.get)
    entry, row = max(((entry, row) for entry, _row in led for row in _leaders(entry) if setting(row) == first),
                     key=lambda pair: abs(math.log(pair[1]["ratio"])))
    place = places[entry["table"]] + ENDS.get(entry["end"], "")
    where = f" for {place}" if count == 1 else f" in {times[first]} of {count} comparisons, most for {place}"
    others = [other for other in times if other != first]
    also = f". Not told apart from it, or leading elsewhere: {text.listed(others[:4])}" if others else ""
    return "better", f"{name}: {first} leads{where}: {answers.effect(row)}{also}{_ahead(entry, row)}."


def _ahead(entry, leader):
    """Say what gained more than a leader but was not shown: too noisy, or too few blocks were left."""
    ahead = entry["candidates"][:entry["candidates"].index(leader)]
    found = [f"{setting(row)} ({text.ratio(row['ratio'])} in {text.count(row['n'], 'block')})" for row in ahead
             if row["verdict"] != "better" and row["ratio"]]
    return f". Gained more there, but was not shown: {text.listed(found)}" if found else ""


def sentences(attribution, tables):
    """Return the answer's sentences, one a goal and side, in the order of the goals."""
    places = dict((table["id"], answers.place(table)) for table in tables)
    groups = {}
    for entry in attribution:
        groups.setdefault((entry["goal"], entry["side"]), []).append(entry)
    found = [_group(entries, places) for entries in groups.values()]
    return [{"verdict": verdict, "text": words} for verdict, words in found[:MOST_SENTENCES]]


def _next(entry):
    """Return the best setting behind the leaders that was shown to help too."""
    row = next((row for row in entry["candidates"] if row["verdict"] == "better" and row not in _leaders(entry)), None)
    return f"{setting(row)} {text.ratio(row['ratio'])}" if row else text.NONE


def leader_table(attribution, titles):
    """Return who leads in each table, as rows; None without attribution."""
    rows = []
    for entry in attribution:
        leaders = _leaders(entry)
        names = ", ".join(f"{setting(row)} {text.ratio(row['ratio'])} ({text.interval(row['low'], row['high'])})"
                          for row in leaders)
        apart = "yes" if entry["separated"] else "no" if leaders else ""
        where = titles[entry["table"]] + ENDS.get(entry["end"], "")
        rows.append({"cells": [goal_name(entry), where, names or text.SAME, apart, _next(entry)]})
    head = ["Goal", "Where", "Leads: ratio (95 % interval)", "Alone?", "Next"]
    return {"title": "Which setting leads", "head": head, "text": head, "rows": rows, "folded": len(rows) > FOLD,
            "caption": "~: no setting was shown to help. Alone: it was shown to be better than every other setting."
            } if rows else None


def as_set(row):
    """Return evidence as the effect of the setting that is recommended, the better one of the two compared."""
    higher = row["metric"] in ("throughput", "transactions")
    if (row["ratio"] > 1) == higher:
        return row
    return dict(row, ratio=1 / row["ratio"], low=row["high"] and 1 / row["high"], high=row["low"] and 1 / row["low"])


def best_of(evidence):
    """Return the strongest evidence, as :func:`as_set`."""
    return max(map(as_set, evidence), key=lambda row: abs(math.log(row["ratio"])))


def by_setting(advice):
    """Return ``{settings, a tuple of (factor, level): {goal: evidence}}``: one setting, or those of a whole profile."""
    found = {}
    for goal in advice["goals"]:
        chosen = [((setting["factor"], setting["level"]), setting["evidence"]) for setting in goal["settings"]]
        if goal["evidence"]:
            chosen = [(tuple(pair for pair, _evidence in chosen), goal["evidence"])] if chosen else []
        else:
            chosen = [((pair,), evidence) for pair, evidence in chosen]
        for settings, evidence in chosen:
            found.setdefault(settings, {})[goal["goal"]] = evidence
    return found


def helps(goals):
    """Return ``{goal: evidence}`` in words: the strongest ratio of each goal with its interval."""
    words = []
    for goal, evidence in goals.items():
        best = best_of(evidence)
        times = f", {len(evidence)} comparisons" if len(evidence) > 1 else ""
        words.append(f"{GOALS.get(goal, goal)} {text.ratio(best['ratio'])} "
                     f"({text.interval(best['low'], best['high'])}{times})")
    return words


def _conflict(conflict):
    if "levels" in conflict:
        wishes = "; ".join(f"{level} for {text.listed(GOALS.get(goal, goal) for goal in goals)}"
                           for level, goals in conflict["levels"].items())
        return f"{conflict['factor']}: the goals disagree ({wishes}), so it is left as it is."
    goals = text.listed(GOALS.get(goal, goal) for goal in conflict["within"])
    return f"{conflict['factor']}: it helps in one comparison and harms in another ({goals}), so it is left as it is."


def notes(advice, untestable):
    """Return what is to be known of the recommendations, as sentences; ``untestable`` is ``{name: reason}``."""
    found = list(dict.fromkeys(text.sentence(goal["note"]) + "." for goal in advice["goals"] if goal["settings"]))
    if not found:
        found.append("No setting was shown to help in one comparison and to harm in none.")
    found += [_conflict(conflict) for conflict in advice["conflicts"]]
    return found + [f"Not tested: {name}, {reason}." for name, reason in untestable.items()]


def recommendations(advice, untestable):
    """Return the recommended settings for the page: ``{"table", "notes"}``."""
    disputed = {conflict["factor"] for conflict in advice["conflicts"]}
    rows = []
    for settings, goals in by_setting(advice).items():
        names = (f"{factor}={level}{' (disputed)' * (factor in disputed)}" for factor, level in settings)
        rows.append({"cells": [", ".join(names), "; ".join(helps(goals))]})
    head = ["Set", "Shown to help: strongest ratio (95 % interval)"]
    found = notes(advice, untestable)
    if rows:
        found.append("For these hosts, drivers and workloads only. recommended.yml has it for playbooks/apply.yml.")
    return {"table": {"head": head, "text": head, "rows": rows}, "notes": found}
