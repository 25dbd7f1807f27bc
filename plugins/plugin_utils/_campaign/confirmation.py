# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The confirmation, a campaign's second part: visit the nominated profiles and the control again, in
fresh blocks. Pure.

The campaign writes the confirmation to decisions.jsonl before its first visit, and keeps it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from ...module_utils._base.errors import InputError
from .factors import settings_of
from .nouns import (
    Confirmation,
    Levels,
    Nominee,
    Plan,
    Profile,
    Settings,
    Visit,
)
from .plan_file import DECISION_SCHEMA, PART
from .visits import MOST_NOMINEES, visits_of, with_check


def confirmation_of(plan: Plan, nominees: Iterable[Nominee]) -> Confirmation:
    """Return the confirmation: the profiles of the nominees, and the visits in their order.

    Without ``nominees`` it has no visit.
    """
    control = plan["control"]
    profiles: dict[str, Profile] = {control: {"role": "control", **plan["profiles"][control]}}
    for nominee in itertools.islice(nominees, MOST_NOMINEES):
        levels = {**plan["profiles"][control]["levels"], **nominee["levels"]}
        if not any(levels == profile["levels"] for profile in profiles.values()):
            name = _name(plan, nominee["name"], levels)
            profiles[name] = {
                "role": nominee["role"],
                "levels": levels,
                "settings": _settings(plan, name, levels),
            }
    first = plan["blocks"] + 1
    blocks = range(first, first + plan["confirm"]) if len(profiles) > 1 else range(0)
    visits: list[Visit] = [
        {**with_check(plan, visit), "part": PART}
        for visit in visits_of(plan, profiles, control, blocks)
    ]
    return {
        "schema": DECISION_SCHEMA,
        "campaign": plan["name"],
        "control": control,
        "blocks": list(blocks),
        "profiles": profiles,
        "visits": visits,
    }


def _name(plan: Plan, name: str, levels: Levels) -> str:
    """Return the name of a nominee; a planned profile with the same levels keeps its name."""
    same = next(
        (planned for planned, profile in plan["profiles"].items() if profile["levels"] == levels),
        None,
    )
    if same is None and name in plan["profiles"]:
        raise InputError(
            f"the nominee {name} is not the profile of that name in plan.json",
            f"campaign {plan['name']}",
            "Restore plan.json, or move the results folder away.",
        )
    return same or name


def _settings(plan: Plan, name: str, levels: Levels) -> Settings:
    """Return the settings of a nominee."""
    if name in plan["profiles"]:
        return dict(plan["profiles"][name]["settings"])
    return dict(settings_of(plan["factors"], levels, plan["design"] == "one_at_a_time"))
