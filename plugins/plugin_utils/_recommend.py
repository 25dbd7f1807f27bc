# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recommendations: for each goal the smallest set of settings that the evidence supports, and where goals disagree.

A setting is recommended where it is shown to help in a table of the goal and to harm in none. What shows nothing is
left as it is. Designs that change many settings at once (on_off, profiles) support a set as a whole. Pure.
"""
from __future__ import annotations

import math

from ansible_collections.offload.lab.plugins.plugin_utils._attribution import GOALS, goal_of
from ansible_collections.offload.lab.plugins.plugin_utils._factors import settings_of

EVIDENCE = ("ratio", "low", "high", "p_holm")
NOTES = {
    "one_at_a_time": "each setting was shown to help alone; together they were not measured",
    "leave_one_out": "each setting was shown to be missed when the others are on",
    "full_factorial": "main effects, the mean over all combinations of the other settings",
}
SET_NOTE = "the settings were shown to help together; which of them matter was not measured"


def _evidence(row, table, metric, end):
    return dict({key: row[key] for key in EVIDENCE}, table=table, metric=metric, end=end)


def _by_factor(found, idle):
    """Return ``{goal: {(factor, level, base): {"better": [evidence], "worse": [evidence]}}}``."""
    goals = {}
    for entry in found:
        for row in entry["candidates"]:
            if row["verdict"] in ("better", "worse") and row["factor"] not in idle:
                held = goals.setdefault(entry["goal"], {}).setdefault(
                    (row["factor"], row["level"], row["base"]), {"better": [], "worse": []})
                held[row["verdict"]].append(_evidence(row, entry["table"], entry["metric"], entry["end"]))
    return goals


def _by_profile(plan, tables, idle):
    """Return the same for whole profiles: ``{goal: {profile: {"better": [evidence], "worse": [evidence]}}}``."""
    goals = {}
    for table in tables:
        for metric in table["metrics"]:
            goal = goal_of(metric["metric"], table["test"])
            for row in metric["rows"] if goal else ():
                if row["verdict"] in ("better", "worse") and set(_changes(plan, row["profile"])) - set(idle):
                    held = goals.setdefault(goal, {}).setdefault(row["profile"], {"better": [], "worse": []})
                    held[row["verdict"]].append(_evidence(row, table["id"], metric["metric"], metric["end"]))
    return goals


def _of_goal(held):
    """Return ``(settings, conflicts)`` of a goal's factors."""
    settings, conflicts = [], []
    for (factor, level, base), evidence in held.items():
        if evidence["better"] and evidence["worse"]:
            conflicts.append({"factor": factor, "level": level,
                              "helps": evidence["better"], "harms": evidence["worse"]})
        elif evidence["better"]:
            settings.append({"factor": factor, "level": level, "instead_of": base, "evidence": evidence["better"]})
        else:
            settings.append({"factor": factor, "level": base, "instead_of": level, "evidence": evidence["worse"]})
    return _one_level_a_factor(settings), conflicts


def _size(evidence):
    """Return the largest effect, as a logarithm."""
    return max(abs(math.log(found["ratio"])) for found in evidence)


def _one_level_a_factor(settings):
    """Keep the level with the largest effect where several levels of a factor help."""
    best = {}
    for setting in settings:
        held = best.get(setting["factor"])
        if held is None or _size(setting["evidence"]) > _size(held["evidence"]):
            best[setting["factor"]] = setting
    return list(best.values())


def _goal_by_factor(plan, goal, held):
    settings, conflicts = _of_goal(held)
    return {"goal": goal, "profile": None, "settings": settings, "evidence": [], "conflicts": conflicts,
            "note": NOTES.get(plan["design"], "each setting was shown to help by itself")}


def _changes(plan, profile):
    control, levels = plan["profiles"][plan["control"]]["levels"], plan["profiles"][profile]["levels"]
    return {factor: level for factor, level in levels.items() if level != control.get(factor)}


def _goal_by_profile(plan, goal, held):
    """Recommend the profile that helps in most tables and harms in none; of equals the one that changes least."""
    helping = {profile: evidence for profile, evidence in held.items() if evidence["better"] and not evidence["worse"]}
    conflicts = [{"profile": profile, "helps": evidence["better"], "harms": evidence["worse"]}
                 for profile, evidence in held.items() if evidence["better"] and evidence["worse"]]
    best = min(helping, default=None, key=lambda profile: (
        -len(helping[profile]["better"]), len(_changes(plan, profile)), -_size(helping[profile]["better"])))
    if best is None and not conflicts:
        best = plan["control"]
        evidence = [found for held_evidence in held.values() for found in held_evidence["worse"]]
    else:
        evidence = helping[best]["better"] if best else []
    levels = plan["profiles"][best]["levels"] if best else {}
    wanted = levels if best == plan["control"] else _changes(plan, best) if best else {}
    return {"goal": goal, "profile": best, "settings": [{"factor": factor, "level": level, "instead_of": None,
                                                         "evidence": []} for factor, level in wanted.items()],
            "evidence": evidence, "conflicts": conflicts, "note": SET_NOTE}


def _between_goals(goals):
    """Return ``(levels, conflicts)``: what all goals that speak of a factor agree on, and what they do not."""
    wanted, disputed = {}, {}
    for goal in goals:
        for setting in goal["settings"]:
            wanted.setdefault(setting["factor"], {}).setdefault(setting["level"], []).append(goal["goal"])
        for conflict in goal["conflicts"]:
            disputed.setdefault(conflict.get("factor") or conflict["profile"], []).append(goal["goal"])
    conflicts = [{"factor": factor, "levels": levels} for factor, levels in wanted.items() if len(levels) > 1]
    conflicts += [{"factor": factor, "within": goal} for factor, goal in disputed.items()]
    refused = {conflict["factor"] for conflict in conflicts}
    agreed = {factor: next(iter(levels)) for factor, levels in wanted.items() if factor not in refused}
    return agreed, conflicts


def recommendations(plan, tables, found, idle=()):
    """Return ``{"goals", "conflicts", "levels", "settings"}``; factors that are ``idle`` are not recommended.

    ``goals`` have the settings with their evidence; ``levels`` {factor: level} and ``settings`` (by end and device
    class, as the offloads role takes them) are what no goal contradicts.
    """
    if found:
        held = _by_factor(found, idle)
        goals = [_goal_by_factor(plan, goal, held[goal]) for goal in GOALS if goal in held]
    else:
        held = _by_profile(plan, tables, idle)
        goals = [_goal_by_profile(plan, goal, held[goal]) for goal in GOALS if goal in held]
    agreed, conflicts = _between_goals(goals)
    factors = [factor for factor in plan["factors"] if factor["name"] in agreed]
    return {"goals": goals, "conflicts": conflicts, "levels": agreed,
            "settings": settings_of(factors, agreed) if factors else {}}
