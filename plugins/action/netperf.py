# Copyright (c) 2026, The offload.lab developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugin of module netperf: one measurement, by module visit on the client, read on the
controller.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils._base.errors import LabError
from ..module_utils._engines.workload import engines_of, options
from ..plugin_utils._action.controller import Answered, Options, TaskVars
from ..plugin_utils._trials import trials

WORKLOAD = options()
ENDPOINT = {
    "address": {"type": "str", "required": True},
    "port": {"type": "int", "default": 12865},
    "local": {"type": "str"},
    "netns": {"type": "str"},
}
TOKEN = {"token": {"type": "str", "no_log": True}}
NAME = "netperf"


class ActionModule(ActionBase):
    """Measure once and return the numbers."""

    def run(self, tmp: str | None = None, task_vars: TaskVars | None = None) -> Answered:
        result: Answered = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec({**WORKLOAD, **ENDPOINT, **TOKEN})
        try:
            result.update(self._measure(options, task_vars))
        except LabError as error:
            # Not raised: core would then leave out failed_when.
            result.update(failed=True, msg=str(error))
        return result

    def _measure(self, options: Options, task_vars: TaskVars | None) -> Answered:
        # As the user gave them: both are checked below.
        load: Any = {key: options[key] for key in WORKLOAD if options[key] is not None}
        end: Any = {key: options[key] for key in ENDPOINT if options[key] is not None}
        [cell] = trials.checked([{"id": NAME, "workload": load, "endpoints": [end]}])
        answer = self._execute_module(
            module_name="offload.lab.visit",
            task_vars=task_vars,
            module_args={
                "cells": [trials.sent(cell)],
                "campaign": NAME,
                "reach": cell["endpoints"],
                "engines": engines_of([cell["workload"]]),
                "token": options["token"],
            },
        )
        if answer.get("failed"):
            raise LabError(answer.get("msg", "the module failed"))
        if self._task.check_mode:
            return {"changed": False, "commands": answer["planned"][NAME]}
        [row] = answer["cells"]
        numbers, error = trials.result_of(row)
        measured = {
            "changed": False,
            "result": numbers,
            "commands": [" ".join(stream["argv"]) for stream in row["streams"]],
            "outputs": [stream["raw"] for stream in row["streams"]],
            "started": row["started"],
            "finished": row["finished"],
        }
        return {**measured, "failed": True, "msg": error} if error else measured
