# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""plan.json: written once and whole, read again, and the small part of it that Ansible's loop over
visits needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...module_utils._base.errors import InputError
from ...module_utils._engines.workload import sampling_engine, servers_each
from ...module_utils._host import files
from .._paths.lab_paths import Paths, with_own
from .._paths.path import GENEVE, GRE, PLAIN, UNDERLAY, VXLAN, Path
from . import confirmation, looks, spending
from .decisions import append_decided, read_decided
from .design import (
    SCHEMA,
    all_workloads,
    control_visits,
    longest_visit_seconds,
)
from .nouns import (
    Campaign,
    Confirmation,
    Decided,
    Plan,
    Search,
    Spending,
)
from .stored import read_part

CONFIRMATION, LOOKS, SEARCH, SPENDING = "confirmation", "looks", "search", "spending"
ADDED = (
    "matters",
    "confirm",
    "remeasure",
    "control_visits",
    "verify",
)  # keys that plans of earlier versions lack
AROUND = {one.name: one for one in (PLAIN, VXLAN, GENEVE, GRE)}
MOST_DECISIONS = 3  # on a time budget: how the first blocks go on, and what fills its rest
MOST_VISITS = 800  # of an event, which must stay small


def read_plan(path: str) -> Plan | None:
    """Return the plan in a file, or None where there is no file."""
    return read_part(path, "plan", SCHEMA)


def read_confirmation(folder: str) -> Confirmation | None:
    """Return the confirmation of a campaign's results folder, or None where it is not decided."""
    decided: Confirmation | None = read_decided(folder, CONFIRMATION, confirmation.SCHEMA)
    return decided


def read_search(folder: str) -> Search | None:
    """Return the rounds of a search that are decided so far, or None."""
    decided: Search | None = read_decided(folder, SEARCH, confirmation.SCHEMA)
    return decided


def read_looks(folder: str) -> list[Decided]:
    """Return the looks that a campaign has made, in their order."""
    made: list[Decided] = (read_decided(folder, LOOKS, looks.SCHEMA) or {"made": []})["made"]
    return made


def write_looks(folder: str, plan: Plan, made: list[Decided]) -> None:
    """Write the looks that a campaign has made into its results folder."""
    append_decided(
        folder,
        LOOKS,
        {"schema": looks.SCHEMA, "campaign": plan["name"], "made": made},
    )


def read_spending(folder: str) -> list[Spending]:
    """Return what a campaign has decided on its time budget, in the order of the blocks."""
    made: list[Spending] = (read_decided(folder, SPENDING, spending.SCHEMA) or {"made": []})["made"]
    return made


def write_spending(folder: str, plan: Plan, made: list[Spending]) -> None:
    """Write what a campaign has decided on its time budget into its results folder."""
    append_decided(
        folder,
        SPENDING,
        {"schema": spending.SCHEMA, "campaign": plan["name"], "made": made},
    )


def read_current_plan(path: str) -> Plan | None:
    """Return a plan without what looks have dropped, and with the blocks that its time budget was
    found to allow; None where there is no file.
    """
    plan = read_plan(path)
    folder = os.path.dirname(path)
    if plan and plan.get("time"):
        return spending.with_spending(plan, read_spending(folder))
    return plan and looks.with_looks(plan, read_looks(folder))


def read_whole_plan(folder: str) -> Plan | None:
    """Return the plan of a campaign's results folder with what was decided since, or None where
    there is no plan.
    """
    plan = read_current_plan(os.path.join(folder, "plan.json"))
    if plan and plan["design"] == "search":
        plan = confirmation.with_search(plan, read_search(folder))
    return plan and confirmation.with_confirmation(plan, read_confirmation(folder))


def paths_of(plan: Plan) -> Paths:
    """Return the paths that a campaign may name, its own among them."""
    known = dict(with_own(plan.get("own_paths")).by_name)
    for name, around in plan.get("encapsulations", {}).items():
        usual = known.get(name) or Path(name, (UNDERLAY,))
        known[name] = replace(usual, encapsulation=AROUND.get(around, PLAIN))
    return Paths(known)


def write_confirmation(folder: str, decided: Confirmation) -> None:
    """Write the confirmation into a campaign's results folder."""
    append_decided(folder, CONFIRMATION, decided)


def write_search(folder: str, decided: Search) -> None:
    """Write what a search decided into its campaign's results folder, before the first visit of its
    last round.
    """
    append_decided(folder, SEARCH, decided)


def write_plan(path: str, plan: Mapping[str, object]) -> None:
    """Write a plan so that a crash leaves the whole file or none; the folder is made."""
    try:
        files.write_result(path, json.dumps(plan, indent=1) + "\n")
    except OSError as error:
        raise InputError(
            f"the file cannot be written ({error.strerror})",
            path,
            "Give a folder you may write to.",
        )


def as_begun(campaign: Campaign, old: Plan) -> Campaign:
    """Return a campaign with what its plan has already and it does not name: a design's defaults
    may change.
    """
    begun: Campaign = {**campaign}
    if campaign["blocks"] is None and campaign["time_budget"] is None:
        begun["blocks"] = old["blocks"]
    if campaign["control_visits"] is None:
        begun["control_visits"] = control_visits(old)
    return spending.as_chosen(begun, old) if old.get("time") else begun


def _without_repeat(plan: Plan) -> Plan:
    visits: list[Any] = [{**visit, "repeat": None} for visit in plan["visits"]]
    return {**plan, "visits": visits}


def _difference(key: str, old: object, new: object) -> str:
    if isinstance(old, (list, dict)):
        return f"{key} differs"
    return f"{key}: {old!r} is {new!r} now"


def differences(old: Plan, new: Plan) -> list[str]:
    """Return what differs between two plans, as one text a difference; when they were made does not
    count.

    A plan of an earlier version, which lacks keys of :data:`ADDED`, goes on without them, and with
    its own choice of the control's second visit.
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


def summary(plan: Plan, folder: str) -> dict[str, object]:
    """Return what the loop over visits needs: never the cells, which module visit reads from the
    file.
    """
    sampling = sampling_engine(plan["workloads"], plan.get("sampling"))
    return {
        "results": folder,
        "plan_file": os.path.join(folder, "plan.json"),
        "record": os.path.join(folder, "trials.jsonl"),
        "campaign": plan["name"],
        "seed": plan["seed"],
        "design": plan["design"],
        "blocks": plan["blocks"],
        "control": plan["control"],
        "mtus": plan["mtus"],
        "paths": plan["paths"],
        "pairs": plan["pairs"],
        "rounds": plan["rounds"],
        "estimated_s": plan["estimated_s"],
        "visit_s": round(longest_visit_seconds(plan), 1),
        "confirm": plan.get("confirm", 0),
        "rounds_of_search": plan["search"]["rounds"] if "search" in plan else 0,
        "looks": len(plan.get("looks") or ()),
        "decisions_on_time": MOST_DECISIONS if plan.get("time") else 0,
        "tests": sorted({workload["test"] for workload in all_workloads(plan)}),
        "sampling": sampling,
        # One is enough to try the paths, and to sample their packets.
        "servers": {sampling: 1, **servers_each(all_workloads(plan))},
        "profiles": {name: profile["settings"] for name, profile in plan["profiles"].items()},
        "totals": {
            "visits": len(plan["visits"]),
            "cells": sum(len(visit["cells"]) for visit in plan["visits"]),
        },
        "visits": [
            {
                "block": visit["block"],
                "visit": visit["visit"],
                "mtu": visit["mtu"],
                "profile": visit["profile"],
                "repeat": visit["repeat"],
                "cells": len(visit["cells"]),
            }
            for visit in plan["visits"][:MOST_VISITS]
        ],
    }
