# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module steps: return the next steps of a campaign, from its results folder."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from ansible import constants, context

from ..module_utils._base.errors import InputError
from ..plugin_utils._action.controller import (
    Answered,
    ControllerAction,
    Options,
    Spec,
    TaskVars,
    say,
)
from ..plugin_utils._campaign.plan_file import read_plan
from ..plugin_utils._decisions.campaign_folder import PARTS, CampaignFolder, Measuring

SPEC: Spec = {
    "plan": {"type": "path", "required": True},
    "pairs": {"type": "list", "elements": "dict", "required": True},
    "part": {"type": "str", "choices": PARTS, "default": "planned"},
    "block": {"type": "int"},
    "mtu": {"type": "int"},
    "lab_mtu": {"type": "int"},
    "store": {"type": "bool", "default": False},
}


class ActionModule(ControllerAction):
    """Return the remaining blocks of a part, or the remaining steps of a block."""

    SPEC = SPEC
    NEEDS: ClassVar[dict[str, Any]] = {"required_together": [("block", "mtu")]}

    def answer(self, options: Options, task_vars: TaskVars) -> Answered:
        plan = read_plan(options["plan"])
        if plan is None:
            raise InputError(
                "there is no such plan", options["plan"], "Make it with module offload.lab.plan."
            )
        how = Measuring(
            pairs=options["pairs"],
            lab_mtu=options["lab_mtu"],
            together=len(task_vars["ansible_play_hosts"]) <= context.CLIARGS["forks"],
            store=options["store"],
            check=self._task.check_mode,
            memory=constants.DEFAULT_LOCAL_TMP,
        )
        campaign = CampaignFolder(plan, os.path.dirname(options["plan"]), how, say)
        part = options["part"]
        if options["block"] is None:
            return {"changed": False, **campaign.part_answer(part)}
        return {"changed": False, **campaign.block_answer(part, options["mtu"], options["block"])}
