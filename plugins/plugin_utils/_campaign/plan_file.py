# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write and read plan.json and the decisions of a campaign."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...module_utils._host import files
from .._paths.lab_paths import Paths, with_own
from .._paths.path import GENEVE, GRE, PLAIN, UNDERLAY, VXLAN, Path
from . import interim, spending
from .decisions import append_decided, read_decided
from .nouns import (
    Campaign,
    Confirmation,
    Decided,
    Plan,
    Search,
    Spending,
)
from .stored import read_part, writing
from .visits import (
    SCHEMA,
    control_visits,
)

DECISION_SCHEMA = 1  # of a confirmation and of a search
PART = "confirm"  # the key ``part`` of the visits and trials of a confirmation
# Parts of decisions.jsonl.
CONFIRMATION, INTERIM, SEARCH, SPENDING = "confirmation", "looks", "search", "spending"
# Keys that plans of earlier versions lack.
ADDED = ("matters", "confirm", "remeasure", "control_visits", "verify")
ENCAPSULATIONS = {kind.name: kind for kind in (PLAIN, VXLAN, GENEVE, GRE)}


def read_plan(path: str) -> Plan | None:
    """Return the plan in a file, or None where there is no file."""
    return read_part(path, "plan", SCHEMA)


def read_confirmation(folder: str) -> Confirmation | None:
    """Return the confirmation of a results folder, or None before its decision."""
    decided: Confirmation | None = read_decided(folder, CONFIRMATION, DECISION_SCHEMA)
    return decided


def read_search(folder: str) -> Search | None:
    """Return the search of a results folder with its rounds so far, or None."""
    decided: Search | None = read_decided(folder, SEARCH, DECISION_SCHEMA)
    return decided


def read_interim(folder: str) -> list[Decided]:
    """Return the decisions of a campaign's interim tests, in their order."""
    decided = read_decided(folder, INTERIM, interim.SCHEMA)
    return decided["made"] if decided else []


def write_interim(folder: str, plan: Plan, decisions: list[Decided]) -> None:
    """Write the new decisions of interim tests into a campaign's results folder."""
    document = {"schema": interim.SCHEMA, "campaign": plan["name"], "made": decisions}
    append_decided(folder, INTERIM, document)


def read_spending(folder: str) -> list[Spending]:
    """Return the decisions on a campaign's time budget, in their order."""
    decided = read_decided(folder, SPENDING, spending.SCHEMA)
    return decided["made"] if decided else []


def write_spending(folder: str, plan: Plan, decisions: list[Spending]) -> None:
    """Write the new decisions on a time budget into a campaign's results folder."""
    document = {"schema": spending.SCHEMA, "campaign": plan["name"], "made": decisions}
    append_decided(folder, SPENDING, document)


def read_current_plan(path: str) -> Plan | None:
    """Return a plan with the decisions of its interim tests and on its time budget.

    Return None where there is no file.
    """
    plan = read_plan(path)
    folder = os.path.dirname(path)
    if plan and plan.get("time"):
        return spending.with_spending(plan, read_spending(folder))
    return plan and interim.with_decisions(plan, read_interim(folder))


def read_whole_plan(folder: str) -> Plan | None:
    """Return the plan of a results folder with all decisions, or None where there is no plan."""
    plan = read_current_plan(os.path.join(folder, "plan.json"))
    if plan and plan["design"] == "search":
        plan = with_search(plan, read_search(folder))
    return plan and with_confirmation(plan, read_confirmation(folder))


def with_confirmation(plan: Plan, decided: Confirmation | None) -> Plan:
    """Return a plan with the profiles and visits of its confirmation."""
    if decided is None:
        return plan
    return {
        **plan,
        "profiles": {**plan["profiles"], **decided["profiles"]},
        "visits": [*plan["visits"], *decided["visits"]],
    }


def with_search(plan: Plan, decided: Search | None) -> Plan:
    """Return the plan of a search with the profiles, visits and blocks of all rounds so far."""
    if decided is None:
        return plan
    profiles = plan["profiles"].copy()
    visits = plan["visits"].copy()
    for search_round in decided["rounds"]:
        profiles.update(search_round["profiles"])
        visits += search_round["visits"]
    return {
        **plan,
        "blocks": plan["blocks"] + len(decided["rounds"]),
        "profiles": profiles,
        "visits": visits,
        "trials": decided.get("trials") or plan.get("trials"),
        "decided": decided,
    }


def paths_of(plan: Plan) -> Paths:
    """Return the paths of the lab, and those that exist without it."""
    paths = dict(with_own(plan.get("own_paths")).by_name)
    for name, encapsulation in plan.get("encapsulations", {}).items():
        path = paths.get(name) or Path(name, (UNDERLAY,))
        paths[name] = replace(path, encapsulation=ENCAPSULATIONS.get(encapsulation, PLAIN))
    return Paths(paths)


def write_confirmation(folder: str, decided: Confirmation) -> None:
    """Write the confirmation into a campaign's results folder."""
    append_decided(folder, CONFIRMATION, decided)


def write_search(folder: str, decided: Search) -> None:
    """Write the new round of a search, or its end, into its campaign's results folder."""
    append_decided(folder, SEARCH, decided)


def write_plan(path: str, plan: Mapping[str, object]) -> None:
    """Write a plan as one file, and create its folder; a crash leaves the complete file or none."""
    with writing(path):
        files.write_result(path, json.dumps(plan, indent=1) + "\n")


def with_defaults_of_plan(campaign: Campaign, old: Plan) -> Campaign:
    """Return a campaign with the defaults of its existing plan.

    Another version may have other defaults.
    """
    completed: Campaign = {**campaign}
    if campaign["blocks"] is None and campaign["time_budget"] is None:
        completed["blocks"] = old["blocks"]
    if campaign["control_visits"] is None:
        completed["control_visits"] = control_visits(old)
    return spending.with_length_of_plan(completed, old) if old.get("time") else completed


def _without_repeat(plan: Plan) -> Plan:
    visits: list[Any] = [{**visit, "repeat": None} for visit in plan["visits"]]
    return {**plan, "visits": visits}


def _difference(key: str, old: object, new: object) -> str:
    if isinstance(old, (list, dict)):
        return f"{key} differs"
    return f"{key}: {old!r} is {new!r} now"


def differences(old: Plan, new: Plan) -> list[str]:
    """Return the differences between two plans, one text for each key.

    Times do not count. Keys of :data:`ADDED` do not count if the old plan lacks them; then the choice
    of the control's repeat does not count either.
    """
    missing = {key for key in ADDED if key not in old}
    if missing:
        old = _without_repeat(old)
        new = _without_repeat(new)
    ignored = {"created", "estimated_s", *missing}
    return [
        _difference(key, old.get(key), new.get(key))
        for key in dict.fromkeys([*old, *new])
        if key not in ignored and old.get(key) != new.get(key)
    ]
