# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module steps: what a campaign does next, from its results folder."""
from __future__ import annotations

import fcntl
import os
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.offload.lab.plugins.module_utils._base.errors import InputError, LabError
from ansible_collections.offload.lab.plugins.plugin_utils.analysis.nominate import nominate
from ansible_collections.offload.lab.plugins.plugin_utils.campaign.confirmation import PART, confirmation_of
from ansible_collections.offload.lab.plugins.plugin_utils.campaign.plan_file import (
    read_confirmation,
    read_plan,
    write_confirmation,
)
from ansible_collections.offload.lab.plugins.plugin_utils.trials import steps
from ansible_collections.offload.lab.plugins.plugin_utils.trials.records import Records, stream_records

SPEC = {
    "plan": {"type": "path", "required": True},
    "pairs": {"type": "list", "elements": "dict", "required": True},
    "part": {"type": "str", "choices": ["planned", PART], "default": "planned"},
    "block": {"type": "int"},
    "mtu": {"type": "int"},
    "lab_mtu": {"type": "int"},
}


class ActionModule(ActionBase):
    """Say what is left of a part of a campaign, or what is measured again in one of its blocks."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(SPEC, required_together=[("block", "mtu")])
        try:
            result.update(self._next(options))
        except LabError as error:
            raise AnsibleActionFail(str(error))
        return result

    def _next(self, options: dict[str, Any]) -> dict[str, Any]:
        plan = read_plan(options["plan"])
        if plan is None:
            raise InputError("there is no such plan", options["plan"], "Make it with module offload.lab.plan.")
        folder = os.path.dirname(options["plan"])
        known = Records(os.path.join(folder, "trials.jsonl"), dry=True).known
        source = plan
        if options["part"] == PART:
            source = self._confirmation(plan, folder, known, options["pairs"])
        if source is None:
            return {"changed": False, "blocks": [], "steps": [], "profiles": {}}
        part = steps.Part(plan, source["visits"], source["profiles"], known, options["pairs"], options["lab_mtu"])
        if options["block"] is not None:
            return {"changed": False, "steps": steps.steps_again(part, options["mtu"], options["block"])}
        return {"changed": False, "blocks": steps.blocks_left(part),
                "profiles": {name: profile["settings"] for name, profile in source["profiles"].items()}}

    def _confirmation(self, plan: dict[str, Any], folder: str, known: steps.Known,
                      pairs: list[steps.Pair]) -> dict[str, Any] | None:
        """Return the confirmation, decided and kept now where all planned visits are made; None where there is none.

        Every node of the campaign asks at the same time: one decides, the others read.
        """
        if not plan.get("confirm"):
            return None
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            decided = read_confirmation(folder)
            if decided is not None or self._task.check_mode or steps.left(plan["visits"], known, pairs):
                return decided
            decided = confirmation_of(plan, nominate(plan, stream_records(os.path.join(folder, "trials.jsonl"), [])))
            write_confirmation(folder, decided)
        names = [f"{name} ({profile['role'].replace('_', ' ')})" for name, profile in decided["profiles"].items()]
        text = f"{', '.join(names)}: {len(decided['visits'])} visits in {len(decided['blocks'])} blocks"
        Display().display(f"  confirmation: {text if decided['visits'] else 'nothing to confirm'}")
        return decided
